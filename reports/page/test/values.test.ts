// How values, words and heads are written, colored, stored and drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { close, DATA, decided, elements, map, measure, sentence } from "./made";
import { address, firstView, parameters, restore } from "../src/address";
import { coloring, inkOn, lightDark, luminance } from "../src/color";
import type { HeadName, SampledSentence } from "../src/data";
import { columnsOf, headIndex, headName, inputName, rowsOf, runningText, storedHead } from "../src/data";
import type { Panel } from "../src/drawing/panel";
import { cell, involves, many, sentenceAbout, shownValue, strength, valuesOf, visible } from "../src/drawing/panel";
import { strokes } from "../src/drawing/strokes";
import { fontSize, isolated } from "../src/drawing/text";
import { ensembleName, ensembleOf, together } from "../src/ensembles";
import { csv } from "../src/export";
import { arrow, bare, count, interval, short, withUnit } from "../src/format";
import { measureOf } from "../src/heads";
import { inflate, Maps, shadesOf } from "../src/inflate";
import { ofLayer } from "../src/layers";
import { Legend } from "../src/legend";
import { FindingLink } from "../src/link";
import { Refused } from "../src/live";
import { keepName } from "../src/names";
import { bestHead, withMeasure } from "../src/question";
import { rank } from "../src/rank";
import { search } from "../src/search";
import { headsOf, kindsIn, withSlot } from "../src/view";

const PAIR: SampledSentence = {
  ...sentence("p", ["ein", "Haus", "[SEP]"]),
  ...{ columns: ["[CLS]", "a", "house"], special_columns: [true, false, false], links: [{ row: 1, column: 2, sure: true }, { row: 1, column: 1, sure: false }] },
};

test("numbers are written as in the tables", () => {
  const share = { unit: "%", center: null, categories: null };
  const points = { unit: "%", center: 0, categories: null };
  const nats = { unit: "nats", center: null, categories: null };
  assert.deepEqual([0.1234, -0.05, 1].map((value) => bare(value, share)), ["12.3", "−5.0", "100.0"]);
  assert.deepEqual([0.1234, -0.05].map((value) => bare(value, points)), ["+12.3", "−5.0"]);
  assert.deepEqual([0.12345, 999, 1000, 1000.5, -1234567].map((value) => bare(value, nats)), ["0.123", "999.000", "1,000", "1000.500", "−1,234,567"]);
  assert.deepEqual([0, 1, 2].map((value) => bare(value, { ...nats, categories: ["a", "b"] })), ["a", "b", "2"]);
  const entropy = measure("entropy", [1.5], { unit: "nats" });
  assert.deepEqual([1.5, null, undefined].map((value) => withUnit(value, entropy)), ["1.500 nats", "–", "–"]);
  assert.equal(withUnit(1, measure("label", [1], { categories: ["a", "b"] })), "b");
  assert.equal(withUnit(1.5, measure("ratio", [1.5], { unit: "" })), "1.500");
  const bounds = measure("obj", [0.5, 0.5, 0.5], { low: [0.4, 0.5, null], high: [0.6, 0.5, 0.7] });
  assert.deepEqual([0, 1, 2].map((head) => interval(bounds, head)), [" [40.0, 60.0]", "", ""]);
  assert.equal(interval(measure("obj", [0.5]), 0), "");
  const shown = (value: number | null, ...values: number[]): string => short(value, measure("x", values, { unit: "" }));
  assert.deepEqual([shown(null, 1), shown(10000, 1), shown(9999, 10), shown(100, 10), shown(99.94, 10), shown(10, 1)], ["–", "1e4", "9999", "100", "99.9", "10.0"]);
  assert.deepEqual([shown(1, 1), shown(0, 1), shown(0.5, 1), shown(-0.5, 1), shown(0.5, 0.99), shown(0.05, -0.099), shown(0.5, 0.1)], ["1.0", "0.0", "0.50", "−0.50", ".50", ".050", ".50"]);
  assert.deepEqual([0.126, -0.05, 1].map((value) => short(value, measure("x", [1]))), ["13", "−5", "100"]);
  assert.equal(short(1, measure("x", [1], { categories: ["a", "b"] })), "2");
  assert.deepEqual([arrow("a->b->c"), count(1, "word"), count(0, "word"), count(1234, "word")], ["a→b→c", "1 word", "0 words", "1,234 words"]);
});

test("colors run from the least to the largest value, and text on them is legible", () => {
  const domain = (values: (number | null)[], more = {}): [number, number] => coloring(measure("x", values, { unit: "nats", ...more })).domain;
  assert.deepEqual([domain([2, 5]), domain([-2, 5]), domain([0, 0]), domain([null])], [[0, 5], [-2, 5], [0, 1], [0, 1]]);
  assert.deepEqual([domain([0.2, 1], { unit: "%" }), domain([0.2, 1.5], { unit: "%" }), domain([-0.2, 1], { unit: "%" })], [[0, 1], [0, 1.5], [-0.2, 1]]);
  assert.deepEqual([domain([1, 4], { center: 2 }), domain([-1, 4], { center: 2 }), domain([2], { center: 2 })], [[0, 4], [-1, 5], [1, 3]]);
  assert.deepEqual(domain([0, 1], { categories: ["a", "b", "c"] }), [0, 2]);
  const named = coloring(measure("x", [0, 1], { categories: ["a", "b"] }));
  assert.notEqual(named.color(0, "light"), named.color(1, "light"));
  const shares = coloring(measure("x", [0.5]));
  assert.ok(luminance(shares.color(1, "light")) < luminance(shares.color(0, "light")));
  assert.ok(luminance(shares.color(1, "dark")) > luminance(shares.color(0, "dark")));
  assert.deepEqual([shares.color(null, "light"), shares.color(null, "dark")], ["#ffffff", "#14171b"]);
  assert.equal(coloring(measure("x", [null])).color(0.5, "dark"), "#14171b");
  const centered = coloring(measure("x", [-1, 1], { center: 0 }));
  assert.ok(luminance(centered.color(0, "light")) > luminance(centered.color(-1, "light")));
  assert.ok(luminance(centered.color(0, "dark")) < luminance(centered.color(-1, "dark")));
  assert.notEqual(centered.color(-1, "light"), centered.color(1, "light"));
  assert.equal(lightDark((scheme) => scheme), "light-dark(light, dark)");
  // Relative luminances of WCAG 2 by hand: 128 / 255 is ((0.50196 + 0.055) / 1.055) ** 2.4 = 0.21586, and 10 / 255 / 12.92 = 0.0030353.
  const found = ["#000000", "#ffffff", "#808080", "#0a0a0a", "rgb(255, 0, 0)", "rgb(0, 255, 0)", "rgb(0, 0, 255)"].map(luminance);
  found.forEach((value, i) => assert.ok(Math.abs(value - ([0, 1, 0.21586, 0.0030353, 0.2126, 0.7152, 0.0722][i] ?? NaN)) < 1e-5, `${value}`));
  assert.deepEqual(["#707070", "#7a7a7a", "#ffffff", "#000000"].map(inkOn), ["#ffffff", "#000000", "#000000", "#ffffff"]);
});

test("the legend has a mark where the baseline lies between the ends of the scale", () => {
  const place = (values: number[], baseline: number | null, more = {}): unknown[] => {
    const shown = measure("x", values, { unit: "nats", baseline, ...more });
    return elements(Legend({ measure: shown, colors: coloring(shown) }), "i").map(({ props }) => props["style"]);
  };
  assert.deepEqual([place([-1, 3], 0), place([1, 4], 1), place([1, 4], 4)], [[{ left: "25%" }], [{ left: "25%" }], [{ left: "100%" }]]);
  const centered = measure("x", [-1, 3], { unit: "nats", center: 0 });
  const ends = elements(Legend({ measure: centered, colors: coloring(centered) }), "span").filter(({ props }) => !props["class"]);
  assert.deepEqual(ends.map(({ props }) => props.children), ["−3.000", "+3.000 nats"]);
  assert.deepEqual([place([1, 4], null), place([1, 4], -1), place([1, 4], 5), place([0.2], 0.4, { unit: "%" })], [[], [], [], [{ left: "40%" }]]);
});

test("a finding is written whole, its number first, and heads that the model has are chips", () => {
  const written = (text: string): unknown[] =>
    elements(FindingLink({ finding: { text, address: "" }, data: { ...DATA, layers: 3 }, onFollow: () => undefined }), "b").map(({ props }) => [props.class, props.children]);
  const text = "2-1, 1-2 and 2-1 find it, unlike 9-9, 3-1, 1-1 and 3-2.";
  assert.deepEqual(written(text).map((chip) => (chip as string[])[1]), ["2-1", "1-2", "2-1", "3-1", "1-1", "3-2"]);
  assert.deepEqual(written("0 of 14 relations are found by 2-1."), [["number", "0 of 14"], ["chip", "2-1"]]);
  assert.deepEqual(written("54.7 % [52.4, 57.1] held out."), [["number", "54.7 % [52.4, 57.1]"]]);
  assert.deepEqual(written("+5.8 points [2.9, 8.7] more."), [["number", "+5.8 points [2.9, 8.7]"]]);
});

test("cells of a CSV file that would end a cell or a row are quoted", () => {
  assert.equal(csv([["a b", null, 0.5], ["“", '"', "1,5"], ["a\nb", "a\rb", 'say "so"']]), 'a b,,0.5\n“,"""","1,5"\n"a\nb","a\rb","say ""so"""\n');
});

test("heads are named by layer and head from 1, and words are written as running text", () => {
  const data = { ...DATA, layers: 2, heads: 3 };
  assert.deepEqual([0, 2, 3, 5].map((head) => headName(head, data)), ["1-1", "1-3", "2-1", "2-3"]);
  assert.deepEqual(["1-1", " 2-3 ", "2-1", "0-1", "1-0", "3-1", "1-4", "1"].map((name) => headIndex(name, data)), [0, 5, 3, null, null, null, null, null]);
  const sample = { kinds: [], note: "", sentences: [sentence("s", ["a"])], layer_kinds: ["cosine"] };
  assert.deepEqual([storedHead(4, "cosine", { ...data, sample }), storedHead(4, "weight", { ...data, sample }), storedHead(4, "cosine", data)], [3, 4, 4]);
  assert.deepEqual([inputName(sample), inputName({ ...sample, sentences: [PAIR] }), inputName({ ...sample, sentences: [PAIR, ...sample.sentences] })], ["sentence", "sentence pair", "sentence"]);
  const side = { words: ["[CLS]", "can", "not", "go", "."], special: [true, false, false, false, false], direction: "ltr" as const, joined: [1, 3] };
  assert.deepEqual([runningText(side), runningText(side, 4), runningText(side, 2)], ["cannot go.", "cannot go.", "cannot …"]);
  const writing = [{ direction: "rtl" as const, joined: [0] }, { direction: "ltr" as const, joined: [1] }];
  assert.deepEqual([rowsOf(PAIR).direction, rowsOf({ ...PAIR, writing }).joined, columnsOf({ ...PAIR, writing }).joined], ["ltr", [0], [1]]);
  assert.deepEqual(columnsOf({ ...PAIR, special_columns: null }).special, [false, false, false]);
  assert.deepEqual([columnsOf(PAIR).words, columnsOf(sentence("s", ["a"])).words], [["[CLS]", "a", "house"], ["a"]]);
  for (const [text, found] of [["haus", true], ["a house", true], ["[CLS]", false], ["/^ein haus a/", true]] as const) assert.equal(search(text)?.(PAIR), found, text);
});

test("a head has a rank, and a layer a mean, among the heads that have a value", () => {
  const values = measure("x", [0.5, null, 0.7, 0.5]);
  assert.deepEqual([0, 1, 2, 3].map((head) => rank(values, head)), [{ position: 2, of: 3, equal: 2 }, null, { position: 1, of: 3, equal: 1 }, { position: 2, of: 3, equal: 2 }]);
  assert.deepEqual(rank({ ...values, low_is_best: true }, 2), { position: 3, of: 3, equal: 1 });
  assert.equal(ofLayer(measure("x", [null, null, 1, 0]), 2, 0), null);
  assert.equal(ofLayer(measure("x", [1, 0], { categories: ["a", "b"] }), 2, 0), null);
  assert.deepEqual(ofLayer(measure("x", [0.25, 0.75]), 2, 0), { mean: 0.5, best: 0.75 });
});

test("maps and guesses are those that were stored", async () => {
  const stored = (bytes: Uint8Array): string => Buffer.from(deflateRawSync(bytes)).toString("base64");
  assert.deepEqual([...(await inflate(stored(Uint8Array.from([0, 128, 255]))))], [0, 128, 255]);
  const bytes = Uint8Array.from({ length: 12 }, (_, i) => 20 * i);
  const guesses = new Uint8Array(Uint16Array.from([1, 0, 513, 2]).buffer);
  const one = { ...sentence("s", ["a", "b"]), maps: { weight: { data: stored(bytes), scales: [1, 0.5, 2] } }, guesses: { "weight/both": stored(guesses) } };
  const maps = new Maps();
  const found = await maps.head(one, "weight", 1);
  assert.ok(found);
  close(found.values, [80, 100, 120, 140].map((byte) => (byte / 255) * 0.5));
  assert.deepEqual([found.rows, found.columns, found.scale, found.step], [2, 2, 0.5, 0.5 / 255]);
  assert.equal(await maps.head(one, "norm", 1), null);
  assert.deepEqual([...((await maps.guess(one, "weight/both", 1)) ?? [])], [513, 2]);
  assert.equal(await maps.guess(one, "weight/dep->head", 1), null);
  const few = { ...one, id: "few", maps: { weight: { data: stored(bytes), scales: [1, 0.5, 2], heads: [7, 4, 9] } } };
  close((await maps.head(few, "weight", 4))?.values ?? [], [80, 100, 120, 140].map((byte) => (byte / 255) * 0.5));
  assert.equal(await maps.head(few, "weight", 1), null);
  assert.deepEqual([...((await maps.guess(few, "weight/both", 7)) ?? [])], [1, 0]);
  assert.equal(await maps.guess(few, "weight/both", 1), null);
  const pair = { ...PAIR, maps: { weight: { data: stored(Uint8Array.from([...Array(9).keys()])), scales: [255] } } };
  assert.deepEqual([...((await maps.head(pair, "weight", 0))?.values ?? [])], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([...shadesOf({ ...map([[0.5, 1, 2]]), scale: 2 })], [64, 128, 255]);
  assert.deepEqual([...shadesOf({ ...map([[0.5]]), scale: 0 })], [0]);
});

test("an ensemble is named by its heads, and drawn if all of their maps are stored", async () => {
  const heads = [{ head: "1-2", direction: "dep->head" }, { head: "2-1", direction: "head->dep" }, { head: "2-2", direction: "both" }];
  const ensembles = [{ relation: "obj", kind: "weight", heads }, { relation: "obj", kind: "norm", heads }];
  const data = { ...DATA, ensembles };
  assert.equal(ensembleName({ relation: "obj", kind: "weight", heads }), "1-2 + 2-1← + 2-2↔");
  assert.equal(ensembleOf(data, "obj", "norm"), ensembles[1]);
  assert.equal(ensembleOf(data, "det", "norm"), undefined);
  const asked: number[] = [];
  const maps = (missing: number): Maps =>
    ({
      head: async (_: SampledSentence, __: string, head: number) => {
        asked.push(head);
        return head === missing ? null : { ...map([[0, 1], [1, 0]]), step: 0.01 * head };
      },
    }) as never;
  const found = await together(data, maps(-2), sentence("s", ["a", "b"]), { relation: "obj", kind: "weight", heads });
  assert.deepEqual([...(found?.guesses ?? [])], [1, 0]);
  close([found?.map.step ?? 0], [(0.01 + 0.02 + 2 * 0.03) / 3]);
  assert.deepEqual(asked, [1, 2, 3]);
  const special = { ...sentence("s", ["a", "b", "c"]), special: [false, false, true] };
  const rows = { head: async () => map([[0.1, 0.3, 0.6], [0.4, 0.1, 0.5], [0, 0, 1]], 0.01) } as never;
  const shares = await together(data, rows, special, { relation: "obj", kind: "weight", heads: heads.slice(0, 2), divided: true });
  close(shares?.map.values ?? [], [0.25, (0.75 + 0.8) / 2, 0, (0.8 + 0.75) / 2, 0.2, 0, 0, 0, 0]);
  close([shares?.map.step ?? 0], [0.01 / 0.4]);
  assert.equal(await together(data, maps(2), sentence("s", ["a", "b"]), { relation: "obj", kind: "weight", heads }), null);
});

test("a view is that of the best head, and another measure brings its relation and its kind of map", () => {
  const obj = measure("obj", [0.1, 0.7, 0.4, 0.7], { relation: "obj", direction: "dep->head" });
  const norms = measure("norms", [null, 0.1, 0.2, 0.1], { kind: "norm", relation: "det", direction: "head->dep" });
  const total = measure("all", [0.1, 0.2, 0.3, 0.4], { relation: "all", direction: "both" });
  const entropy = measure("entropy", [0.1, 0.2, 0.3, 0.4], { kind: null });
  const facts = [entropy, norms, obj].map((item) => ({ label: "", text: "", measure: item.id }));
  const cards = DATA.measures.concat(DATA.measures).map(() => ({ head: "", summary: "", facts, nearest: [], profile: null }));
  const data = { ...DATA, measures: [obj, norms, total, entropy], cards };
  assert.deepEqual(["obj", "norms", "none"].map((id) => bestHead(data, id)), [1, 2, 0]);
  const view = firstView(data);
  assert.deepEqual([view.measure, view.head, kindsIn(view), view.relation, view.direction], ["obj", 1, ["weight"], "obj", "dep->head"]);
  assert.deepEqual(kindsIn(firstView({ ...data, measures: [norms] })), ["norm"]);
  assert.deepEqual(kindsIn(firstView({ ...data, measures: [entropy] })), ["weight"]);
  const moved = withMeasure(view, "norms", data);
  assert.deepEqual([moved.measure, kindsIn(moved), moved.relation, moved.direction, moved.head], ["norms", ["norm"], "det", "head->dep", 1]);
  assert.deepEqual(kindsIn(withMeasure(withSlot(view, 1, { kind: "norm" }), "norms", data)), ["norm", "weight"]); // they change places
  assert.deepEqual(withMeasure(moved, "entropy", data), { ...moved, measure: "entropy" });
  assert.equal(withMeasure(view, "none", data), view);
  const restored = (hash: string): unknown[] => {
    const found = restore(parameters(hash) ?? new Map(), view, data);
    return [headsOf(found.view), found.view.measure, found.view.relation, kindsIn(found.view), found.view.word, found.view.special, found.missing];
  };
  assert.deepEqual(restored("#measure=norms"), [[2], "norms", "det", ["norm"], null, false, []]);
  assert.deepEqual(restored("#measure=entropy").slice(1, 4), ["entropy", null, ["weight"]]);
  assert.deepEqual(restored("#head=2-1,1-1&word=to-3&special=on"), [[2, 0], "obj", "obj", ["weight"], { side: "column", index: 2 }, true, []]);
  assert.deepEqual(restored("#head=2-1,2-1&word=from-0&special=x&kind=cube"), [[2], "obj", "obj", ["weight"], null, false, ["kind “cube”", "word “from-0”", "special “x”"]]);
  assert.deepEqual(restored("#head=2-1,9-9")[0], [1]);
  assert.equal(parameters("#head"), null);
  const changed = { ...withSlot(view, 1, { head: 3 }), head: 2, word: { side: "row" as const, index: 0 }, show: "wrong" as const, special: true, ensemble: true };
  assert.equal(address(changed, data, view), "#head=2-1&measure=obj&kind=weight&b=on&b-head=2-2&b-kind=weight&relation=obj&direction=dep->head&show=wrong&word=from-1&special=on&ensemble=on");
  assert.equal(address(view, data, changed).slice(-25), "&special=off&ensemble=off");
  const better = { ...norms, id: "obj of norms", relation: "obj", values: [0.9, 0.5, 0.3, 0.1] };
  const named = { ...data, measures: [obj, better, { ...obj, id: "gain", center: 0, values: [1, 1, 1, 1] }] };
  assert.deepEqual([0, 1].map((head) => measureOf(named, "obj", head)?.id), ["obj of norms", "obj"]);
  assert.deepEqual([measureOf(named, "obj", 1, "norm")?.id, measureOf(named, "det", 1)], ["obj of norms", null]);
});

function panel(values: number[][], more: Partial<Panel> = {}): Panel {
  return { ...{ key: "", title: "head 1-1", head: 0, kind: "weight", decisions: [], every: false, reversed: false, both: false, shares: true }, map: map(values), ...more };
}

test("a decision looks at its cell, and is as strong as the value there", () => {
  const values = [[0, 0.2, 0.8], [0.6, 0, 0.4], [1, 0, 0]];
  const at = (more: Partial<Panel>): unknown[] => [cell(panel(values, more), decided(0, 2), 2), strength(panel(values, more), decided(0, 2))];
  assert.deepEqual(at({}), [[0, 2], 204 / 255]);
  assert.deepEqual(at({ reversed: true }), [[2, 0], 1]);
  assert.deepEqual(at({ both: true }), [[2, 0], 1]);
  assert.deepEqual(cell(panel(values, { both: true }), decided(1, 2), 2), [1, 2]);
  assert.equal(strength(panel(values), decided(0, null)), 0);
  close([visible(panel(values), decided(0, 2)), visible(panel(values), decided(0, null))], [0.2 + 0.8 * 0.8, 0.2]);
  const several = (n: number): boolean => many(panel(values, { decisions: Array.from({ length: n }, () => decided(0, 1)) }));
  assert.deepEqual([several(24), several(25), many(panel(values, { every: true }))], [false, true, true]);
  const found = valuesOf(panel(values), { side: "column", index: 0 }, [1, 2]);
  close(found.flatMap(({ index, value, byte }) => [index, value, byte]), [1, Math.fround(0.6), 153, 2, 1, 255]);
  close(valuesOf(panel(values), { side: "row", index: 0 }, [1, 2]).map(({ value }) => value), [0.2, 0.8]);
});

test("values and words of a map are said in words", () => {
  const say = (shares: boolean, value: number): string => shownValue({ shares }, value);
  assert.deepEqual([say(true, 0.0994), say(true, 0.0996), say(true, 0.5), say(true, 0)], ["9.9 %", "10 %", "50 %", "0.0 %"]);
  assert.deepEqual([say(false, 0.123), say(false, 123), say(false, 1e-9), say(false, 12)], ["0.12", "1.2e+2", "1.0e-9", "12"]);
  const one = sentence("s", ["a", "b", "c", "d", "e", "f"]);
  const values = [[0, 0.1, 0.4, 0.2, 0.15, 0.05], ...Array.from({ length: 5 }, () => [0.5, 0, 0, 0, 0, 0])];
  const asked = panel(values, { decisions: [decided(0, 1, { gold: [2, 3] }), decided(1, 2, { relation: "", gold: [4] })] });
  const about = (side: "row" | "column", index: number): string => sentenceAbout(asked, one, { side, index }, [1, 2, 3, 4, 5]);
  assert.equal(about("row", 0), "head 1-1: “a” attends to “c” 40 %, “d” 20 %, “e” 15 %, “b” 10 %. By the annotation (obj): “c”, “d”.");
  assert.equal(about("column", 1), "head 1-1: “b” is attended to by “b” 0.0 %, “c” 0.0 %, “d” 0.0 %, “e” 0.0 %. By the annotation: “e”.");
  const within = panel(values, { decisions: [{ ...decided(5, 1, { gold: [3] }), rows: [5, 0, 1] }, decided(0, 1, { gold: [2] })] });
  const annotated = (index: number): string | undefined => sentenceAbout(within, one, { side: "row", index }, [1]).split(": ").at(-1);
  assert.deepEqual([0, 1].map(annotated), ["“c”.", "“d”."]);
  const pair = (side: "row" | "column", index: number, list = PAIR.links): string =>
    sentenceAbout(panel([[1, 0, 0], [0, 0.25, 0.75], [1, 0, 0]]), { ...PAIR, links: list }, { side, index }, [1]);
  assert.equal(pair("row", 1), "head 1-1: “Haus” attends to “a” 25 %. Gold links: “house”, “a” (possible).");
  assert.equal(pair("column", 2), "head 1-1: “house” is attended to by “Haus” 75 %. Gold links: “Haus”.");
  assert.equal(pair("row", 0), "head 1-1: “ein” attends to “a” 0.0 %. It has no gold link.");
  assert.equal(pair("row", 0, []), "head 1-1: “ein” attends to “a” 0.0 %.");
  assert.deepEqual([isolated("בית"), isolated("house"), isolated()], ["\u2068בית\u2069", "house", ""]);
  assert.deepEqual([61, 60, 33, 32, 17, 16].map(fontSize), [11, 12, 12, 13.5, 13.5, 15]);
});

test("a decision is about the words that it asks and the answers", () => {
  const one = sentence("s", ["a", "b", "c", "d"]);
  const decision = { ...decided(1, 2, { targets: [3] }), rows: [1, 0] };
  const about = (of: SampledSentence, side: "row" | "column"): boolean[] => [0, 1, 2, 3].map((index) => involves(decision, of, { side, index }));
  assert.deepEqual(about(one, "row"), [true, true, false, true]);
  assert.deepEqual(about(PAIR, "row"), [true, true, false, false]);
  assert.deepEqual(about(PAIR, "column"), [false, false, true, true]);
  assert.equal(involves(decision, one, null), true);
});

test("the strongest values are drawn, those of one byte as one path, and none is drawn that could not be seen", () => {
  const drawn = (values: number[][], more: Parameters<typeof strokes>[4] = {}): unknown[] => {
    const all = map(values.map((row) => row.map((byte) => byte / 255)));
    const { paths, drawn, least } = strokes(all, [0, 1], [0, 2], (row, column) => `${row}${column} `, more);
    return [paths.map(({ byte, path }) => `${byte}: ${path}`), drawn, Math.round(least * 255)];
  };
  assert.deepEqual(drawn([[255, 255, 6], [6, 255, 5]]), [["6: 02 10 ", "255: 00 "], 3, 6]);
  assert.deepEqual(drawn([[200, 0, 100], [50, 0, 100]], { most: 3 }), [["100: 02 12 ", "200: 00 "], 3, 51]);
  assert.deepEqual(drawn([[200, 0, 100], [50, 0, 100]], { most: 2 }), [["200: 00 "], 1, 101]);
  assert.deepEqual(drawn([[200, 0, 100], [50, 0, 100]], { wanted: (row) => row === 1 }), [["50: 10 ", "100: 12 "], 2, 6]);
});

test("a name that two pages change is merged, or asked for again", async () => {
  const named = (head: string, name: string): HeadName => ({ head, name, note: "" });
  const before = [named("1-1", "a")];
  const scene = async (change: HeadName, kept: HeadName[]): Promise<[string, HeadName[], number]> => {
    let [now, shown, asked, said] = [kept, before, 0, ""];
    const put = async (names: HeadName[], base: HeadName[]): Promise<{ names: HeadName[] }> => {
      asked++;
      if (JSON.stringify(base) !== JSON.stringify(now)) throw new Refused("changed", 409, { error: "changed", names: now });
      now = names;
      return { names };
    };
    await keepName(change, before, (names) => (shown = names), put).catch((error: Error) => (said = error.message));
    assert.deepEqual(shown, now);
    return [said, now, asked];
  };
  assert.deepEqual(await scene(named("2-1", "b"), before), ["", [...before, named("2-1", "b")], 1]);
  const others = [...before, named("1-2", "c")];
  assert.deepEqual(await scene(named("2-1", "b"), others), ["", [...others, named("2-1", "b")], 2]);
  assert.deepEqual(await scene(named("1-1", ""), others), ["", [named("1-2", "c")], 2]);
  assert.deepEqual(await scene(named("1-1", "b"), [named("1-1", "c")]), ["Another page has named head 1-1 “c”. Save again to replace it.", [named("1-1", "c")], 1]);
  assert.deepEqual(await scene(named("1-1", "b"), []), ["Another page has removed the name of head 1-1. Save again to replace it.", [], 1]);
  assert.deepEqual((await scene(named("1-1", "c"), [named("1-1", "c")]))[0], ""); // both say the same
  await assert.rejects(keepName(named("1-1", "b"), before, () => undefined, () => Promise.reject(new Error("gone"))), /gone/);
});
