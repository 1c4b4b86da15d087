// What the page computes before it draws: addresses, order, searches, scales, ensembles and cards. `npm test` runs it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, DATA, decided, map, measure, sentence } from "./made";
import { address, firstView, parameters, restore } from "../src/address";
import { coloring } from "../src/color";
import type { Explorer, Measure, SampledSentence } from "../src/data";
import { levelsOf, spread, widestPart } from "../src/drawing/levels";
import { pooled } from "../src/drawing/thumbnail";
import { averaged, mostAttended } from "../src/ensembles";
import { addressOf, namedHeads } from "../src/heads";
import { NO_GUESS, shadeAt, UNSURE } from "../src/inflate";
import type { Example } from "../src/judging";
import { first } from "../src/judging";
import { ofLayer } from "../src/layers";
import { bestHead } from "../src/question";
import { commonScale, difference, sharedAmongWords } from "../src/scales";
import { search } from "../src/search";
import { disagreement, sorted } from "../src/sorting";
import { barOf, beside, strengths } from "../src/strengths";
import type { View } from "../src/view";
import { withHead, withSlot } from "../src/view";

test("an address restores the view that it was made of", () => {
  const base = firstView(DATA);
  assert.equal(bestHead(DATA, "obj"), 1);
  assert.equal(bestHead(DATA, "errors"), 1);
  const view = {
    ...base,
    ...{ head: 3, relation: "obl: <x>&#", measure: "sample", show: "wrong:sibling" as const, search: "a=b&c #" },
    ...{ tag: "X & Y", distance: "gold 7-" },
    ...{ word: { side: "column" as const, index: 2 }, drawing: "arcs" as const, special: true, ensemble: true },
    slots: [{ ...base.slots[0], kind: "norm", sentence: "s1" }, null] satisfies View["slots"],
    ...{ scale: "words" as const, sort: "disagreement" as const },
  };
  const values = parameters(address(view, DATA, base));
  assert.ok(values);
  assert.deepEqual(restore(values, base, DATA), { view, missing: [] });
});

test("what an address names and the report lacks is said", () => {
  const values = parameters("#head=9-9&view=cubes&sort=color&distance=near&%E0%A4%A=1&other=2");
  assert.ok(values);
  const { view, missing } = restore(values, firstView(DATA), DATA);
  assert.deepEqual(missing, ["head “9-9”", "distance “near”", "view “cubes”", "sort “color”"]);
  assert.deepEqual(view, firstView(DATA));
  assert.equal(parameters("#part-2"), null);
});

test("another head is asked the same, whatever it is best at", () => {
  const view = { ...firstView(DATA), word: { side: "row" as const, index: 1 }, relation: "all" };
  assert.deepEqual(withHead(view, 2), { ...view, head: 2, word: null });
});

test("sentences are found by words, patterns, relations and parts of speech", () => {
  const [one] = DATA.sample?.sentences ?? [];
  assert.ok(one);
  const found = (text: string): boolean | undefined => search(text)?.(one);
  for (const text of ["", "cat", "CATS SLEEP", "/^cats\\b/", "relation:nsubj", "tag:NOUN"]) assert.equal(found(text), true, text);
  for (const text of ["dog", "[CLS]", "/^sleep/", "relation:obj", "tag:VERB"]) assert.equal(found(text), false, text);
  assert.equal(search("/(/"), null);
});

test("a small image of a long sentence shows the largest value of each pixel", () => {
  const n = 512;
  const all = Array.from({ length: n }, (_, i) => i);
  const previous = map(all.map((row) => all.map((column) => (column === row - 1 ? 1 : column === 0 ? 0.2 : 0))));
  const values = (image: Uint8ClampedArray, width: number, height: number): number[][] =>
    Array.from({ length: height }, (_, y) => [...image.subarray(y * width, (y + 1) * width)]);
  for (const [width, height] of [[59, 47], [700, 600]] as const) {
    const image = values(pooled(previous, all, all, width, height), width, height);
    // Each value lies in a pixel that is at least as dark, wherever its cell is drawn.
    for (const row of all.slice(1)) {
      const [y, x] = [Math.floor(((row + 0.5) * height) / n), Math.floor((((row - 1) + 0.5) * width) / n)];
      assert.equal(image[y]?.[x], 255, `${row} of ${width} × ${height}`);
      assert.ok((image[y]?.[0] ?? 0) >= 51);
    }
    // What is empty stays so: the right half of the first row has nothing.
    assert.deepEqual(image[0]?.slice(Math.ceil(width / 2)), new Array(width - Math.ceil(width / 2)).fill(0));
  }
  const small = map([[0.2, 0.4], [0.6, 1]]);
  assert.deepEqual(values(pooled(small, [0, 1], [1], 2, 4), 2, 4), [[102, 102], [102, 102], [255, 255], [255, 255]]);
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

test("arcs lie above those that they cover, and labels between the ends of their arcs", () => {
  // “the keys to the cabinet are …”: an arc over one gap is lowest, and one that crosses it is above it.
  assert.deepEqual(levelsOf([{ from: 5, to: 1 }, { from: 4, to: 2 }, { from: 4, to: 3 }, { from: 0, to: 1 }]), [3, 2, 1, 1]);
  assert.deepEqual(levelsOf([{ from: 0, to: 3 }, { from: 2, to: 5 }, { from: 3, to: 0 }]), [1, 3, 2]);
  const widths = [20, 30, 10, 40, 25, 30];
  let seed = 1;
  const random = (n: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % n;
  };
  for (let round = 0; round < 200; round++) {
    const spans = Array.from({ length: 7 }, () => ({ from: random(6), to: random(6), label: random(90) })).filter(({ from, to }) => from !== to);
    const levels = levelsOf(spans);
    const middles = spread(widths, spans, 10);
    widths.forEach((width, i) => i && assert.ok((middles[i] ?? 0) - (middles[i - 1] ?? 0) >= (width + (widths[i - 1] ?? 0)) / 2 + 10 - 1e-9));
    spans.forEach((one, i) => {
      assert.ok(Math.abs((middles[one.from] ?? 0) - (middles[one.to] ?? 0)) >= one.label);
      spans.slice(0, i).forEach((other, j) => {
        const apart = Math.max(Math.min(one.from, one.to), Math.min(other.from, other.to)) >= Math.min(Math.max(one.from, one.to), Math.max(other.from, other.to));
        assert.ok(apart || levels[i] !== levels[j]); // two arcs over the same gap are not on each other
      });
    });
  }
  assert.deepEqual(widestPart(0, 100, [30, 40, 150, 0]), { middle: 70, width: 60 });
  assert.deepEqual(widestPart(0, 100, []), { middle: 50, width: 100 });
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
  const lines = (kinds: string[], head: number): string[] => strengths(data, card, head, withSlot(view, 0, { kind: kinds[0] ?? "" })).map(({ label, text }) => `${label}: ${text}`);
  assert.deepEqual(lines(["weight"], 3), ["obj: 20.0 % [0.0, 100.0]", "to [CLS]: 50.0 %", "to next: 30.0 %", "to itself: 10.0 %"]);
  const many = Array.from({ length: 6 }, (_, i) => measure(`${i}`, [0.01 * i, 0, 0, 0]));
  const first = { ...card, facts: [{ label: "", text: "", measure: "0" }] };
  const named = (list: Measure[]): string[] => strengths({ ...DATA, measures: list }, first, 0, view).map(({ measure }) => measure?.id ?? "");
  assert.deepEqual([named(many), named(many.slice(0, 3)), named(many.slice(0, 2))], [["5", "4", "3", "2"], ["2", "1", "0"], ["0"]]);
  assert.deepEqual(lines(["norm"], 1), ["obj of norms: 60.0 %"]);
  const cosine = measure("cosine", [0.1, 0.2, 0.3, 0.4], { kind: "cosine", group: "Mixing" });
  const fact = { label: "cosine", text: "", measure: "cosine" };
  const [line] = strengths({ ...data, measures: [cosine] }, { ...card, facts: [fact] }, 1, withSlot(view, 0, { kind: "weight" }));
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
