// Slots A and B: their addresses, which of their words correspond, and what is subtracted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { close, DATA, map, measure, sentence, source } from "./made";
import { address, firstView, parameters, restore } from "../src/address";
import type { Bench, LiveModel } from "../src/data";
import { onOneScale, subtracted } from "../src/drawing/figure";
import type { Panel } from "../src/drawing/panel";
import { requestOf } from "../src/filled";
import type { Tokens } from "../src/linking";
import { common, differing, inverse, linked, linksOf, paired, tokensOf } from "../src/linking";
import { following, withSource } from "../src/question";
import { aligned } from "../src/scales";
import { headIn, kindsOf, opened, sourceOf, split } from "../src/slots";
import type { Source } from "../src/sources";
import { sourcesOf } from "../src/sources";
import { drawnTasks } from "../src/tasks";
import type { View } from "../src/view";
import { headsOf, toggled, withSlot } from "../src/view";

const MODEL: LiveModel = { name: "large", layers: 4, heads: 3, causal: true, kinds: ["weight", "rollout"], predicts: false, run: null };
const OTHER = { ...DATA, corpus: "d", layers: 1, measures: [measure("det", [0.1, 0.9])] };
const BENCH: Bench = { runs: [DATA, OTHER], live: { models: [MODEL, { ...MODEL, name: "m", run: 1 }], most_pieces: 512 } };

function restored(view: View, sources: Source[]): { hash: string; view: View; missing: string[] } {
  const base = firstView(DATA, sources);
  const hash = address(view, DATA, base, sources);
  return { hash, ...restore(parameters(hash) ?? new Map(), base, DATA, sources) };
}

test("an address restores both slots", () => {
  const sources = sourcesOf(BENCH);
  assert.deepEqual(sources.map(({ run, model, name }) => [run, model, name]), [[0, null, "m on c"], [1, 1, "m on d"], [null, 0, "large"]]);
  const base = firstView(DATA, sources);
  assert.deepEqual(base.slots.map((slot) => slot?.run), [0, 1]); // two runs are compared
  const text = "The key [is] here\n&=#%";
  const slots: View["slots"][] = [
    base.slots,
    [{ ...base.slots[0], kind: "norm", sentence: "s1", head: 2 }, null],
    [base.slots[0], { run: null, model: 0, sentence: null, text, kind: "rollout", head: 11, off: [0, 3] }],
    [{ ...base.slots[0], text, off: [1] }, { run: 1, model: 1, sentence: "s1", text: "", kind: "weight", head: 1, off: [] }],
  ];
  for (const each of slots) {
    const view = following({ ...base, head: 3, slots: each, subtract: each[1] !== null }, DATA);
    const found = restored(view, sources);
    assert.deepEqual([found.view, found.missing], [view, []], found.hash);
  }
  const second = withSource(base, sources[1] as Source, sources);
  assert.deepEqual([second.measure, second.head, second.slots[0].run, second.slots[0].model], ["det", 1, 1, 1]);
  assert.deepEqual(restored(second, sources).view, second);
  const values = parameters("#head=1-1&b-run=9&b-head=7-7&b-kind=cubes&b-sentence=none");
  assert.deepEqual(restore(values ?? new Map(), firstView(DATA), DATA).missing, ["b-run “9”", "b-sentence “none”", "b-head “7-7”", "b-kind “cubes”"]);
});

test("older addresses of two heads or maps put the second one into B", () => {
  const of = (hash: string): unknown[] => {
    const { view } = restore(parameters(hash) ?? new Map(), firstView(DATA), DATA);
    const [a, b] = view.slots;
    return [view.head, a.kind, b && [b.head, b.kind], view.subtract, view.drawing];
  };
  assert.deepEqual(of("#head=2-1&kind=norm"), [2, "norm", null, false, "lines"]);
  assert.deepEqual(of("#head=2-1,1-1"), [2, "weight", [0, "weight"], false, "lines"]);
  assert.deepEqual(of("#head=2-1&kind=norm,weight&view=difference"), [2, "norm", [null, "weight"], true, "matrix"]);
});

test("a page that draws given heads keeps all of them and of their maps", () => {
  const drawn = { ...DATA, measures: [] };
  const base = firstView(drawn);
  const { view } = restore(parameters("#head=2-1,1-1,1-2&kind=weight,norm&sentence=s1") ?? new Map(), base, drawn);
  assert.deepEqual([view.drawn, view.slots[1]], [{ heads: [2, 0, 1], kinds: ["weight", "norm"] }, null]);
  assert.equal(address(view, drawn, base), "#head=2-1,1-1,1-2&kind=weight,norm&sentence=s1");
  assert.equal(firstView(drawn, [source(drawn, { model: 0, live: MODEL })]).drawn, null);
});

test("the chosen head is that of both slots, unless one has its own", () => {
  const view = firstView(DATA);
  assert.deepEqual(headsOf(view), [1]);
  const two = toggled(view, 2);
  assert.deepEqual([two.slots[1]?.head, headsOf(two)], [2, [1, 2]]);
  assert.equal(toggled(two, 2).slots[1], null);
  const other = withSlot(two, 1, { kind: "norm" });
  assert.deepEqual([toggled(other, 3).slots[1]?.head, toggled(other, 2).slots[1]], [3, { ...other.slots[1], head: null }]);
  assert.deepEqual(headsOf(withSlot(two, 1, { run: 1 })), [1]);
  assert.deepEqual([headIn(3, DATA, DATA), headIn(1, DATA, { ...DATA, heads: 3 }), headIn(2, DATA, { ...DATA, heads: 3 }), headIn(2, DATA, OTHER)], [3, 1, 3, null]);
  assert.deepEqual(kindsOf(source(DATA, { live: MODEL })), ["weight", "norm", "rollout"]);
  assert.deepEqual([opened(source(DATA), "norm").kind, opened(source(DATA), "rollout").kind], ["norm", "weight"]);
  assert.throws(() => sourceOf(view.slots[0], []));
});

test("words of two texts correspond if they are the same in the longest common subsequence", () => {
  const [keys, key] = ["The keys to the cabinet are here", "The key to the cabinets is here"].map((text) => text.split(" ")) as [string[], string[]];
  assert.deepEqual(common(keys, key), [0, null, 2, 3, null, null, 6]);
  assert.deepEqual(linked(keys, key), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(common([..."abcbdab"], [..."bdcaba"]).filter((at) => at !== null).length, 4);
  assert.deepEqual(common([..."axb"], [..."ab"]), [0, null, 1]);
  assert.deepEqual(linked([..."axyb"], [..."azb"]), [0, null, null, 2]); // two words for one
  assert.deepEqual(linked([..."xa"], [..."ya"]), [0, 1]);
  assert.deepEqual(linked([..."ax"], [..."ay"]), [0, 1]);
  assert.deepEqual([common([], ["a"]), linked(["a"], [])], [[], [null]]);
  assert.deepEqual(inverse([0, null, 2], 4), [0, null, 2, null]);
  const masked = [["he", "[is]", "x"], ["[was]", "he"]].map((words, i) => tokensOf(sentence("s", words), [1 - i]));
  assert.deepEqual(linksOf(masked[0] as Tokens, masked[1] as Tokens, common).rows.filter((at) => at !== null).length, 1);
  assert.deepEqual(linksOf(tokensOf(sentence("s", ["[is]"]), [0]), tokensOf(sentence("s", ["[was]"]), [0]), common).rows, [0]);
  const pair = { ...sentence("p", ["ein", "Haus"]), columns: ["a", "house"] };
  assert.deepEqual(linksOf(tokensOf(pair), tokensOf({ ...pair, columns: ["house"] }), common), { rows: [0, 1], columns: [null, 0] });
  // The longest one, by trying all subsequences.
  const longest = (one: string, other: string): number => {
    const all = (text: string): string[] => Array.from({ length: 2 ** text.length }, (_, bits) => [...text].filter((_, i) => (bits >> i) & 1).join(""));
    const known = new Set(all(other));
    return Math.max(...all(one).filter((each) => known.has(each)).map((each) => each.length));
  };
  for (const [one, other] of [["abcab", "bacba"], ["aabbc", "cabba"], ["abc", "def"], ["cbacba", "abcabc"]] as const) {
    const found = common([...one], [...other]);
    const pairs = found.flatMap((at, i) => (at === null ? [] : [[i, at] as const]));
    assert.equal(pairs.length, longest(one, other));
    assert.ok(pairs.every(([i, at], k) => one[i] === other[at] && (k === 0 || at > (pairs[k - 1]?.[1] ?? 0))));
  }
});

function panel(values: number[][], more: Partial<Panel> = {}): Panel {
  return { ...{ key: "", title: "1-1 · weight", head: 0, kind: "weight", decisions: [], every: false, reversed: false, both: false, shares: true }, map: map(values), ...more };
}

test("B is subtracted from A where their words agree", () => {
  const [one, other] = [sentence("a", ["[CLS]", "he", "old", "runs"]), sentence("b", ["[CLS]", "he", "runs"])];
  const first = panel([[0, 0, 0, 1], [0.5, 0.25, 0.15, 0.1], [1, 0, 0, 0], [0.5, 0.2, 0.2, 0.1]]);
  const second = panel([[1, 0, 0], [0.25, 0.25, 0.5], [0.5, 0.4, 0.1]], { title: "1-2 · weight" });
  const links = linksOf(tokensOf(one), tokensOf(other), common);
  assert.deepEqual(links.rows, [0, 1, null, 2]);
  close(aligned(second.map, links.rows, links.columns).values, [1, 0, 0, 0, 0.25, 0.25, 0, 0.5, 0, 0, 0, 0, 0.5, 0.4, 0, 0.1]);
  const found = subtracted({ panel: first, sentence: one }, { panel: second, sentence: other }, links, false);
  const values = found.map.values.map((value, i) => value - (found.below?.values[i] ?? 0));
  close(values, [0, 0, 0, 0, 0, 0, 0, -0.4, 0, 0, 0, 0, 0, -0.2, 0, 0]);
  close([found.map.scale], [0.4]);
  assert.deepEqual([found.title, found.kind, [...(found.absent?.rows ?? [])]], ["1-1 · weight − 1-2 · weight", "weight", [2]]);
  const special = subtracted({ panel: first, sentence: one }, { panel: second, sentence: other }, links, true);
  close([special.map.scale], [1]); // of [CLS], of which A has nothing
  const norms = { ...second, kind: "norm", shares: false, map: map([[9, 0, 0], [9, 2, 2], [9, 3, 1]]) };
  const shared = subtracted({ panel: first, sentence: one }, { panel: norms, sentence: other }, links, false);
  assert.equal(shared.kind, "shares among words");
  close([(shared.map.values[5] ?? 0) - (shared.below?.values[5] ?? 0)], [0.5 - 0.5]);
  close([(shared.map.values[13] ?? 0) - (shared.below?.values[13] ?? 0)], [0.4 - 0.75]);
  const [a, b, c] = onOneScale([{ ...norms, key: "a" }, { ...norms, map: map([[12]]) }, first]);
  assert.deepEqual([a?.map.scale, b?.map.scale, c?.map.scale], [12, 12, 1]);
});

test("words that stand for each other are named together, and picks that differ are told", () => {
  const [one, other] = ["The key to the cabinet is here", "The key to cabinets is not here"].map((text) => text.split(" ")) as [string[], string[]];
  const links = linksOf({ rows: one, columns: null }, { rows: other, columns: null }, linked);
  assert.deepEqual(links.rows, [0, 1, 2, null, null, 4, 6]);
  assert.deepEqual(paired(["a", "cabinet", "is"], ["a", "cabinets", "is"], [0, 1, 2]), ["a", "cabinet / cabinets", "is"]);
  assert.deepEqual(paired(one, other, links.rows), one);
  const picks = (list: [number, number | null][]) => list.map(([row, guess]) => ({ rows: [row], guess }));
  const found = differing(picks([[0, 1], [1, 5], [2, 4], [3, 4], [5, 1], [6, null]]), picks([[0, 1], [1, 4], [2, 3], [4, 2], [6, 1]]), links);
  assert.deepEqual(found, { of: 4, rows: [{ row: 2, picks: [4, 3] }, { row: 5, picks: [1, 2] }] }); // a cabinet is none of the cabinets
});

test("a sentence without annotation is asked about all of its words", () => {
  const typed = sentence("t", ["[CLS]", "a", "b"]);
  assert.deepEqual(drawnTasks(typed, "obj", "").map(({ rows, judged }) => [rows[0], judged]), [[1, false], [2, false]]);
  assert.deepEqual(drawnTasks({ ...typed, heads: [null, 2, -1], relations: [null, "det", "root"] }, "obj", ""), []);
});

test("a text is asked for, and of a sentence what the sample does not have", () => {
  const live = source(DATA, { model: 0, live: MODEL });
  const slot = { ...opened(live, "weight"), off: [] };
  const stored = { ...sentence("s1", ["a"]), maps: { weight: { data: "", scales: [] } } };
  const asked = { slot: "A", model: 0, kinds: ["weight"], off: [] };
  assert.deepEqual(requestOf(0, slot, live, "It rains", null, null), { ...asked, text: "It rains" });
  assert.equal(requestOf(0, slot, live, "", "s1", stored), null);
  assert.deepEqual(requestOf(1, { ...slot, off: [1, 2] }, live, "", "s1", stored), { ...asked, slot: "B", off: ["1-2", "2-1"], run: 0, sentence: "s1" });
  assert.deepEqual(requestOf(0, { ...slot, kind: "rollout" }, live, "", "s1", stored), { ...asked, kinds: ["rollout"], run: 0, sentence: "s1" });
  assert.equal(requestOf(0, slot, source(DATA), "It rains", null, null), null);
  assert.deepEqual([split(" a b "), split("a ||| b"), split("a|||b"), split("a ||| b ||| c")], [["a b", null], ["a", "b"], ["a|||b", null], ["a", "b ||| c"]]);
});
