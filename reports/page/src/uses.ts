// Uses of a head: one for each word that is asked, with what the head picks for it. They are made of the stored sentences,
// or come from a server that reads the whole corpus, see served.ts.

import type { Explorer, SampledSentence, Side } from "./data";
import { columnsOf, rowsOf, runningText, storedHead } from "./data";
import { together } from "./ensembles";
import type { HeadMap, Maps } from "./inflate";
import { valueAt } from "./inflate";
import type { Question, Shown } from "./judging";
import { examples, reversed } from "./judging";
import { pickOf } from "./picks";
import { search, wantedBy } from "./search";
import type { Sort } from "./sorting";
import type { Decision } from "./tasks";
import { COREFERENCE, partOf, spanOf } from "./tasks";

/** A row of the concordance. Its names are those of the rows that a server sends. Words are counted from 0. */
export interface Use {
  /** The id of the sentence, the word, and the row of the word in the maps, which also have rows of special tokens. */
  sentence: string;
  word: number;
  row: number;
  left: string;
  form: string;
  right: string;
  picked: string | null;
  picked_index: number | null;
  gold: string | null;
  gold_index: number | null;
  weight: number | null;
  gold_weight: number | null;
  /** From the word to what is picked, in words: +1 is the next word. */
  distance: number | null;
  /** The part of speech, or the type of a mention. */
  tag: string | null;
  relation: string | null;
  verdict: "right" | "wrong" | null;
  /** The kind of a wrong pick, such as "sibling"; empty for other rows. */
  mistake: string;
}

/** How much has been read, such as 12 of 157 sentences. */
export interface Progress {
  read: number;
  of: number;
}

export type Give = (rows: Use[], progress: Progress) => void;

/** Where uses come from. They are given as they are read, in the order of the corpus or of the sample. */
export interface UseSource {
  read(question: Question, give: Give, signal: AbortSignal): Promise<void>;
}

/** What tells a row from others. Two mentions may have the same head word. */
export function keyOf(use: Use): string {
  return `${use.sentence} ${use.word}${use.relation === COREFERENCE ? ` ${use.form}` : ""}`;
}

/** The number of a word among the words of a side, given its row or column; null for a special token. */
function wordAt({ special }: Side, index: number | null): number | null {
  return index === null || special[index] ? null : special.slice(0, index).filter((each) => !each).length;
}

/** A part of a side of a sentence as running text. */
function part(side: Side, from: number, to: number): string {
  const joined = side.joined.filter((i) => i >= from && i < to).map((i) => i - from);
  return runningText({ ...side, words: side.words.slice(from, to), special: side.special.slice(from, to), joined });
}

/** The value on which a pick rests: in a map that is read in one direction, or of both cells together. */
function weightOf(map: HeadMap | null, direction: string | null, row: number, target: number | null): number | null {
  if (!map || target === null) return null;
  if (direction === "both") return valueAt(map, row, target) + valueAt(map, target, row);
  return reversed(direction) ? valueAt(map, target, row) : valueAt(map, row, target);
}

/** What a head decides about a word, as a row. */
export function useOf(sentence: SampledSentence, decision: Decision, map: HeadMap | null, direction: string | null): Use {
  const { rows, guess, gold, verdict, relation } = decision;
  const [row = 0] = rows;
  const [side, targets] = [rowsOf(sentence), columnsOf(sentence)];
  const start = Math.min(...rows);
  const end = Math.max(...rows) + 1;
  const [right = null] = gold;
  const judged = decision.judged !== false && right !== null;
  const mention = relation === COREFERENCE ? partOf(sentence, rows) : undefined;
  const named = (index: number | null): string | null => {
    if (index === null) return null;
    return relation === COREFERENCE ? part(targets, ...spanOf(sentence, index, mention?.entity)) : (targets.words[index] ?? null);
  };
  const own = sentence.columns === null; // the words of a translation are at no distance from those of the source
  const [word, pick] = [wordAt(side, row) ?? row, wordAt(targets, guess)];
  return {
    sentence: sentence.id,
    word,
    row,
    left: part(side, 0, start),
    form: part(side, start, end),
    right: part(side, end, side.words.length),
    picked: named(guess),
    picked_index: pick,
    gold: judged ? named(right) : null,
    gold_index: judged ? wordAt(targets, right) : null,
    weight: weightOf(map, direction, row, guess),
    gold_weight: judged ? weightOf(map, direction, row, right) : null,
    distance: pick === null || !own ? null : pick - word,
    tag: mention?.type ?? sentence.tags?.[row] ?? null,
    relation,
    verdict,
    mistake: pickOf(sentence, decision) ?? "",
  };
}

/** The uses in the stored sentences. */
export function storedUses(data: Explorer, maps: Maps): UseSource {
  return {
    async read(question, give, signal) {
      const list = await examples(data, maps, question);
      const { head, kind, direction, ensemble } = question;
      for (const [i, { sentence, decisions }] of list.entries()) {
        const map = ensemble
          ? ((await together(data, maps, sentence, ensemble))?.map ?? null)
          : await maps.head(sentence, kind, storedHead(head, kind, data));
        if (signal.aborted) return;
        const read = ensemble ? "dep->head" : direction; // heads of an ensemble are averaged as words attend to their heads
        give(decisions.map((decision) => useOf(sentence, decision, map, read)), { read: i + 1, of: list.length });
      }
      if (!list.length) give([], { read: 0, of: 0 });
    },
  };
}

/** What is listed. */
export interface Filter {
  show: Shown;
  search: string;
  tag: string;
  /** Whose distance counts, and which distances: such as "picked 2-3" or "gold 7-"; empty for any. */
  distance: string;
}

function far(filter: string, use: Use): boolean {
  const [whose, wanted = ""] = filter.split(" ");
  const index = whose === "gold" ? use.gold_index : use.picked_index;
  if (index === null) return false;
  const distance = index - use.word;
  if (wanted === "before") return distance < 0;
  if (wanted === "after") return distance > 0;
  const [least = 1, most] = wanted.split("-").map((text) => (text ? Number(text) : Infinity));
  return Math.abs(distance) >= least && Math.abs(distance) <= (most ?? least);
}

/** Whether a row has what a text looks for, see search.ts; null if it is no valid regular expression. */
export function searching(text: string): ((use: Use) => boolean) | null {
  const wanted = wantedBy(text);
  if (!wanted) return null;
  const { relation, tag, matches } = wanted;
  return (use) =>
    (relation === null || use.relation === relation) && (tag === null || use.tag === tag) && matches([use.left, use.form, use.right].filter(Boolean).join(" "));
}

/** The rows that a filter keeps. Sentences that are stored are searched as a whole, with their translations. */
export function kept(rows: Use[], filter: Filter, stored: ReadonlyMap<string, SampledSentence> = new Map()): Use[] {
  const [inSentence, inRow] = [search(filter.search), searching(filter.search)];
  const { show, tag, distance } = filter;
  const mistake = show.startsWith("wrong:") ? show.slice(6) : null;
  const found = (use: Use): boolean => {
    const sentence = stored.get(use.sentence);
    return (sentence ? inSentence?.(sentence, use.row) : inRow?.(use)) ?? true;
  };
  return rows.filter(
    (use) =>
      (show === "all" || (mistake === null ? use.verdict === show : use.mistake === mistake)) && (!tag || use.tag === tag) && (!distance || far(distance, use)) && found(use),
  );
}

// Letters are compared without accents and case; a comparison of the locale would take seconds for many rows.
function plain(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

const EMPTY = "\uffff"; // what has no context comes last

const KEYS: Record<Exclude<Sort, "documents" | "disagreement">, (use: Use, sentence: SampledSentence | undefined) => number | string> = {
  length: (use, sentence) => sentence?.special.filter((special) => !special).length ?? [use.left, use.form, use.right].join(" ").split(/\s+/).length,
  weight: (use) => -(use.weight ?? -1),
  distance: (use) => (use.distance === null ? Infinity : Math.abs(use.distance) + (use.distance < 0 ? 0 : 0.5)),
  left: (use) => plain(use.left).split(" ").reverse().join(" ") || EMPTY,
  right: (use) => plain(use.right) || EMPTY,
};

/** Rows in an order, those that are equal in it as they were; `differing` are the keys of rows that disagree. */
export function arranged(rows: Use[], sort: Sort, differing: Set<string> | null = null, stored: ReadonlyMap<string, SampledSentence> = new Map()): Use[] {
  if (sort === "documents") return rows;
  const key = sort === "disagreement" ? (use: Use): number => (differing?.has(keyOf(use)) ? 0 : 1) : KEYS[sort];
  const keyed = rows.map((use) => ({ use, key: key(use, stored.get(use.sentence)) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ use }) => use);
}

/** The rows in which two heads or maps pick different words. */
export function disagreeing(rows: Use[], others: Use[]): Set<string> {
  const picks = new Map(others.map((use) => [keyOf(use), use]));
  return new Set(
    rows.flatMap((use) => {
      const other = picks.get(keyOf(use));
      const differs = other && (other.picked_index !== use.picked_index || other.picked !== use.picked);
      return differs && other.picked !== null && use.picked !== null ? [keyOf(use)] : [];
    }),
  );
}

const COLUMNS = ["sentence", "word", "left", "form", "right", "picked", "gold", "weight", "gold_weight", "distance", "tag", "relation", "verdict", "mistake"] as const;

/** Rows as they are saved. The columns about gold are left out if nothing is judged; words are counted from 1. */
export function tableOf(rows: Use[]): (string | number | null)[][] {
  const judged = rows.some((use) => use.verdict !== null || use.gold !== null);
  const columns = COLUMNS.filter((name) => judged || !["gold", "gold_weight", "verdict", "mistake"].includes(name));
  return [[...columns], ...rows.map((use) => columns.map((name) => (name === "word" ? use.word + 1 : use[name])))];
}
