// Searching sentences: a word or a part of one, a /regular expression/, a relation as "relation:obj",
// or a part of speech as "tag:VERB".

import type { SampledSentence } from "./data";
import { columnsOf, rowsOf, runningText } from "./data";

export type Search = (sentence: SampledSentence) => boolean;

/** The search that a text describes; null if it is no valid regular expression. */
export function search(text: string): Search | null {
  const wanted = text.trim();
  if (!wanted) return () => true;
  const relation = /^relation:(.+)$/.exec(wanted)?.[1]?.trim();
  if (relation !== undefined) return (sentence) => sentence.relations.includes(relation);
  const tag = /^tag:(.+)$/.exec(wanted)?.[1]?.trim();
  if (tag !== undefined) return (sentence) => sentence.tags?.includes(tag) ?? false;
  const pattern = /^\/(.+)\/$/.exec(wanted)?.[1];
  if (pattern !== undefined) {
    try {
      const expression = new RegExp(pattern, "iu");
      return (sentence) => expression.test(textOf(sentence));
    } catch {
      return null;
    }
  }
  const lower = wanted.toLowerCase();
  return (sentence) => textOf(sentence).toLowerCase().includes(lower);
}

/** The text of a sentence, and that of its translation. */
function textOf(sentence: SampledSentence): string {
  const sides = sentence.columns === null ? [rowsOf(sentence)] : [rowsOf(sentence), columnsOf(sentence)];
  return sides.map((side) => runningText(side)).join(" ");
}
