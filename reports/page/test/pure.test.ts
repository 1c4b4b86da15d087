// What the page computes before it draws: addresses, order, searches, scales, ensembles and cards. `npm test` runs it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { address, bestHead, firstView, parameters, restore, withHead } from "../src/address";
import { coloring } from "../src/color";
import type { Explorer, Measure, SampledSentence } from "../src/data";
import { apart } from "../src/drawing/labels";
import { averaged, mostAttended } from "../src/ensembles";
import { NO_GUESS, shadeAt, UNSURE } from "../src/inflate";
import type { Example } from "../src/judging";
import { first } from "../src/judging";
import { addressOf, namedHeads } from "../src/heads";
import { ofLayer } from "../src/layers";
import { commonScale, difference, sharedAmongWords } from "../src/scales";
import { search } from "../src/search";
import { disagreement, sorted } from "../src/sorting";
import { barOf, beside, strengths } from "../src/strengths";
import { close, DATA, decided, map, measure, sentence } from "./made";

test("an address restores the view that it was made of", () => {
  const base = firstView(DATA);
  assert.equal(bestHead(DATA, "obj"), 1);
  assert.equal(bestHead(DATA, "errors"), 1);
  const view = {
    ...base,
    ...{ heads: [3, 0], kinds: ["norm"], relation: "obl: <x>&#", show: "wrong:sibling" as const, search: "a=b&c #", sentence: "s1" },
    ...{ word: { side: "column" as const, index: 2 }, drawing: "difference" as const, special: true, ensemble: true },
    ...{ scale: "words" as const, sort: "disagreement" as const },
  };
  const values = parameters(address(view, DATA, base));
  assert.ok(values);
  assert.deepEqual(restore(values, base, DATA), { view, missing: [] });
});

test("what an address names and the report lacks is said", () => {
  const values = parameters("#head=9-9&view=cubes&sort=color&%E0%A4%A=1&other=2");
  assert.ok(values);
  const { view, missing } = restore(values, firstView(DATA), DATA);
  assert.deepEqual(missing, ["head “9-9”", "view “cubes”", "sort “color”"]);
  assert.deepEqual(view, firstView(DATA));
  assert.equal(parameters("#part-2"), null);
});

test("another head is asked the same, whatever it is best at", () => {
  const view = { ...firstView(DATA), word: { side: "row" as const, index: 1 }, relation: "all", sentence: "s1" };
  assert.deepEqual(withHead(view, 2), { ...view, heads: [2], word: null });
});

test("sentences are found by words, patterns, relations and parts of speech", () => {
  const [one] = DATA.sample?.sentences ?? [];
  assert.ok(one);
  const found = (text: string): boolean | undefined => search(text)?.(one);
  for (const text of ["", "cat", "CATS SLEEP", "/^cats\\b/", "relation:nsubj", "tag:NOUN"]) assert.equal(found(text), true, text);
  for (const text of ["dog", "[CLS]", "/^sleep/", "relation:obj", "tag:VERB"]) assert.equal(found(text), false, text);
  assert.equal(search("/(/"), null);
});

test("values are shared among words, and drawn on one scale", () => {
  const shared = sharedAmongWords(map([[0.8, 0.1, 0.1], [0.4, 0, 0.6], [1, 0, 0]]), [true, false, false]);
  close(shared.values, [0, 0.5, 0.5, 0, 0, 1, 0, 0, 0]);
  const norms = [map([[1, 3]]), map([[2, 0.5]])];
  assert.equal(commonScale(norms, false), 3);
  assert.equal(commonScale(norms, true), 1);
  assert.equal(shadeAt({ ...map([[1, 3]]), scale: 3 }, 0, 0), 85);
  const { above, below } = difference(map([[0.5, 0.25, 0]]), map([[0.25, 0.75, 9]]), (_, column) => column < 2);
  close(above.values, [0.25, 0, 0]);
  close(below.values, [0, 0.5, 0]);
  assert.equal(above.scale, 0.5);
  const lower = difference(map([[1, 1], [0.5, 1]]), map([[0, 0], [0.25, 0]]), (row, column) => row > column);
  close(lower.above.values, [0, 0, 0.25, 0]);
  assert.equal(lower.above.scale, 0.25);
});

test("an ensemble averages maps as they are read, and guesses only what rounding cannot change", () => {
  const one = map([[0, 0.2, 0.8], [0.6, 0, 0.4], [0.5, 0.5, 0]], 0.1);
  const other = map([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 0.1);
  const mean = averaged([{ map: one, direction: "dep->head" }, { map: other, direction: "head->dep" }]);
  assert.ok(mean);
  close(mean.values, [0, 0.1, 0.9, 0.8, 0, 0.2, 0.25, 0.75, 0]);
  close([mean.step], [0.1]);
  assert.deepEqual([...mostAttended(mean, [false, false, false])], [2, 0, 1]);
  assert.deepEqual([...mostAttended({ ...mean, step: 0.55 }, [false, false, false])], [2, 0, UNSURE]);
  assert.deepEqual([...mostAttended(mean, [true, false, false])], [NO_GUESS, 2, 1]);
  close(averaged([{ map: one, direction: "both" }])?.values ?? [], [0, 0.8, 1.3, 0.8, 0, 0.9, 1.3, 0.9, 0]);
});

test("the best values are darkest, and shares go from 0 to 100 %", () => {
  const [shares, errors] = DATA.measures.map(coloring);
  assert.ok(shares && errors);
  assert.deepEqual(shares.domain, [0, 1]);
  assert.equal(shares.color(1, "light"), errors.color(0, "light"));
  assert.equal(shares.color(0, "dark"), errors.color(1, "dark"));
});

test("a layer has the mean and the best of the heads that have a value", () => {
  const errors = DATA.measures[1];
  assert.ok(errors);
  close(Object.values(ofLayer(errors, 2, 0) ?? {}), [0.4, 0.3]);
  close(Object.values(ofLayer(errors, 2, 1) ?? {}), [0.9, 0.9]);
});

test("labels that lie on each other move down", () => {
  const box = { width: 20, height: 10 };
  const moved = apart([{ x: 0, y: 0, ...box }, { x: 5, y: 2, ...box }, { x: 50, y: 1, ...box }, { x: 8, y: 11, ...box }]);
  assert.deepEqual(moved.map(({ y }) => y), [0, 10, 1, 20]);
});

function example(id: string, n: number, guesses: number[], right = 0): Example {
  const rows = ["[CLS]", ...Array.from({ length: n }, (_, i) => `w${i}`)];
  const decisions = guesses.map((guess, i) => ({ rows: [i + 1], targets: [], gold: [], relation: "obj", guess, verdict: null }));
  return { sentence: sentence(id, rows), decisions, right, judged: guesses.length };
}

test("sentences are sorted by length and by disagreement, and one of 8 to 14 words comes first", async () => {
  const list = [example("long", 20, [2, 3]), example("short", 3, [2, 3], 1), example("middle", 9, [2, 3], 1)];
  const question = { head: 0, kind: "weight", relation: "obj", direction: "dep->head" };
  const names = (await sorted(list, "length", DATA, {} as never, question, null)).map((item) => item.sentence.id);
  assert.deepEqual(names, ["short", "middle", "long"]);
  assert.equal(first(list)?.sentence.id, "middle");
  assert.equal(disagreement(example("a", 9, [2, 3]), example("a", 9, [2, 1])), 0.5);
  assert.equal(disagreement(example("a", 9, [2, 3]), undefined), 0);
  const unsure = (...guesses: (number | null)[]): Example => ({ ...example("a", 9, []), decisions: guesses.map((guess, i) => decided(i + 1, guess)) });
  assert.equal(disagreement(unsure(2, 3, null, 4), unsure(1, 3, 5, null)), 0.5); // of what both guess
});

test("the weight of a guess is that of its direction, or of both added up", async () => {
  const list = [example("there", 2, [2]), example("back", 2, [2])];
  const values = { there: map([[0, 0, 0], [0, 0, 0.5], [0, 0.1, 0]]), back: map([[0, 0, 0], [0, 0, 0.3], [0, 0.9, 0]]) };
  const maps = { head: async ({ id }: SampledSentence) => values[id as keyof typeof values] } as never;
  const order = async (direction: string): Promise<string[]> =>
    (await sorted(list, "weight", DATA, maps, { head: 0, kind: "weight", relation: "obj", direction }, null)).map((item) => item.sentence.id);
  assert.deepEqual(await order("dep->head"), ["there", "back"]);
  assert.deepEqual([await order("head->dep"), await order("both")], [["back", "there"], ["back", "there"]]);
});

test("the card of a head has the value, the interval, the number and the baseline of each measure", () => {
  const shares = ["[CLS]", "next", "itself"].map((name, i) => measure(`to ${name}`, [0.1 * i, 0.2, 0.3, 0.5 - 0.2 * i]));
  const other = measure("obj", [0.1, 0.7, 0.4, 0.2], { relation: "obj", group: "Accuracy", low: [0, 0.6, 0, 0], high: [1, 0.8, 1, 1], n: 1234, baseline: 0.45 });
  const norm = measure("obj of norms", [0.1, 0.6, 0.4, 0.2], { relation: "obj", group: "Accuracy", kind: "norm" });
  const card = { head: "2-2", summary: "", nearest: [], profile: null, facts: [other, norm, shares[0]].map((item) => ({ label: item?.label ?? "", text: "words", measure: item?.id ?? "" })) };
  const ofNorms = measure("norm to [CLS]", [0.9, 0.9, 0.9, 0.9], { kind: "norm" });
  const data: Explorer = { ...DATA, measures: [other, norm, ...shares, ofNorms], cards: [card] };
  const view = firstView(data);
  const lines = (kinds: string[], head: number): string[] => strengths(data, card, head, { ...view, kinds }).map(({ label, text }) => `${label}: ${text}`);
  assert.deepEqual(lines(["weight"], 3), ["obj: 20.0 % [0.0, 100.0]", "to [CLS]: 50.0 %", "to next: 30.0 %", "to itself: 10.0 %"]);
  const many = Array.from({ length: 6 }, (_, i) => measure(`${i}`, [0.01 * i, 0, 0, 0]));
  const first = { ...card, facts: [{ label: "", text: "", measure: "0" }] };
  const named = (list: Measure[]): string[] => strengths({ ...DATA, measures: list }, first, 0, view).map(({ measure }) => measure?.id ?? "");
  assert.deepEqual([named(many), named(many.slice(0, 3)), named(many.slice(0, 2))], [["5", "4", "3", "2"], ["2", "1", "0"], ["0"]]);
  assert.deepEqual(lines(["norm"], 1), ["obj of norms: 60.0 %"]);
  const cosine = measure("cosine", [0.1, 0.2, 0.3, 0.4], { kind: "cosine", group: "Mixing" });
  const fact = { label: "cosine", text: "", measure: "cosine" };
  const [line] = strengths({ ...data, measures: [cosine] }, { ...card, facts: [fact] }, 1, { ...view, kinds: ["weight"] });
  assert.equal(line?.text, "20.0 %"); // a kind without maps cannot be chosen, so it is always shown
  assert.equal(beside(other, 1), "n = 1,234 · baseline 45.0 · rank 1 of 4");
  assert.deepEqual(barOf(other, 1), { length: "70.0%", mark: "45.0%" });
  assert.equal(barOf(measure("entropy", [0.5], { unit: "nats" }), 0), null);
  for (const value of [null, -0.1, 1.1]) assert.equal(barOf(measure("obj", [value]), 0), null);
  for (const more of [{ center: 0 }, { categories: ["a"] }]) assert.equal(barOf(measure("obj", [0.5], more), 0), null);
  assert.deepEqual(barOf(measure("obj", [1]), 0), { length: "100.0%", mark: null });
});

test("heads that a text names are found, and ranges and dates are not", () => {
  const names = (text: string): string[] => namedHeads(text).map(([from, to]) => text.slice(from, to));
  assert.deepEqual(names("Heads 3-1, 4-2 and 11-12 do, head 5-8 does not."), ["3-1", "4-2", "11-12", "5-8"]);
  assert.deepEqual(names("In 2020-10-11, 3-1 of 4-2; BERT’s head 5-4-3."), []);
});

test("a link from the section of a map leads to this map", () => {
  const of = (kind: string, value: number): Measure => measure(`obj/${kind}`, [value, 0, 0, 0], { relation: "obj", direction: "dep->head", kind });
  const data: Explorer = { ...DATA, measures: [of("weight", 0.9), of("norm", 0.8)] };
  assert.equal(addressOf(data, "1-1", "obj"), "#head=1-1&measure=obj%2Fweight");
  assert.equal(addressOf(data, "1-1", "obj", "norm"), "#head=1-1&measure=obj%2Fnorm&kind=norm");
  assert.equal(addressOf(data, "1-1", "obj", "difference"), "#head=1-1&measure=obj%2Fweight");
  assert.equal(addressOf(data, "9-1", "obj"), null);
});
