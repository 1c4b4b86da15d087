// What heads are asked in a sentence, what they answer, and which sentences are listed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Mention, SampledSentence } from "../src/data";
import { NO_GUESS, UNSURE } from "../src/inflate";
import type { Example } from "../src/judging";
import { directionsOf, examples, filtered, first, reachOf, reversed } from "../src/judging";
import { pickOf } from "../src/picks";
import { search } from "../src/search";
import { sorted } from "../src/sorting";
import type { Decision, Task } from "../src/tasks";
import { ALIGNMENT, COREFERENCE, decide, decisionOf, mentionOf, ordered, relationsOf, tasks, verdictsOf, wordTasks } from "../src/tasks";
import { DATA, decided, map, sentence } from "./made";

function mention(entity: string, start: number, end: number, head?: number): Mention {
  return { entity, start, end, type: "", ...(head === undefined ? {} : { head }) };
}

const WORDS = ["[CLS]", ..."abcdefghijk".split(""), "[SEP]"];

test("a mention is asked for its antecedents, of which the nearest is drawn, and a question for its answer", () => {
  const mentions = [
    ...[mention("A", 1, 1), mention("Q", 2, 2), mention("B", 3, 4), mention("A", 5, 5), mention("A", 5, 6, 5), mention("D", 5, 7, 5)],
    ...[mention("B", 7, 8, 7), mention("C", 8, 8), mention("A", 9, 9), mention("Q", 10, 10), mention("D", 11, 11)],
  ];
  const usual = { relation: COREFERENCE, judged: true, optional: false };
  assert.deepEqual(tasks({ ...sentence("s", WORDS), mentions }, COREFERENCE), [
    { ...usual, rows: [1], targets: [5, 5, 9], gold: [5], optional: true },
    { ...usual, rows: [2], targets: [10], gold: [10], optional: true },
    { ...usual, rows: [4, 3], targets: [7], gold: [7], optional: true },
    { ...usual, rows: [5], targets: [1], gold: [1] },
    { ...usual, rows: [5, 6], targets: [1], gold: [1], judged: false },
    { ...usual, rows: [7, 8], targets: [4], gold: [4] },
    { ...usual, rows: [9], targets: [1, 5, 5], gold: [5] },
    { ...usual, rows: [10], targets: [2], gold: [2] },
    { ...usual, rows: [11], targets: [5], gold: [5] },
  ]);
});

test("a word is about its own mention, also within another one, and else about the smallest around it", () => {
  const mentions = [
    ...[mention("A", 1, 1), mention("B", 2, 2), mention("B", 3, 8, 8), mention("A", 4, 6, 5), mention("A", 4, 5, 5), mention("B", 9, 9)],
  ];
  const one = { ...sentence("s", [...WORDS.slice(0, -1), ..."lmno"]), mentions };
  assert.deepEqual([2, 3, 4, 5, 8, 10].map((row) => mentionOf(one, row)).map((found) => found && [found.entity, found.start]), [["B", 2], ["B", 3], ["A", 4], ["A", 4], ["B", 3], undefined]);
  const decided = decide(tasks(one, COREFERENCE), Uint16Array.from([NO_GUESS, NO_GUESS, NO_GUESS, 0, 0, 1, 0, 0, 7, 8]), () => true);
  assert.deepEqual(decided.map(({ rows }) => rows), [[8, 3, 4, 5, 6, 7], [5, 4, 6], [5, 4], [9]]);
  assert.deepEqual([3, 4, 5, 6, 8, 9, 10].map((row) => decisionOf(decided, row)?.rows.length), [6, 3, 3, 3, 6, 1, undefined]);
  assert.deepEqual([...verdictsOf(decided)].sort(), [[3, "wrong"], [4, "right"], [5, "right"], [6, "right"], [7, "wrong"], [8, "wrong"], [9, "right"]]);
});

const PAIR: SampledSentence = {
  ...sentence("p", ["x", "y", "z", "[SEP]"]),
  ...{ columns: ["[CLS]", "u", "v"], special_columns: [true, false, false] },
  links: [{ row: 0, column: 1, sure: true }, { row: 0, column: 2, sure: false }, { row: 1, column: 2, sure: false }],
};

test("a word of a translation is asked for its links, and none that is only possible is needed", () => {
  const usual = { relation: ALIGNMENT, judged: true, nowhere: [0] };
  const asked = [
    { ...usual, rows: [0], targets: [1, 2], gold: [1, 2], sure: [1] },
    { ...usual, rows: [1], targets: [2], gold: [2], sure: [] },
    { ...usual, rows: [2], targets: [], gold: [], sure: [] },
  ];
  assert.deepEqual(tasks(PAIR, ALIGNMENT), asked);
  assert.deepEqual(tasks({ ...PAIR, links: [] }, ALIGNMENT).map(({ judged }) => judged), [false, false, false]);
  assert.deepEqual(tasks({ ...PAIR, columns: null }, ALIGNMENT), []);
  const verdicts = (...guesses: number[]): unknown[] => decide(asked, Uint16Array.from(guesses), () => true).map(({ verdict }) => verdict);
  assert.deepEqual(verdicts(1, 2, 0), ["right", "right", "right"]);
  assert.deepEqual(verdicts(2, 0, 1), ["right", "right", "wrong"]);
  assert.deepEqual(verdicts(0, 1, 2), ["wrong", "wrong", "wrong"]);
});

const TREE: SampledSentence = {
  ...sentence("t", ["[CLS]", "a", "b", "c", "d", "."], [null, "nsubj:pass", "root", "OBJ", null, "punct"]),
  heads: [null, 2, -1, 2, null, 2],
};

test("words of a relation, or of a total, are asked for their heads", () => {
  const rows = (relation: string | null): number[] => tasks(TREE, relation).flatMap((task) => task.rows);
  assert.deepEqual(rows(null), [1, 2, 3, 5]);
  assert.deepEqual(rows("all"), [1, 2, 3, 5]);
  assert.deepEqual(rows("all-nopunct"), [1, 2, 3]);
  assert.deepEqual(rows("all-nopunct-noroot"), [1, 3]);
  assert.deepEqual(rows("nsubj:pass"), [1]);
  assert.deepEqual(rows("nsubj"), []);
  assert.deepEqual(tasks(TREE, "root"), [{ rows: [2], targets: [], gold: [], relation: "root" }]);
  assert.deepEqual(tasks(TREE, "OBJ"), [{ rows: [3], targets: [2], gold: [2], relation: "OBJ" }]);
  const of = ({ rows: [row], targets, judged, relation }: Task): unknown => [row, targets, judged, relation];
  assert.deepEqual(wordTasks(TREE).map(of), [
    ...[[1, [2], true, "nsubj:pass"], [2, [], false, "root"], [3, [2], true, "OBJ"], [4, [], false, ""]],
    [5, [2], true, "punct"],
  ]);
  // In a treebank of Prague, the predicate is the root, and marks say what is punctuation.
  const marks = { punctuation: [false, false, false, false, false, true] };
  const prague = { ...TREE, ...marks, relations: [null, "Sb", "Pred", "Pred", null, "AuxK"] };
  assert.deepEqual(tasks(prague, "all-nopunct").flatMap((task) => task.rows), [1, 2, 3]);
  assert.deepEqual(tasks(prague, "all-nopunct-noroot").flatMap((task) => task.rows), [1, 3]);
  assert.deepEqual(tasks(prague, "Pred").flatMap((task) => task.rows), [2, 3]);
  const cases = [{ row: 3, right: [1, 2], name: "agreement", guesses: ["own"] }];
  const asked = { rows: [3], targets: [1, 2], gold: [1, 2], relation: "agreement", syntactic: false };
  assert.deepEqual(tasks({ ...TREE, cases }, "agreement"), [asked]);
  const twice = { ...TREE, relations: [null, "obj", "root", "obj", null, "det"], cases: [...cases, ...cases, ...cases] };
  const mentions = [mention("A", 1, 1), mention("A", 2, 2)];
  const counted = [["agreement", 3], ["obj", 2], ["root", 1], ["det", 1], ["coreference", 1]];
  assert.deepEqual(relationsOf([{ ...twice, mentions }]), counted);
  assert.deepEqual(relationsOf([PAIR]), [["alignment", 3]]);
});

test("a guess is right or wrong only where it was asked for, can be seen and is decided", () => {
  const task = (row: number, targets: number[], more: Partial<Task> = {}): Task => ({ rows: [row], targets, gold: targets, relation: "obj", ...more });
  const before = reachOf({ ...DATA, causal: true }, "dep->head");
  const one = (asked: Task, guess: number | null): unknown =>
    decide([asked], guess === null ? null : Uint16Array.from([9, 9, 9, guess]), before).map((decision) => [decision.guess, decision.verdict]);
  assert.deepEqual(one(task(3, [1]), 1), [[1, "right"]]);
  assert.deepEqual(one(task(3, [1, 2]), 2), [[2, "right"]]);
  assert.deepEqual(one(task(3, [1, 4]), 1), [[1, "right"]]);
  assert.deepEqual(one(task(3, [1]), 2), [[2, "wrong"]]);
  assert.deepEqual(one(task(3, []), 2), [[2, "wrong"]]);
  assert.deepEqual(one(task(3, [4]), 2), [[2, null]]);
  assert.deepEqual(one(task(3, [1]), UNSURE), [[null, null]]);
  assert.deepEqual(one(task(3, [1]), NO_GUESS), [[null, "wrong"]]);
  assert.deepEqual(one(task(3, [1]), null), [[null, null]]);
  assert.deepEqual(one(task(3, [1], { judged: false }), 1), [[1, null]]);
  assert.deepEqual(one(task(3, [1], { relation: COREFERENCE }), 1), [[1, "right"]]);
  assert.deepEqual(one(task(3, [1], { relation: COREFERENCE }), NO_GUESS), [[null, null]]);
  assert.deepEqual(one(task(3, [1], { relation: COREFERENCE, judged: false }), 1), [[null, null]]);
  assert.deepEqual(one(task(3, [1], { relation: COREFERENCE, optional: true }), NO_GUESS), []);
  assert.deepEqual(one(task(3, [1], { relation: COREFERENCE, optional: true }), 2), [[2, "wrong"]]);
});

test("a causal model sees the words before, and a reversed direction those after", () => {
  const seen = (causal: boolean, direction: string): boolean[] => [1, 3].map((target) => reachOf({ ...DATA, causal }, direction)(2, target));
  assert.deepEqual(seen(true, "dep->head"), [true, false]);
  assert.deepEqual(seen(true, "head->dep"), [false, true]);
  assert.deepEqual(seen(true, "both"), [true, true]);
  assert.deepEqual(seen(false, "head->dep"), [true, true]);
  assert.equal(reachOf({ ...DATA, causal: true }, "dep->head")(2, 2), false);
  assert.equal(reachOf({ ...DATA, causal: true }, "head->dep")(2, 2), false);
  assert.deepEqual(["head->dep", "antecedent->mention", "source->target"].map(reversed), [true, true, true]);
  assert.deepEqual(["dep->head", "mention->antecedent", "target->source", "both", null].map(reversed), [false, false, false, false, false]);
});

test("a relation has the directions of its own guesses", () => {
  const keys = ["weight/dep->head", "norm/head->dep", "weight/both", "weight/mention->antecedent", "weight/target->source", "weight/own"];
  const guesses = Object.fromEntries(keys.map((key) => [key, ""]));
  const cases = [{ row: 1, right: [2], name: "agreement", guesses: ["own"] }];
  const of = (relation: string | null): string[] => directionsOf([{ ...TREE, guesses, cases }], relation);
  assert.deepEqual(of("obj"), ["dep->head", "head->dep", "both"]);
  assert.deepEqual(of(COREFERENCE), ["mention->antecedent"]);
  assert.deepEqual(of(ALIGNMENT), ["target->source"]);
  assert.deepEqual(of("agreement"), ["own"]);
});

// "He gave her books , which she liked": a verb with two arguments, one of which has a clause.
const RELATIONS = [null, "nsubj", "root", "iobj", "obj", "punct", "obj", "nsubj", "acl", "advmod", "det"];
const CLAUSE: SampledSentence = {
  ...sentence("c", ["[CLS]", "he", "gave", "her", "books", ",", "which", "she", "liked", "here", "the"], RELATIONS),
  ...{ heads: [null, 2, -1, 2, 2, 8, 8, 8, 4, 8, 3], tags: [null, "PRON", "VERB", "PRON", "NOUN", "PUNCT", "PRON", "PRON", "AUX", "ADV", "DET"] },
};

test("a wrong guess is the first of the kinds that it fits", () => {
  const pick = (row: number, guess: number | null, more: Partial<Decision> = {}): string | null => pickOf(CLAUSE, decided(row, guess, more));
  const found = [[8, 5], [8, 7], [8, 9], [1, 4], [4, 3], [9, 7], [6, 9], [6, 4], [9, 10], [10, 9], [1, 3], [10, 4], [10, 8], [8, 3]] as const;
  assert.deepEqual(found.map(([row, guess]) => pick(row, guess)), [
    ...["punctuation", "dependent", "dependent", "argument", "argument", "argument", "sibling", "grandparent", "neighbor"],
    ...["neighbor", "argument", "other", "other", "other"],
  ]);
  assert.equal(pickOf({ ...CLAUSE, tags: [] }, decided(1, 4)), "argument");
  assert.equal(pickOf({ ...CLAUSE, punctuation: CLAUSE.rows.map((_, row) => row === 4) }, decided(1, 4)), "punctuation");
  assert.equal(pickOf({ ...CLAUSE, tags: CLAUSE.tags?.map(() => "NOUN") ?? [] }, decided(1, 4)), "sibling");
  const parted = { ...sentence("p", ["a", "[SEP]", "b", "c"]), heads: [3, null, -1, -1] };
  assert.deepEqual([pickOf(parted, decided(0, 2)), pickOf(parted, decided(2, 0))], ["neighbor", "neighbor"]);
  const none = [{ verdict: "right" }, { verdict: null }, { syntactic: false }, { relation: ALIGNMENT }] as const;
  for (const more of none) assert.equal(pick(1, 4, more), null);
  assert.equal(pick(1, null), null);
});

test("a wrong guess for a mention is the first of the kinds that a page knows", () => {
  const rows = ["[CLS]", ..."Ann the dog of Max The dog she her cat bird".split(" ")];
  const mentions = [
    ...[mention("A", 1, 1), mention("D", 2, 5, 3), mention("M", 5, 5), mention("E", 6, 7, 7), mention("A", 8, 8), mention("D", 9, 10, 10), mention("A", 11, 11)],
  ];
  const one = { ...sentence("m", rows), mentions };
  const pick = (of: number[], guess: number, targets: number[]): string | null => pickOf(one, decided(of[0] ?? 0, guess, { rows: of, targets, relation: COREFERENCE }));
  assert.deepEqual([pick([8], 11, [1]), pick([10, 9], 4, [3]), pick([10, 9], 9, [3])], ["same entity", "inside an antecedent", "inside the mention"]);
  assert.deepEqual([pick([7, 6], 3, [1]), pick([8], 5, [1]), pick([8], 6, [1])], ["same head word", "mention", "other word"]);
});

test("sentences are listed by what a head gets right or wrong in them, and by a search", () => {
  const right: Example = { sentence: CLAUSE, right: 1, judged: 1, decisions: [decided(1, 2, { verdict: "right" })] };
  const wrong: Example = { sentence: TREE, right: 0, judged: 1, decisions: [decided(1, 3)] };
  const listed = (show: Parameters<typeof filtered>[1], text = ""): string[] =>
    filtered([right, wrong], show, search(text) ?? (() => false)).map((example) => example.sentence.id);
  assert.deepEqual([listed("all"), listed("right"), listed("wrong"), listed("all", "gave")], [["c", "t"], ["c"], ["t"], ["c"]]);
  assert.deepEqual([listed("wrong:argument"), listed("wrong:sibling")], [[], ["t"]]);
  // The relation and the part of speech are those of the word that is asked.
  assert.deepEqual([listed("all", "relation:nsubj"), listed("all", "relation:advmod"), listed("all", "tag:PRON"), listed("all", "tag:ADV")], [["c"], [], ["c"], []]);
});

test("the first sentence has 8 to 14 words, and a right and a wrong guess if there is one", () => {
  const words = (n: number, right: number, judged: number, document: string | null = null): Example => {
    const rows = ["[CLS]", ...Array.from({ length: n }, (_, i) => `w${i}`)];
    return { sentence: { ...sentence(`${n}/${right}`, rows), document }, decisions: [], right, judged };
  };
  const chosen = (...list: Example[]): string | undefined => first(list)?.sentence.id;
  assert.equal(chosen(words(3, 1, 2), words(8, 0, 2), words(9, 2, 2), words(14, 1, 2)), "14/1");
  assert.equal(chosen(words(7, 1, 2), words(15, 1, 2), words(8, 0, 2)), "8/0");
  assert.equal(chosen(words(15, 0, 2), words(14, 2, 2)), "14/2");
  assert.equal(chosen(words(8, 1, 2), words(9, 1, 2)), "8/1");
  assert.equal(chosen(words(7, 1, 2), words(15, 1, 2)), "7/1");
  const alone = [words(5, 0, 0), words(4, 0, 0), words(3, 0, 0, "x"), words(2, 0, 0, "x")];
  assert.deepEqual(ordered(alone).map((example) => example.sentence.rows.length - 1), [2, 4, 5, 3]);
  const list = [words(5, 0, 0, "x"), words(4, 0, 0, "x"), words(6, 0, 0, "y"), words(3, 0, 0), words(2, 0, 0, "x")];
  assert.deepEqual(ordered(list).map((example) => example.sentence.rows.length - 1), [2, 3, 6, 4, 5]);
});

test("what the heads of an ensemble see together is the whole sentence, also in a causal model", async () => {
  const data = { ...DATA, causal: true, sample: { kinds: ["weight"], note: "", sentences: [TREE] } };
  const rows = TREE.rows.map((_, row) => TREE.rows.map((_, column) => Number(row === 1 && column === 2)));
  const maps = { head: async () => map(rows), guess: async () => Uint16Array.from([NO_GUESS, 2, 2, 2, 2, 2]) } as never;
  const question = { head: 0, kind: "weight", relation: "nsubj:pass", direction: "dep->head" };
  const ensemble = { relation: "nsubj:pass", kind: "weight", heads: [{ head: "1-1", direction: "both" }] };
  const judged = async (more: object): Promise<unknown> => (await examples(data, maps, { ...question, ...more })).map(({ right, judged }) => [right, judged]);
  assert.deepEqual([await judged({}), await judged({ ensemble })], [[[0, 0]], [[1, 1]]]);
});

test("what a head decides is read from its guesses, and the weight below them sorts the sentences", async () => {
  const one = { ...TREE, id: "one" };
  const guesses: Record<string, number[]> = { one: [NO_GUESS, 2, 1, 1, NO_GUESS, 2], two: [NO_GUESS, 3, 1, 2, NO_GUESS, UNSURE] };
  const data = { ...DATA, sample: { kinds: ["weight"], layer_kinds: ["mean"], note: "", sentences: [one, { ...TREE, id: "two" }] } };
  const asked: unknown[] = [];
  let stronger = "two";
  const maps = {
    guess: async ({ id }: SampledSentence, key: string, head: number) => {
      asked.push([id, key, head]);
      return Uint16Array.from(guesses[id] ?? []);
    },
    head: async ({ id }: SampledSentence) => map(TREE.rows.map((_, row) => TREE.rows.map((_, column) => (id === stronger ? 2 : 1) * (10 * row + column)))),
  } as never;
  const question = { head: 3, kind: "mean", relation: null, direction: "dep->head" };
  const found = await examples(data, maps, question);
  assert.deepEqual(found.map(({ sentence: { id }, right, judged }) => [id, right, judged]), [["one", 2, 4], ["two", 1, 3]]);
  assert.deepEqual(asked, [["one", "mean/dep->head", 2], ["two", "mean/dep->head", 2]]);
  assert.deepEqual(await examples(data, maps, { ...question, relation: "iobj" }), []);
  const order = async (direction: string, sort: Parameters<typeof sorted>[1] = "weight"): Promise<string[]> =>
    (await sorted(found, sort, data, maps, { ...question, direction }, { ...question, kind: "weight" })).map((example) => example.sentence.id);
  assert.deepEqual([await order("dep->head"), await order("both"), await order("dep->head", "documents")], [["two", "one"], ["two", "one"], ["one", "two"]]);
  stronger = "one";
  assert.deepEqual([await order("dep->head"), await order("head->dep")], [["one", "two"], ["one", "two"]]);
});
