// The concordance: rows made of stored sentences or read from a server, which of them are listed, and in which order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { inView } from "../src/concordance";
import type { Explorer, SampledSentence } from "../src/data";
import { Maps } from "../src/inflate";
import { answers, readLines, wholeUses } from "../src/served";
import type { Sort } from "../src/sorting";
import { ALIGNMENT, COREFERENCE } from "../src/tasks";
import type { Filter, Give, Use } from "../src/uses";
import { arranged, disagreeing, kept, keyOf, searching, storedUses, tableOf, useOf } from "../src/uses";
import { DATA, decided, map, sentence } from "./made";

const SONG: SampledSentence = {
  ...sentence("s", ["[CLS]", "I", "have", "heard", "such", "a", "song", "again", ".", "[SEP]"]),
  ...{ heads: [null, 3, 3, -1, 6, 6, 3, 3, 3, null] },
  relations: [null, "nsubj", "aux", "root", "det:predet", "det", "obj", "advmod", "punct", null],
  tags: [null, "PRON", "AUX", "VERB", "DET", "DET", "NOUN", "ADV", "PUNCT", null],
  writing: [{ direction: "ltr", joined: [7] }],
};

const VALUES = map(Array.from({ length: 10 }, (_, row) => Array.from({ length: 10 }, (_, column) => row / 10 + column / 100)));

test("a row has a word in its context, what is picked for it, what would be right, and their weights", () => {
  const decision = decided(6, 4, { targets: [3], gold: [3] });
  assert.deepEqual(useOf(SONG, decision, VALUES, "dep->head"), {
    ...{ sentence: "s", word: 5, row: 6, left: "I have heard such a", form: "song", right: "again.", picked: "such", picked_index: 3 },
    ...{ gold: "heard", gold_index: 2, weight: Math.fround(0.64), gold_weight: Math.fround(0.63), distance: -2, tag: "NOUN" },
    ...{ relation: "obj", verdict: "wrong", mistake: "dependent" },
  });
  const back = useOf(SONG, decision, VALUES, "head->dep");
  assert.deepEqual([back.weight, back.gold_weight], [Math.fround(0.46), Math.fround(0.36)]);
  assert.ok(Math.abs((useOf(SONG, decision, VALUES, "both").weight ?? 0) - 1.1) < 1e-6);
  const unsure = useOf(SONG, { ...decision, guess: null, verdict: null }, null, "dep->head");
  assert.deepEqual([unsure.picked, unsure.weight, unsure.distance, unsure.verdict, unsure.mistake], [null, null, null, null, ""]);
  const unjudged = useOf(SONG, { ...decision, judged: false, verdict: null }, VALUES, "dep->head");
  assert.deepEqual([unjudged.gold, unjudged.gold_index, unjudged.gold_weight], [null, null, null]);
});

test("a mention is one key word, and a word of a translation has no distance", () => {
  const mentions = [{ start: 1, end: 2, entity: "e", type: "proper", head: 1 }, { start: 4, end: 6, entity: "e", type: "nominal", head: 6 }, { start: 1, end: 3, entity: "f", type: "", head: 3 }];
  const mention = useOf({ ...SONG, mentions }, decided(6, 3, { rows: [6, 5, 4], targets: [1], gold: [1], relation: COREFERENCE }), VALUES, "mention->antecedent");
  assert.deepEqual([mention.left, mention.form, mention.right, mention.word, mention.distance], ["I have heard", "such a song", "again.", 5, -3]);
  assert.deepEqual([mention.picked, mention.gold, mention.tag, mention.mistake], ["I have heard", "I have", "nominal", "mention"]);
  assert.equal(keyOf(mention), "s 5 such a song"); // another mention may have the same head word
  const pair: SampledSentence = { ...sentence("p", ["ein", "Haus"]), columns: ["[CLS]", "a", "house"], special_columns: [true, false, false] };
  const linked = useOf(pair, decided(1, 2, { gold: [2], relation: ALIGNMENT, verdict: "right" }), map([[0, 0, 0], [0, 0.25, 0.75]]), "target->source");
  assert.deepEqual([linked.form, linked.picked, linked.gold, linked.weight, linked.distance], ["Haus", "house", "house", 0.75, null]);
});

function use(word: number, more: Partial<Use> = {}): Use {
  return { ...useOf(SONG, decided(word, 3, { targets: [3], gold: [3], verdict: "right" }), VALUES, "dep->head"), ...more };
}

const WRONG = { picked: "such", picked_index: 3, distance: -2, verdict: "wrong" as const, mistake: "dependent" };
const ROWS = [use(6, WRONG), use(1, { relation: "nsubj" }), use(7, { relation: "advmod" }), use(2, { verdict: null, gold: null, gold_index: null, picked: null, picked_index: null, distance: null, weight: null })];

test("rows are kept by verdict, kind of mistake, part of speech, distance and words", () => {
  const all: Filter = { show: "all", search: "", tag: "", distance: "" };
  const words = (change: Partial<Filter>): string => kept(ROWS, { ...all, ...change }).map(({ form }) => form).join(" ");
  assert.equal(words({}), "song I again have");
  assert.deepEqual([words({ show: "right" }), words({ show: "wrong" }), words({ show: "wrong:dependent" }), words({ show: "wrong:sibling" })], ["I again", "song", "song", ""]);
  assert.deepEqual([words({ tag: "NOUN" }), words({ tag: "PRON", show: "wrong" })], ["song", ""]);
  // Song picks −2 and should pick −3; I +2; again −4.
  const near = ["picked before", "picked after", "picked 2-3", "picked 4-6", "picked 1", "picked 7-", "gold 2-3", "gold before"];
  assert.deepEqual(near.map((distance) => words({ distance })), ["song again", "I", "song I", "again", "", "", "song I", "song again"]);
  const next = [use(6, { ...WRONG, picked_index: 6, distance: 1 })];
  assert.deepEqual(["picked 1", "gold 1"].map((distance) => kept(next, { ...all, distance }).length), [1, 0]);
  const found = ["relation:obj", "tag:ADV", "such a song", "SONG AGAIN", "/^i have/", "again.$", "  "];
  assert.deepEqual(found.map((search) => words({ search })), ["song have", "again", "song I again have", "song I again have", "song I again have", "", "song I again have"]);
  const joined = new Map([["s", { ...SONG, writing: [{ direction: "ltr" as const, joined: [4, 5] }] }]]);
  const across = ["suchasong", "such a song", "relation:obj"].map((search) => kept(ROWS, { ...all, search }, joined).length);
  assert.deepEqual(across, [4, 0, 1]); // as the whole sentence is written
  assert.equal(searching("/(/"), null);
  assert.equal(words({ search: "/(/" }), "song I again have");
});

test("rows are sorted by weight, distance, length and context, and those that disagree come first", () => {
  const order = (sort: Sort, differing?: Set<string>): string => arranged(ROWS, sort, differing).map(({ form }) => form).join(" ");
  assert.equal(order("documents"), "song I again have");
  assert.equal(order("weight"), "again song I have"); // 0.73, 0.64 (as of row 6), 0.13, and none
  assert.equal(order("distance"), "song I again have"); // −2, +2, −4, and none
  assert.equal(order("left"), "song have again I"); // a, I, song, and nothing
  assert.equal(order("right"), "again song I have"); // “.”, “again.”, “have …”, “heard …”
  assert.equal(order("disagreement", new Set(["s 6", "s 1"])), "again have song I");
  const lengths = [use(1, { left: "a b c" }), use(2, { left: "", sentence: "t" }), use(3, { left: "a" })].map((each) => ({ ...each, form: "a", right: "b" }));
  const long = new Map([["t", sentence("t", ["[CLS]", ..."abcdefg"])]]);
  assert.deepEqual([new Map(), long].map((stored) => arranged(lengths, "length", null, stored).map(({ word }) => word)), [[1, 2, 0], [2, 0, 1]]);
  const accents = ["zu", "Étude", "etage", "été"].map((right, word) => use(word, { right }));
  assert.deepEqual(arranged(accents, "right").map(({ right }) => right), ["etage", "été", "Étude", "zu"]);
  const others = [use(6), use(1), use(7, { picked: null, picked_index: null })];
  assert.deepEqual([...disagreeing(ROWS, others)], ["s 5"]);
});

test("a hundred thousand rows are filtered and sorted, and only those in view are drawn", () => {
  const many = Array.from({ length: 100_000 }, (_, i) => use(1, { sentence: `s${i}`, weight: ((i * 7919) % 100_000) / 100_000, tag: i % 4 ? "NOUN" : "VERB" }));
  const verbs = kept(many, { show: "all", search: "", tag: "VERB", distance: "" });
  assert.equal(verbs.length, 25_000);
  const weights = arranged(verbs, "weight").map(({ weight }) => weight ?? 0);
  assert.ok(weights.every((weight, i) => i === 0 || weight <= (weights[i - 1] ?? 1)));
  assert.deepEqual(inView(0, 300, 30, 100_000), [0, 18]);
  assert.deepEqual(inView(1_500_000, 300, 30, 100_000), [49_992, 50_018]);
  assert.deepEqual(inView(2_999_700, 300, 30, 100_000), [99_982, 100_000]);
});

test("saved rows count words from 1, and have no columns about gold where there is none", () => {
  const [heading, first] = tableOf(ROWS);
  assert.deepEqual(heading?.slice(-5), ["distance", "tag", "relation", "verdict", "mistake"]);
  assert.deepEqual(first?.slice(0, 4), ["s", 6, "I have heard such a", "song"]);
  const unjudged = ROWS.map((row) => ({ ...row, verdict: null, gold: null }));
  assert.deepEqual(tableOf(unjudged)[0], ["sentence", "word", "left", "form", "right", "picked", "weight", "distance", "tag", "relation"]);
});

function packed(bytes: Uint8Array): string {
  return Buffer.from(deflateRawSync(bytes)).toString("base64");
}

/** A sentence of two words and a special token, with the maps and guesses of 2 × 2 heads. */
function stored(id: string, more: Partial<SampledSentence> = {}): SampledSentence {
  const bytes = Uint8Array.from({ length: 36 }, (_, i) => (i % 9 === 5 ? 255 : i % 9 === 7 ? 51 : 0)); // words 1 and 2 attend to each other
  const guesses = new Uint8Array(Uint16Array.from(Array.from({ length: 4 }, () => [65535, 2, 1]).flat()).buffer);
  const maps = { weight: { data: packed(bytes), scales: [1, 1, 1, 1] } };
  return { ...sentence(id, ["[CLS]", "Cats", "sleep"], [null, "nsubj", "root"]), heads: [null, 2, -1], maps, guesses: { "weight/dep->head": packed(guesses) }, ...more };
}

async function readAll(data: Explorer, relation: string | null, direction: string | null): Promise<{ rows: Use[]; told: string[] }> {
  const rows: Use[] = [];
  const told: string[] = [];
  const give: Give = (more, { read, of }) => {
    rows.push(...more);
    told.push(`${read}/${of}`);
  };
  await storedUses(data, new Maps()).read({ head: 0, kind: "weight", relation, direction }, give, new AbortController().signal);
  return { rows, told };
}

test("uses of the stored sentences are those of the guesses, and without gold every word is asked", async () => {
  const sample = (sentences: SampledSentence[]): Explorer => ({ ...DATA, sample: { kinds: ["weight"], note: "", sentences } });
  const judged = await readAll(sample([stored("a"), stored("b")]), "nsubj", "dep->head");
  assert.deepEqual(judged.told, ["1/2", "2/2"]);
  assert.deepEqual(judged.rows.map((row) => [row.sentence, row.form, row.picked, row.weight, row.verdict]), [["a", "Cats", "sleep", 1, "right"], ["b", "Cats", "sleep", 1, "right"]]);
  const bare = { heads: [], relations: [], tags: [] };
  const unjudged = await readAll(sample([stored("a", bare)]), null, "dep->head");
  assert.deepEqual(unjudged.rows.map((row) => [row.form, row.picked, row.gold, row.verdict]), [["Cats", "sleep", null, null], ["sleep", "Cats", null, null]]);
  const fromMaps = await readAll(sample([stored("a", { ...bare, guesses: {} })]), null, null);
  assert.deepEqual(fromMaps.rows.map((row) => [row.form, row.picked, row.verdict, Math.round(100 * (row.weight ?? 0))]), [["Cats", "sleep", null, 100], ["sleep", "Cats", null, 20]]);
  assert.deepEqual((await readAll(sample([]), "nsubj", "dep->head")).told, ["0/0"]);
});

test("lines of a stream are rows and progress, wherever the stream is cut", async () => {
  const lines = [...ROWS.slice(0, 2).map((row) => JSON.stringify({ ...row, form: "naïve" })), '{"read": 12, "of": 157}', JSON.stringify(ROWS[2]), '{"read": 157, "of": 157}'];
  const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
  for (const size of [1, 7, 1000]) {
    const given: [number, number][] = [];
    const forms: string[] = [];
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
        controller.close();
      },
    });
    await readLines(body, (rows, { read }) => {
      given.push([rows.length, read]);
      forms.push(...rows.map(({ form }) => form));
    });
    assert.deepEqual(given, [[2, 12], [1, 157]]);
    assert.deepEqual(forms, ["naïve", "naïve", "again"]);
  }
  const broken = new Response('{"read": 1, "of": 2}\n{"error": "The model is gone."}\n').body;
  assert.ok(broken);
  await assert.rejects(readLines(broken, () => undefined), /The model is gone/);
});

test("a server is asked for the uses of a head, and where it has none, the stored ones are given", async () => {
  const asked: [string, unknown][] = [];
  let says = () => new Response(`${JSON.stringify(ROWS[0])}\n{"read": 1, "of": 1}\n`);
  const own = globalThis.fetch;
  globalThis.fetch = async (address, options) => {
    const { page, ...body } = JSON.parse(String(options?.body));
    assert.match(page, /^\w+$/);
    asked.push([String(address), body]);
    return says();
  };
  const inSample = ROWS.slice(1, 2);
  const source = wholeUses("A", 0, DATA, { read: async (_, give) => give(inSample, { read: 1, of: 1 }) });
  const question = { head: 3, kind: "weight", relation: "obj", direction: null };
  let rows: Use[] = [];
  const read = (): Promise<void> => {
    rows = [];
    return source.read(question, (more) => rows.push(...more), new AbortController().signal);
  };
  try {
    await read();
    assert.deepEqual(rows, [ROWS[0]]);
    assert.deepEqual(asked, [["concordance", { slot: "A", run: 0, head: "2-2", kind: "weight", relation: "obj", direction: "dep->head" }]]);
    says = () => Response.json({ error: "The corpus has changed." }, { status: 409 });
    await assert.rejects(read(), /^Error: The corpus has changed. These are the uses in the stored sentences.$/);
    assert.deepEqual(rows, inSample);
    says = () => {
      throw new TypeError("network");
    };
    await assert.rejects(read(), /does not answer.*stored sentences/);
    says = () => new Response(`${JSON.stringify(ROWS[0])}\n{"read": 1, "of": 2}\n{"error": "It is gone."}\n`);
    await assert.rejects(read(), /^Error: It is gone.$/);
    assert.deepEqual(rows, [ROWS[0]]); // stored sentences are not added to a part of the corpus
  } finally {
    globalThis.fetch = own;
  }
});

test("a server is not asked about translations, cases, and coreference without mentions", () => {
  const sample = (more: Partial<SampledSentence>) => ({ kinds: [], note: "", sentences: [{ ...SONG, ...more }] });
  assert.deepEqual([null, "obj", COREFERENCE, ALIGNMENT].map((relation) => answers(sample({}), relation)), [true, true, false, false]);
  assert.equal(answers(sample({ mentions: [{ start: 1, end: 1, entity: "e", type: "" }] }), COREFERENCE), true);
  assert.equal(answers(sample({ columns: ["a"] }), null), false);
  assert.equal(answers(sample({ cases: [{ row: 1, right: [2], name: "gap", guesses: [] }] }), "gap"), false);
});
