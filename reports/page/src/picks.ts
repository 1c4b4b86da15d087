// What a head picks for a word instead of its syntactic head, or for a mention instead of an antecedent, named as in the
// tables (see picks.py in analyses/dependency and analyses/coreference).

import type { SampledSentence } from "./data";
import type { Decision } from "./tasks";
import { ALIGNMENT, COREFERENCE, headOf, isPunctuation, partOf } from "./tasks";

/**
 * The kinds of wrong picks, those of words and those of mentions; the first one that applies counts. A page does not know
 * which mentions are candidates, so that a pick in a stored sentence is a "mention" where a server says more.
 */
export const PICKS = [
  ...(["punctuation", "dependent", "argument", "sibling", "grandparent", "neighbor", "other"] as const),
  ...(["same entity", "inside an antecedent", "inside the mention", "same head word", "nearest mention", "agreeing mention"] as const),
  ...(["other mention", "mention", "other word", "out of reach"] as const),
] as const;
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
  "same entity": "a later mention of the entity",
  "inside an antecedent": "another word of an antecedent",
  "inside the mention": "another word of the mention",
  "same head word": "a mention with the same head word",
  "nearest mention": "the nearest mention",
  "agreeing mention": "a mention that agrees",
  "other mention": "a mention that does not agree",
  mention: "another mention",
  "other word": "a word that heads no mention",
  "out of reach": "a word although no antecedent is seen",
};

const CORE = ["nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "dobj", "nsubjpass", "csubjpass"];

function pickOfMention(sentence: SampledSentence, { rows, targets }: Decision, guess: number): Pick {
  const [row = 0] = rows;
  const form = (word: number): string => (sentence.rows[word] ?? "").toLowerCase();
  const entity = partOf(sentence, rows)?.entity;
  const headed = sentence.mentions.filter((mention) => headOf(mention) === guess);
  const antecedents = sentence.mentions.filter((mention) => mention.entity === entity && targets.includes(headOf(mention)));
  if (headed.some((mention) => mention.entity === entity)) return "same entity";
  if (antecedents.some(({ start, end }) => start <= guess && guess <= end)) return "inside an antecedent";
  if (rows.includes(guess)) return "inside the mention";
  if (!headed.length) return "other word";
  return form(guess) === form(row) ? "same head word" : "mention";
}

/** What the guess of a wrong decision about a syntactic head or an antecedent is to the word; null for other decisions. */
export function pickOf(sentence: SampledSentence, decision: Decision): Pick | null {
  const { guess, verdict, relation, syntactic } = decision;
  const [row] = decision.rows;
  if (verdict !== "wrong" || guess === null || row === undefined) return null;
  if (relation === COREFERENCE) return pickOfMention(sentence, decision, guess);
  if (syntactic === false || relation === ALIGNMENT) return null;
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
