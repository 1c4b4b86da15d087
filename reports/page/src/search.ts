// Searching sentences and uses: a word or a part of one, a /regular expression/, a relation as "relation:obj", or a part of
// speech as "tag:VERB".

import type { SampledSentence } from "./data";
import { columnsOf, rowsOf, runningText } from "./data";

/** Whether a sentence is found, or a word of it: the relation and the part of speech are then those of the word. */
export type Search = (sentence: SampledSentence, row?: number) => boolean;

/** What a search looks for. */
export interface Wanted {
  relation: string | null;
  tag: string | null;
  matches: (text: string) => boolean;
}

/** What a text looks for; null if it is no valid regular expression. */
export function wantedBy(text: string): Wanted | null {
  const wanted = text.trim();
  const relation = /^relation:(.+)$/.exec(wanted)?.[1]?.trim() ?? null;
  const tag = /^tag:(.+)$/.exec(wanted)?.[1]?.trim() ?? null;
  if (!wanted || relation !== null || tag !== null) return { relation, tag, matches: () => true };
  const pattern = /^\/(.+)\/$/.exec(wanted)?.[1];
  if (pattern !== undefined) {
    try {
      const expression = new RegExp(pattern, "iu");
      return { relation, tag, matches: (line) => expression.test(line) };
    } catch {
      return null;
    }
  }
  const lower = wanted.toLowerCase();
  return { relation, tag, matches: (line) => line.toLowerCase().includes(lower) };
}

/** The search that a text describes; null if it is no valid regular expression. */
export function search(text: string): Search | null {
  const wanted = wantedBy(text);
  if (!wanted) return null;
  const { relation, tag, matches } = wanted;
  const has = (names: (string | null)[], name: string | null, row: number | undefined): boolean =>
    name === null || (row === undefined ? names.includes(name) : names[row] === name);
  return (sentence, row) => has(sentence.relations, relation, row) && has(sentence.tags ?? [], tag, row) && matches(textOf(sentence));
}

/** The text of a sentence, and that of its translation. */
function textOf(sentence: SampledSentence): string {
  const sides = sentence.columns === null ? [rowsOf(sentence)] : [rowsOf(sentence), columnsOf(sentence)];
  return sides.map((side) => runningText(side)).join(" ");
}
