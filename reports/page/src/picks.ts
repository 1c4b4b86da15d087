// What a head picks for a word instead of its syntactic head, named as in the tables (see analyses/dependency/picks.py).

import type { SampledSentence } from "./data";
import type { Decision } from "./tasks";
import { ALIGNMENT, COREFERENCE, isPunctuation } from "./tasks";

/** The kinds of wrong picks; the first one that applies counts. */
export const PICKS = ["punctuation", "dependent", "argument", "sibling", "grandparent", "neighbor", "other"] as const;
export type Pick = (typeof PICKS)[number];

/** What is shown of each kind. */
export const PICK_NAMES: Record<Pick, string> = {
  punctuation: "punctuation",
  dependent: "a dependent of the word",
  argument: "another argument of the verb",
  sibling: "a sibling",
  grandparent: "the head of its head",
  neighbor: "a neighbor",
  other: "another word",
};

const CORE = ["nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "dobj", "nsubjpass", "csubjpass"];

/** What the guess of a wrong decision about a syntactic head is to the word; null for other decisions. */
export function pickOf(sentence: SampledSentence, decision: Decision): Pick | null {
  const { guess, verdict, relation, syntactic } = decision;
  const [row] = decision.rows;
  if (verdict !== "wrong" || guess === null || row === undefined) return null;
  if (syntactic === false || relation === COREFERENCE || relation === ALIGNMENT) return null;
  const bare = sentence.relations[guess]?.split(":")[0]?.toLowerCase() ?? "";
  const head = sentence.heads[row] ?? -1;
  if (isPunctuation(sentence, guess)) return "punctuation";
  if (sentence.heads[guess] === row) return "dependent";
  if (head >= 0 && sentence.heads[guess] === head) {
    // Without parts of speech, any word may be the verb.
    const verb = !sentence.tags?.length || ["VERB", "AUX"].includes(sentence.tags[head] ?? "");
    return verb && CORE.includes(bare) ? "argument" : "sibling";
  }
  if (head >= 0 && sentence.heads[head] === guess) return "grandparent";
  const words = sentence.rows.map((_, index) => index).filter((index) => !sentence.special[index]);
  return Math.abs(words.indexOf(row) - words.indexOf(guess)) === 1 ? "neighbor" : "other";
}
