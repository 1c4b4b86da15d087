// The order of sentences, and of the rows of the concordance, see uses.ts.

import type { Explorer } from "./data";
import { storedHead } from "./data";
import type { Maps } from "./inflate";
import { valueAt } from "./inflate";
import type { Example, Question } from "./judging";
import { examples, reversed } from "./judging";

export const SORTS = ["documents", "length", "weight", "distance", "left", "right", "disagreement"] as const;
export type Sort = (typeof SORTS)[number];

export const SORT_NAMES: Record<Sort, string> = {
  documents: "each document in turn",
  length: "length",
  weight: "weight of the pick",
  distance: "distance",
  left: "context before",
  right: "context after",
  disagreement: "disagreement of two heads or maps",
};

function words({ sentence }: Example): number {
  return sentence.special.filter((special) => !special).length;
}

/** The mean value on which the guesses of a sentence rest. */
async function weight({ sentence, decisions }: Example, data: Explorer, maps: Maps, { head, kind, direction }: Question): Promise<number> {
  const map = await maps.head(sentence, kind, storedHead(head, kind, data));
  const values = decisions.flatMap(({ guess, rows: [row = 0] }) => {
    if (!map || guess === null) return [];
    if (direction === "both") return [valueAt(map, row, guess) + valueAt(map, guess, row)];
    return [reversed(direction) ? valueAt(map, guess, row) : valueAt(map, row, guess)];
  });
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0;
}

/** The share of decisions in which two heads or maps guess different words. */
export function disagreement(first: Example, second: Example | undefined): number {
  const others = new Map(second?.decisions.map(({ rows, guess }) => [rows[0], guess]));
  const pairs = first.decisions.filter(({ rows, guess }) => guess !== null && others.get(rows[0]) !== undefined && others.get(rows[0]) !== null);
  return pairs.length ? pairs.filter(({ rows, guess }) => others.get(rows[0]) !== guess).length / pairs.length : 0;
}

const OF_SENTENCES: Sort[] = ["length", "weight", "disagreement"]; // other orders are those of words

/** The examples in another order: the shortest first, or those with the largest weight or disagreement. */
export async function sorted(
  list: Example[],
  sort: Sort,
  data: Explorer,
  maps: Maps,
  question: Question,
  other: Question | null,
): Promise<Example[]> {
  if (!OF_SENTENCES.includes(sort)) return list;
  const keys = new Map<Example, number>();
  const second = sort === "disagreement" && other ? await examples(data, maps, other) : [];
  const bySentence = new Map(second.map((example) => [example.sentence, example]));
  for (const example of list) {
    if (sort === "length") keys.set(example, -words(example));
    else if (sort === "weight") keys.set(example, await weight(example, data, maps, question));
    else keys.set(example, disagreement(example, bySentence.get(example.sentence)));
  }
  return [...list].sort((a, b) => (keys.get(b) ?? 0) - (keys.get(a) ?? 0));
}
