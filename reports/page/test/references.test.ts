// What accuracies are read beside: marks on one axis, the measures of one question, and the curve over layers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { firstView } from "../src/address";
import { path, series } from "../src/curve";
import type { Explorer, Mark, Reference } from "../src/data";
import { rowsOfMarks } from "../src/marks";
import { askedAccuracy, referenceOf, shortName, siblings } from "../src/references";
import { DATA, measure } from "./made";

const none = { low: null, high: null, note: "" };
const MARKS: Mark[] = [
  { role: "heldout", label: "best head, held out", value: 0.6, low: 0.5, high: 0.7, note: "" },
  { role: "position", label: "fixed offset", value: 0.4, ...none },
  { role: "rule", label: "rules", value: null, low: null, high: null, note: "not counted: no parts of speech" },
];
const OBJ: Reference = { id: "r/obj", label: "obj", marks: MARKS, layers: { values: [0.5, null], low: null, high: null, random: [0.1, 0.2] }, beside: "r/mean" };
const MEAN: Reference = { id: "r/mean", label: "mean of 2 relations", marks: [], layers: { values: [0.3, 0.4], low: null, high: null, random: null }, beside: "" };

const there = { relation: "obj", direction: "dep->head", reference: "r/obj" };
const ACCURACY = measure("dependency/obj/dep->head/accuracy/weight", [0.1, 0.7, 0.4, null], { ...there, low: [0, 0.6, 0.3, 0], high: [0.2, 0.8, 0.5, 0] });
const OVER = measure("dependency/obj/dep->head/over_rule/weight", [-0.3, 0.3, 0, null], { ...there, center: 0 });
const BACK = measure("dependency/obj/head->dep/accuracy/weight", [0.2, 0.2, 0.2, 0.2], { ...there, direction: "head->dep" });
const ENTROPY = measure("surface/entropy", [1, 2, 3, 4], { unit: "nats" });
const WITH: Explorer = { ...DATA, measures: [ACCURACY, OVER, BACK, ENTROPY], references: [OBJ, MEAN] };

test("the measures of one question are those of its direction, and its card shows the accuracy", () => {
  assert.deepEqual(siblings(WITH, OVER), [ACCURACY, OVER]);
  assert.deepEqual(siblings(WITH, ENTROPY), []);
  assert.deepEqual([ACCURACY, OVER, ENTROPY].map(shortName), ["accuracy", "− best rule", "Group"]);
  const view = { ...firstView(WITH), relation: "obj", direction: "head->dep" };
  const shown = (id: string): string | undefined => askedAccuracy(WITH, { ...view, measure: id })?.id;
  assert.deepEqual([OVER.id, ACCURACY.id, BACK.id].map(shown), [ACCURACY.id, ACCURACY.id, BACK.id]);
  assert.equal(shown(ENTROPY.id), BACK.id); // the matrix asks nothing, so that the sentences do
  assert.equal(askedAccuracy(WITH, { ...view, measure: ENTROPY.id, relation: "det" }), undefined);
  assert.deepEqual([referenceOf(WITH, OVER), referenceOf(WITH, ENTROPY), referenceOf(WITH, undefined), referenceOf(DATA, ACCURACY)], [OBJ, undefined, undefined, undefined]);
});

test("the axis has the head and all marks, also those that were not counted", () => {
  const rows = rowsOfMarks(WITH, ACCURACY, OBJ, 1);
  assert.deepEqual(rows.map(({ role, label, value, low, high }) => [role, label, value, low, high]), [
    ["accuracy", "head 1-2", 0.7, 0.6, 0.8],
    ["heldout", "best head, held out", 0.6, 0.5, 0.7],
    ["position", "fixed offset", 0.4, null, null],
    ["rule", "rules", null, null, null],
  ]);
  assert.equal(rows[3]?.note, "not counted: no parts of speech");
  assert.equal(rowsOfMarks(WITH, ACCURACY, OBJ, 3)[0]?.value, null);
});

test("a curve has the lines that were counted, and none through a layer without a value", () => {
  assert.ok(OBJ.layers);
  assert.deepEqual(series(OBJ, OBJ.layers, MEAN).map((line) => [line.name, line.values]), [
    ["random weights", [0.1, 0.2]],
    ["fixed offset", [0.4, 0.4]],
    ["mean of 2 relations", [0.3, 0.4]],
    ["obj", [0.5, null]],
  ]);
  assert.deepEqual(series(OBJ, { ...OBJ.layers, random: null }, undefined).map(({ name }) => name), ["fixed offset", "obj"]);
  const x = (layer: number): number => 10 * layer;
  assert.equal(path([0, 1, null, 1, 0], x, (value) => value), "M0.0 0.0L10.0 1.0M30.0 1.0L40.0 0.0");
});
