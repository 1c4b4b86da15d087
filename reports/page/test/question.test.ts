// One question at a time: the matrix, the sentences and the concordance are about the same relation, direction, type and map.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { DATA, measure, sentence } from "./made";
import { firstView, parameters, restore } from "../src/address";
import type { Explorer, SampledSentence } from "../src/data";
import type { Compared } from "../src/differing";
import { differingHeads } from "../src/differing";
import { headsOfWord } from "../src/heads-of-word";
import { mapsOf } from "../src/inflate";
import { SAMPLE, bestAnswer, following, sampledMeasure, typeIn, withBest, withKind, withMeasure, withQuestion } from "../src/question";
import { COREFERENCE } from "../src/tasks";
import type { View } from "../src/view";
import { withSlot } from "../src/view";

function guesses(...heads: number[][]): string {
  return deflateRawSync(new Uint8Array(Uint16Array.from(heads.flat()).buffer)).toString("base64");
}

const MENTIONS = { start: 0, entity: "e", type: "proper", head: 0 };
const TREE: SampledSentence = {
  ...sentence("s", ["Ann", "saw", "her", "cat"], ["nsubj", "root", "nmod", "obj"]),
  heads: [1, -1, 3, 1],
  mentions: [{ ...MENTIONS, end: 0 }, { ...MENTIONS, start: 2, end: 2, head: 2, type: "pronoun" }, { ...MENTIONS, start: 2, end: 3, head: 3, type: "nominal" }],
  guesses: {
    ...{ "weight/dep->head": guesses([1, 3, 3, 1], [2, 2, 1, 0], [1, 0, 0, 0], [1, 2, 3, 1]), "weight/head->dep": guesses([3, 3, 3, 3], [3, 3, 3, 3], [3, 3, 3, 3], [3, 3, 3, 3]) },
    "weight/mention->antecedent": guesses([65535, 65535, 0, 0], [65535, 65535, 0, 2], [65535, 65535, 1, 2], [65535, 65535, 1, 0]),
  },
};

const about = (relation: string, direction: string, tag: string | null = null) => ({ relation, direction, tag });
const DATA_OF: Explorer = {
  ...DATA,
  measures: [
    measure("obj", [1, 0, 0, 0], { ...about("obj", "dep->head"), group: "Accuracy" }),
    measure("obj gain", [1, 0, 0, 0], { ...about("obj", "dep->head"), group: "Gain", center: 0 }),
    measure("nsubj gain", [0, 1, 0, 0], { ...about("nsubj", "dep->head"), group: "Gain", center: 0 }),
    measure("nsubj", [0, 1, 0, 0], { ...about("nsubj", "dep->head"), group: "Accuracy" }),
    measure("nsubj back", [0, 1, 0, 0], { ...about("nsubj", "head->dep"), group: "Accuracy" }),
    measure("nsubj norm", [0, 1, 0, 0], { ...about("nsubj", "dep->head"), group: "Accuracy", kind: "norm" }),
    measure("total", [0, 1, 0, 0], { ...about("all", "dep->head"), group: "Accuracy" }),
    measure("mentions", [0, 1, 0, 0], { ...about(COREFERENCE, "mention->antecedent"), group: "Antecedents" }),
    measure("pronouns", [0, 1, 0, 0], { ...about(COREFERENCE, "mention->antecedent", "pronoun"), group: "Antecedents" }),
    measure("entropy", [0, 1, 0, 0], { group: "Entropy" }),
    measure("entropy norm", [0, 1, 0, 0], { group: "Entropy", label: "entropy", kind: "norm" }),
  ],
  sample: { kinds: ["weight", "norm"], note: "", sentences: [TREE] },
};
const VIEW = firstView(DATA_OF);
const headOf = ({ head, slots: [a] }: View) => [head, a.head];
const asked = ({ measure: id, relation, direction, tag }: View): (string | null)[] => [id, relation, direction, tag];

test("the matrix follows what is asked, in the same group of measures", () => {
  assert.deepEqual(asked(withQuestion(VIEW, { relation: "nsubj" }, DATA_OF)), ["nsubj", "nsubj", "dep->head", ""]);
  const gain = withMeasure(VIEW, "obj gain", DATA_OF);
  assert.deepEqual(asked(withQuestion(gain, { relation: "nsubj" }, DATA_OF)), ["nsubj gain", "nsubj", "dep->head", ""]);
  assert.deepEqual(asked(withQuestion(gain, { relation: "nsubj", direction: "head->dep" }, DATA_OF)), ["nsubj back", "nsubj", "head->dep", ""]);
  assert.deepEqual(asked(withQuestion(VIEW, { relation: null }, DATA_OF)), ["total", null, "dep->head", ""]);
  assert.deepEqual(asked(withKind(withQuestion(VIEW, { relation: "nsubj" }, DATA_OF), 0, "norm", DATA_OF)), ["nsubj norm", "nsubj", "dep->head", ""]);
  assert.equal(withKind(VIEW, 1, "norm", DATA_OF).measure, "obj"); // B is only compared with
});

test("a type of mention is a part of the question, and a part of speech is a filter", () => {
  const mentions = withQuestion({ ...VIEW, tag: "NOUN" }, { relation: COREFERENCE }, DATA_OF);
  assert.deepEqual(asked(mentions), ["mentions", COREFERENCE, "mention->antecedent", ""]);
  const pronouns = withQuestion(mentions, { tag: "pronoun" }, DATA_OF);
  assert.deepEqual([asked(pronouns), typeIn(pronouns)], [["pronouns", COREFERENCE, "mention->antecedent", "pronoun"], "pronoun"]);
  assert.deepEqual(asked(withMeasure(mentions, "pronouns", DATA_OF)), asked(pronouns));
  assert.deepEqual(asked(withMeasure(pronouns, "mentions", DATA_OF)), asked(mentions));
  assert.deepEqual(asked(withQuestion(pronouns, { relation: "obj" }, DATA_OF)), ["obj", "obj", "dep->head", ""]);
  const nouns = withQuestion({ ...VIEW, tag: "NOUN" }, { direction: "dep->head" }, DATA_OF);
  assert.deepEqual([asked(nouns), typeIn(nouns)], [["obj", "obj", "dep->head", "NOUN"], ""]);
});

test("what no table has is measured in the stored sentences", async () => {
  const rare = withQuestion(VIEW, { relation: "nmod" }, DATA_OF);
  assert.deepEqual(asked(rare), [SAMPLE, "nmod", "dep->head", ""]);
  const found = await sampledMeasure(rare, DATA_OF);
  assert.deepEqual([found.values, found.n, found.relation, found.direction], [[1, 0, 0, 1], 1, "nmod", "dep->head"]);
  const all = await sampledMeasure({ ...rare, relation: "all-nopunct" }, DATA_OF);
  assert.deepEqual([all.values, all.n], [[3 / 4, 0, 1 / 4, 3 / 4], 4]); // a root is never found
  const nominal = withQuestion(withQuestion(VIEW, { relation: COREFERENCE }, DATA_OF), { tag: "nominal" }, DATA_OF);
  assert.deepEqual(asked(nominal), [SAMPLE, COREFERENCE, "mention->antecedent", "nominal"]);
  assert.deepEqual((await sampledMeasure(nominal, DATA_OF)).values, [1, 1, 1, 1]);
  assert.deepEqual((await sampledMeasure({ ...nominal, tag: "pronoun" }, DATA_OF)).values, [1, 1, 0, 0]);
  assert.deepEqual(asked(withQuestion(rare, { relation: "obj" }, DATA_OF)).slice(0, 2), ["obj", "obj"]);
  assert.equal(following({ ...rare, measure: "obj" }, { ...DATA_OF, sample: null }).measure, "obj"); // there is nothing to count in
});

test("a measure that is about no relation stays, of the kind of map that is drawn", () => {
  const entropy = withMeasure(VIEW, "entropy", DATA_OF);
  assert.equal(withQuestion(entropy, { relation: "nmod" }, DATA_OF).measure, "entropy");
  assert.equal(withKind(entropy, 0, "norm", DATA_OF).measure, "entropy norm");
  assert.equal(withKind(withSlot(VIEW, 0, { kind: "rollout" }), 0, "rollout", DATA_OF).measure, "obj"); // a server draws it, and asks nothing
});

test("an address that asks for something else than its measure shows what it asks for", () => {
  const restored = (hash: string): (string | null)[] => asked(restore(parameters(hash) ?? new Map(), VIEW, DATA_OF).view);
  assert.deepEqual(restored("#measure=obj&relation=nsubj&direction=dep->head"), ["nsubj", "nsubj", "dep->head", ""]);
  assert.deepEqual(restored("#relation=coreference&tag=pronoun"), ["pronouns", COREFERENCE, "mention->antecedent", "pronoun"]);
  assert.deepEqual(restored("#measure=pronouns"), ["pronouns", COREFERENCE, "mention->antecedent", "pronoun"]);
  assert.deepEqual(restored("#measure=entropy&relation=nmod&direction=dep->head&tag=PRON"), ["entropy", "nmod", "dep->head", "PRON"]);
  assert.deepEqual(restored("#measure=sample&relation=nmod&direction=dep->head"), [SAMPLE, "nmod", "dep->head", ""]);
});

test("heads are listed that pick different words in A and B", async () => {
  const texts = [[0, 2, 1, 3], [1, 2, 3, 3], [2, 0, 0, 1], [65535, 2, 65534, 1]];
  const others = [[0, 2, 1, 3], [1, 2, 0, 3], [1, 1, 1, 0], [0, 0, 0, 1]];
  const compared = (list: number[][]): Compared => {
    const one = { ...TREE, guesses: { "weight/dep->head": guesses(...list) } };
    return { data: DATA_OF, maps: mapsOf(one), sentence: one, kinds: ["weight"], guesses: "dep->head", model: "" };
  };
  const links = { rows: [0, 1, 2, 3], columns: [0, 1, 2, 3] };
  const found = (row: number | null) => differingHeads(compared(texts), compared(others), links, row);
  assert.deepEqual(await found(null), [{ head: 2, words: 4 }, { head: 1, words: 1 }, { head: 3, words: 1 }]);
  assert.deepEqual(await found(1), [{ head: 2, words: 1 }, { head: 3, words: 1 }]); // of others, one has no pick
});

test("heads are listed by what they pick for a word, the word that most of them pick first", async () => {
  const of = (guesses: string) => ({ data: DATA_OF, maps: mapsOf(DATA_OF), sentence: TREE, kinds: ["weight"], guesses });
  assert.deepEqual(await headsOfWord(of("dep->head"), 0), [{ picked: 1, heads: [0, 2, 3] }, { picked: 2, heads: [1] }]);
  assert.deepEqual(await headsOfWord(of("dep->head"), 3), [{ picked: 0, heads: [1, 2] }, { picked: 1, heads: [0, 3] }]);
  assert.deepEqual(await headsOfWord(of("mention->antecedent"), 3), [{ picked: 0, heads: [0, 3] }, { picked: 2, heads: [1, 2] }]);
  assert.deepEqual(await headsOfWord(of("mention->antecedent"), 0), []); // it is no mention that has an antecedent
});

test("who looks at the best head goes on to the best one, and who has chosen another one keeps it", () => {
  assert.deepEqual([VIEW.measure, ...headOf(VIEW)], ["obj", 0, null]);
  const next = withBest(VIEW, { relation: "nsubj" }, DATA_OF);
  assert.deepEqual([...asked(next), ...headOf(next)], ["nsubj", "nsubj", "dep->head", "", 1, null]);
  assert.deepEqual(headOf(withBest(withSlot(VIEW, 0, { head: 3 }), { relation: "nsubj" }, DATA_OF)), [0, 3]);
  assert.deepEqual(headOf(withBest({ ...VIEW, head: 2 }, { relation: "nsubj" }, DATA_OF)), [2, null]);
  assert.equal(bestAnswer(next, DATA_OF)?.measure.id, "nsubj"); // and not what is left of it beside a baseline, which comes first
  assert.equal(withBest(next, { relation: "amod" }, DATA_OF).head, 1); // no table has it
  assert.equal(bestAnswer({ ...next, relation: "amod" }, DATA_OF), null);
  const colored = withBest(withMeasure(VIEW, "entropy", DATA_OF), { relation: "nsubj" }, DATA_OF);
  assert.deepEqual([colored.measure, colored.head], ["entropy", 1]);
});
