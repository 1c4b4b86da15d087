// What a sentence asks of a head: the decisions that its annotation can judge.

import type { Mention, SampledSentence } from "./data";
import { columnsOf } from "./data";
import { NO_GUESS, UNSURE } from "./inflate";

export const COREFERENCE = "coreference";
export const ALIGNMENT = "alignment";

/** One decision: what a head guesses for a word, and what would be right. */
export interface Task {
  /** The word first; of a mention, its head word first and then its other words. */
  rows: number[];
  /** Right answers. A root has none, because no word is its head. */
  targets: number[];
  /** What is drawn as the right answer: the first of the targets, or the nearest of them. */
  gold: number[];
  relation: string;
  /** False if the annotation has no right answer, so that a guess is neither right nor wrong. */
  judged?: boolean;
  /** Whether a task that no head was asked, because it has no guess, is left out. */
  optional?: boolean;
  /** Of a word of a translation: the answers that are sure. Others are possible, and without sure ones none is needed. */
  sure?: number[];
  /** Of a word of a translation: the columns of special tokens. A guess at one of them is no link. */
  nowhere?: number[];
  /** False if what is right is no syntactic head, but a case of an analysis. */
  syntactic?: boolean;
}

export type Verdict = "right" | "wrong" | null;

export interface Decision extends Task {
  guess: number | null;
  verdict: Verdict;
}

function span(start: number, end: number): number[] {
  return Array.from({ length: end - start + 1 }, (_, i) => start + i);
}

export function headOf(mention: Mention): number {
  return mention.head ?? mention.end;
}

/** The mention of a task, given its rows. */
export function partOf(sentence: SampledSentence, rows: number[]): Mention | undefined {
  const [start, end] = [Math.min(...rows), Math.max(...rows)];
  return sentence.mentions.find((mention) => headOf(mention) === rows[0] && mention.start === start && mention.end === end);
}

/** The words of the mention with a head word, of one of this entity if there is one; the word if it heads none. */
export function spanOf(sentence: SampledSentence, row: number, entity: string | undefined): [number, number] {
  const headed = sentence.mentions.filter((mention) => headOf(mention) === row);
  const named = headed.find((mention) => mention.entity === entity) ?? headed[0];
  return named ? [named.start, named.end + 1] : [row, row + 1];
}

/**
 * The mentions that have an antecedent in the input. As in the tables, mentions are in the order of the document, a
 * mention stands for its head word, and the antecedents are the earlier mentions of its entity that have another head
 * word. Of mentions with the same head word only the first has a guess. A question may have its answer after the mention.
 */
function coreference(sentence: SampledSentence): Task[] {
  const mentions = sentence.mentions.map((mention, position) => {
    const head = headOf(mention);
    const others = (list: Mention[]): Mention[] => list.filter((other) => other.entity === mention.entity && headOf(other) !== head);
    return { mention, head, earlier: others(sentence.mentions.slice(0, position)), later: others(sentence.mentions.slice(position + 1)) };
  });
  const asked = new Set(mentions.filter(({ earlier }) => earlier.length).map(({ head }) => head));
  const seen = new Set<number>();
  const result: Task[] = [];
  for (const { mention, head, earlier, later } of mentions) {
    const answers = earlier.length ? earlier : asked.has(head) ? [] : later;
    const [first] = answers;
    if (!first) continue;
    const distance = (other: Mention): number => Math.abs(headOf(other) - head);
    const nearest = answers.reduce((best, other) => (distance(other) < distance(best) ? other : best), first);
    result.push({
      rows: [head, ...span(mention.start, mention.end).filter((row) => row !== head)],
      targets: answers.map(headOf),
      gold: [headOf(nearest)],
      relation: COREFERENCE,
      judged: !seen.has(head),
      optional: !earlier.length,
    });
    seen.add(head);
  }
  return result;
}

/** The mention that a word is in: the one whose head word it is, or else the smallest one. */
export function mentionOf(sentence: SampledSentence, row: number): Mention | undefined {
  const around = sentence.mentions.filter(({ start, end }) => start <= row && row <= end).sort((a, b) => a.end - a.start - (b.end - b.start));
  return around.find((mention) => headOf(mention) === row) ?? around[0];
}

/** The words of a translation. Whether a word is linked to the right words cannot be judged without gold links. */
function alignment(sentence: SampledSentence): Task[] {
  if (sentence.columns === null) return [];
  const nowhere = columnsOf(sentence).special.flatMap((special, column) => (special ? [column] : []));
  return sentence.rows.flatMap((_, row) => {
    if (sentence.special[row]) return [];
    const links = sentence.links.filter((link) => link.row === row);
    const targets = links.map((link) => link.column);
    const sure = links.filter((link) => link.sure).map((link) => link.column);
    return [{ rows: [row], targets, gold: targets, relation: ALIGNMENT, judged: sentence.links.length > 0, sure, nowhere }];
  });
}

/** The cases that an analysis judges by gold of its own. */
function cases(sentence: SampledSentence, name: string | null): Task[] {
  const named = sentence.cases?.filter((each) => each.name === name) ?? [];
  return named.map(({ row, right }) => ({ rows: [row], targets: right, gold: right, relation: name ?? "", syntactic: false }));
}

/**
 * The decisions of a sentence that are of one relation, or of any dependency relation if it is null or "all"; about mentions
 * of one type, if it is not empty.
 */
export function tasks(sentence: SampledSentence, relation: string | null, type = ""): Task[] {
  if (relation === COREFERENCE) return coreference(sentence).filter(({ rows }) => !type || partOf(sentence, rows)?.type === type);
  if (relation === ALIGNMENT) return alignment(sentence);
  const result = cases(sentence, relation);
  sentence.heads.forEach((head, row) => {
    const name = sentence.relations[row] ?? null;
    if (head === null || !includes(relation, sentence, row)) return;
    const targets = head >= 0 ? [head] : [];
    result.push({ rows: [row], targets, gold: targets, relation: name ?? "" });
  });
  return result;
}

/** The syntactic head of each word, which can be judged where the sentence has a tree. */
export function wordTasks(sentence: SampledSentence): Task[] {
  return sentence.rows.flatMap((_, row) => {
    if (sentence.special[row]) return [];
    const head = sentence.heads[row] ?? -1;
    const targets = head >= 0 ? [head] : [];
    return [{ rows: [row], targets, gold: targets, relation: sentence.relations[row] ?? "", judged: head >= 0 }];
  });
}

/** What is asked of a sentence as it is drawn: its decisions, or where it has no annotation what is picked for each word. */
export function drawnTasks(sentence: SampledSentence, relation: string | null, type: string): Task[] {
  const { heads, mentions, links, cases } = sentence;
  const bare = sentence.columns === null && !mentions.length && !links.length && !cases?.length && heads.every((head) => head === null);
  return bare ? wordTasks(sentence) : tasks(sentence, relation, type);
}

/** Whether a word is punctuation, as its sentence or else its relation says. */
export function isPunctuation(sentence: SampledSentence, row: number): boolean {
  if (sentence.punctuation?.length) return sentence.punctuation[row] ?? false;
  return sentence.relations[row]?.split(":")[0]?.toLowerCase() === "punct";
}

/** Whether a word counts for a row of the tables: that of its relation, or one of the totals. */
function includes(wanted: string | null, sentence: SampledSentence, row: number): boolean {
  if (wanted === null || wanted === "all") return true;
  if (wanted === "all-nopunct") return !isPunctuation(sentence, row);
  if (wanted === "all-nopunct-noroot") return !isPunctuation(sentence, row) && sentence.heads[row] !== -1;
  return sentence.relations[row] === wanted;
}

/** Whether a direction can see one word from another; what a causal model cannot see is neither right nor wrong. */
export type Reach = (row: number, target: number) => boolean;

/** Judge what a head guesses for each task. Mentions without a guess were not scored. */
export function decide(list: Task[], guesses: Uint16Array | null, reach: Reach): Decision[] {
  return list.flatMap((task) => {
    const stored = guesses?.[task.rows[0] ?? -1] ?? NO_GUESS;
    if (stored === UNSURE) return [{ ...task, guess: null, verdict: null }];
    const guess = stored === NO_GUESS || (task.judged === false && task.relation === COREFERENCE) ? null : stored;
    if (guess === null && task.optional) return [];
    const [row = 0] = task.rows;
    const seen = !task.targets.length || task.targets.some((target) => reach(row, target));
    const scored = guesses !== null && seen && task.judged !== false && (guess !== null || task.relation !== COREFERENCE);
    const linked = guess !== null && !task.nowhere?.includes(guess);
    const right = linked ? task.targets.includes(guess) : task.sure?.length === 0;
    return [{ ...task, guess, verdict: scored ? (right ? "right" : "wrong") : null }];
  });
}

/**
 * The decision that a word is about. A head word has its own one, also within another mention, and of mentions with the
 * same head word the judged one counts. Another word has that of the head word of the smallest mention around it.
 */
export function decisionOf<T extends Task>(list: T[], row: number): T | undefined {
  const [around] = list.filter(({ rows }) => rows.includes(row)).sort((a, b) => a.rows.length - b.rows.length);
  const of = (word: number): T[] => list.filter(({ rows: [head] }) => head === word);
  const own = of(row).length ? of(row) : of(around?.rows[0] ?? -1);
  return own.find(({ judged }) => judged !== false) ?? own[0];
}

/** The verdict on each word that decisions are about. */
export function verdictsOf(decisions: Decision[]): Map<number, Verdict> {
  const asked = new Set(decisions.flatMap(({ rows }) => rows));
  return new Map([...asked].map((row) => [row, decisionOf(decisions, row)?.verdict ?? null]));
}

/** The relations that the sample has, with the number of decisions of each, the most frequent first. */
export function relationsOf(sentences: SampledSentence[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const sentence of sentences) {
    for (const relation of sentence.relations) {
      if (relation !== null) counts.set(relation, (counts.get(relation) ?? 0) + 1);
    }
    for (const { name } of sentence.cases ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
    for (const [name, list] of [
      [COREFERENCE, coreference(sentence).filter((task) => !task.optional)],
      [ALIGNMENT, alignment(sentence)],
    ] as const) {
      if (list.length) counts.set(name, (counts.get(name) ?? 0) + list.length);
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Sentences from as many documents as possible, those of few words first. */
export function ordered<T extends { sentence: SampledSentence }>(examples: T[]): T[] {
  const seen = new Map<string, number>();
  const short = [...examples].sort((a, b) => a.sentence.rows.length - b.sentence.rows.length);
  const turns = short.map((example) => {
    const document = example.sentence.document ?? `sentence ${example.sentence.id}`;
    const turn = seen.get(document) ?? 0;
    seen.set(document, turn + 1);
    return { example, turn };
  });
  return turns.sort((a, b) => a.turn - b.turn).map(({ example }) => example);
}
