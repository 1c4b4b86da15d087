// What a sentence asks of a head: the decisions that its annotation can judge.

import type { Mention, SampledSentence } from "./data";
import { NO_GUESS } from "./inflate";

export const COREFERENCE = "coreference";
export const ALIGNMENT = "alignment";

/** One decision: what a head guesses for a word, and what would be right. */
export interface Task {
  /** The word first; of a mention, then its other words. */
  rows: number[];
  /** Right answers. A root has none, because no word is its head. */
  targets: number[];
  /** What is drawn as the right answer: the first of the targets, or the nearest of them. */
  gold: number[];
  relation: string;
  /** False if the annotation has no right answer, so that a guess is neither right nor wrong. */
  judged?: boolean;
}

export type Verdict = "right" | "wrong" | null;

export interface Decision extends Task {
  guess: number | null;
  verdict: Verdict;
}

function span(start: number, end: number): number[] {
  return Array.from({ length: end - start + 1 }, (_, i) => start + i);
}

function headOf(mention: Mention): number {
  return mention.head ?? mention.end;
}

function coreference(sentence: SampledSentence): Task[] {
  const result: Task[] = [];
  for (const mention of sentence.mentions) {
    const earlier = sentence.mentions.filter((other) => other.entity === mention.entity && other.end < mention.start);
    const nearest = earlier.reduce((best, other) => (other.end > best.end ? other : best), earlier[0] ?? mention);
    if (!earlier.length) continue;
    result.push({
      rows: [headOf(mention), ...span(mention.start, mention.end).filter((row) => row !== headOf(mention))],
      targets: earlier.flatMap((other) => span(other.start, other.end)),
      gold: [headOf(nearest)],
      relation: COREFERENCE,
    });
  }
  return result;
}

function alignment(sentence: SampledSentence): Task[] {
  const rows = [...new Set(sentence.links.map((link) => link.row))];
  return rows.map((row) => {
    const targets = sentence.links.filter((link) => link.row === row).map((link) => link.column);
    return { rows: [row], targets, gold: targets, relation: ALIGNMENT };
  });
}

/** The decisions of a sentence that are of one relation, or of any dependency relation if it is null or "all". */
export function tasks(sentence: SampledSentence, relation: string | null): Task[] {
  if (relation === COREFERENCE) return coreference(sentence);
  if (relation === ALIGNMENT) return alignment(sentence);
  const result: Task[] = [];
  sentence.heads.forEach((head, row) => {
    const name = sentence.relations[row] ?? null;
    if (head === null || !includes(relation, name)) return;
    const targets = head >= 0 ? [head] : [];
    result.push({ rows: [row], targets, gold: targets, relation: name ?? "" });
  });
  return result;
}

/** What each word attends to most, which can be judged where the sentence has a tree. */
export function wordTasks(sentence: SampledSentence): Task[] {
  return sentence.rows.flatMap((_, row) => {
    if (sentence.special[row]) return [];
    const head = sentence.heads[row] ?? -1;
    const targets = head >= 0 ? [head] : [];
    return [{ rows: [row], targets, gold: targets, relation: sentence.relations[row] ?? "", judged: head >= 0 }];
  });
}

/** Whether words of a relation count for a row of the tables: itself, or one of the totals. */
function includes(wanted: string | null, relation: string | null): boolean {
  if (wanted === null || wanted === "all") return true;
  const bare = relation?.split(":")[0]?.toLowerCase();
  if (wanted === "all-nopunct") return bare !== "punct";
  if (wanted === "all-nopunct-noroot") return bare !== "punct" && bare !== "root";
  return relation === wanted;
}

/** Judge what a head guesses for each task. */
export function decide(list: Task[], guesses: Uint16Array | null): Decision[] {
  return list.map((task) => {
    const guess = task.rows.map((row) => guesses?.[row] ?? NO_GUESS).find((word) => word !== NO_GUESS) ?? null;
    const verdict = guesses === null || task.judged === false ? null : guess !== null && task.targets.includes(guess) ? "right" : "wrong";
    return { ...task, guess, verdict };
  });
}

/** The relations that the sample has, with the number of decisions of each, the most frequent first. */
export function relationsOf(sentences: SampledSentence[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const sentence of sentences) {
    for (const relation of sentence.relations) {
      if (relation !== null) counts.set(relation, (counts.get(relation) ?? 0) + 1);
    }
    for (const [name, list] of [
      [COREFERENCE, coreference(sentence)],
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
