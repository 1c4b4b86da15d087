// Documents as running text: windows that overlap, the numbers of entities, and the lines of the layout.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Mention, SampledSentence } from "../src/data";
import { decisionsIn, ENTITY_COLORS, isText, runningLayout, runningOf, windowsOf } from "../src/running";
import { decided, sentence } from "./made";

function mention(start: number, end: number, entity: string): Mention {
  return { start, end, entity, type: "", head: end };
}

function part(start: number, rows: string[], mentions: Mention[]): SampledSentence {
  return { ...sentence(`d@${start}`, ["[CLS]", ...rows, "[SEP]"]), document: "d", start, mentions };
}

// Words 0 to 4 and 2 to 6 of a document, whose words 9 and 10 are in a third window.
const FIRST = part(0, ["Ann", "saw", "a", "dog", "she"], [mention(1, 1, "ann"), mention(3, 4, "dog"), mention(5, 5, "ann")]);
const SECOND = part(2, ["a", "dog", "she", "fed", "it"], [mention(1, 2, "dog"), mention(3, 3, "ann"), mention(5, 5, "dog")]);
const THIRD = part(9, ["in", "Rome"], [mention(2, 2, "rome")]);
const OTHER: SampledSentence = { ...sentence("o", ["No", "window"]), document: "d" };

test("windows of a document follow each other, and every word is there once", () => {
  const windows = windowsOf(SECOND, [THIRD, OTHER, SECOND, FIRST]);
  assert.deepEqual(windows, [FIRST, SECOND, THIRD]);
  const running = runningOf(windows, true);
  assert.equal(running.tokens.map(({ word, gap }) => (gap ? `… ${word}` : word)).join(" "), "Ann saw a dog she fed it … in Rome");
  assert.deepEqual(running.places.get(SECOND), [-1, 2, 3, 4, 5, 6, -1]);
  assert.deepEqual(windowsOf(OTHER, [OTHER, FIRST]), [OTHER]);
  assert.deepEqual([isText(FIRST), isText({ ...FIRST, columns: ["x"] })], [true, false]);
});

test("entities are numbered in the order of the text, those with one mention have no number", () => {
  const { spans } = runningOf([FIRST, SECOND, THIRD], false);
  assert.deepEqual(
    spans.map(({ start, end, entity }) => [start, end, entity.name, entity.number]),
    [[0, 0, "ann", 1], [2, 3, "dog", 2], [4, 4, "ann", 1], [6, 6, "dog", 2], [8, 8, "rome", null]],
  );
  // In gray, the number tells two entities apart whose colors are the same.
  const rows = Array.from({ length: ENTITY_COLORS + 1 }, (_, i) => [`e${i}`, `e${i}`]).flat();
  const many = runningOf([part(0, rows, rows.map((entity, i) => mention(i + 1, i + 1, entity)))], false).spans;
  assert.deepEqual([...new Set(many.map(({ entity }) => entity.number))], rows.filter((_, i) => i % 2).map((_, i) => i + 1));
  const nested = runningOf([part(0, ["her", "old", "mother"], [mention(1, 3, "m"), mention(1, 1, "h")])], false).spans;
  assert.deepEqual(nested.map(({ entity, depth }) => [entity.name, depth]), [["m", 0], ["h", 1]]);
});

test("where windows overlap, the decision with a guess counts, and its words are those of the text", () => {
  const running = runningOf([FIRST, SECOND], false);
  const she = { targets: [1], gold: [1], relation: "coreference" };
  const decisions = decisionsIn(running, [
    { sentence: SECOND, decisions: [decided(3, null, { ...she, targets: [], gold: [], verdict: null }), decided(5, 2, { ...she, gold: [2], targets: [2], verdict: "right" })] },
    { sentence: FIRST, decisions: [decided(5, 4, she)] },
  ]);
  assert.deepEqual(
    decisions.map(({ sentence: { id }, rows, guess, gold, verdict }) => [id, rows, guess, gold, verdict]),
    [["d@0", [4], 3, [0], "wrong"], ["d@2", [6], 3, [3], "right"]],
  );
});

test("lines are as wide as there is room, with the numbers of mentions before their words", () => {
  const running = runningOf([FIRST, SECOND, THIRD], false);
  const { words, numbers, lines } = runningLayout(running, 60, (text, small) => text.length * (small ? 6 : 10));
  assert.ok(words.every(({ x, width }) => x + width <= 60));
  assert.deepEqual(words.map(({ line }) => line), [0, 1, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(lines, 8);
  assert.deepEqual(words[0], { x: 10, width: 30, line: 0 });
  assert.deepEqual(numbers, [{ x: 0, width: 10, line: 0 }, { x: 40, width: 10, line: 1 }, { x: 0, width: 10, line: 3 }, { x: 0, width: 10, line: 5 }, null]);
});
