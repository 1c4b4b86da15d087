// Which words of two texts correspond: those of their longest common subsequence.

import type { SampledSentence } from "./data";
import type { Decision } from "./tasks";

/** For each word of a text, the same word of another one in their longest common subsequence; null if it has none. */
export function common(one: string[], other: string[]): (number | null)[] {
  // lengths[i][j] is that of the words from i and from j on.
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = one.length - 1; i >= 0; i--) {
    const row = lengths[i] as Uint16Array;
    for (let j = other.length - 1; j >= 0; j--) row[j] = one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const result: (number | null)[] = one.map(() => null);
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (one[i] === other[j]) result[i++] = j++;
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return result;
}

/** The same, and where as many words of both texts lie between common ones, they correspond in their order. */
export function linked(one: string[], other: string[]): (number | null)[] {
  const result = common(one, other);
  let [i, j] = [0, 0];
  for (const end of [...result.keys(), one.length]) {
    const next = end === one.length ? other.length : (result[end] ?? null);
    if (next === null) continue;
    if (end - i === next - j) for (let k = i; k < end; k++) result[k] = j + k - i;
    [i, j] = [end + 1, next + 1];
  }
  return result;
}

/** Which rows and columns of two sentences correspond, from the first one to the second one. */
export interface Links {
  rows: (number | null)[];
  columns: (number | null)[];
}

export function linksOf(one: Tokens, other: Tokens, link: typeof common): Links {
  const rows = link(one.rows, other.rows);
  return { rows, columns: one.columns === null && other.columns === null ? rows : link(one.columns ?? one.rows, other.columns ?? other.rows) };
}

/** The words of a sentence as a model reads them. */
export interface Tokens {
  rows: string[];
  /** Null if the columns are the rows. */
  columns: string[] | null;
}

const MASK = "[mask]"; // whatever word is masked, the model reads the same

/** What a model reads of a sentence with masked words, or of a pair. */
export function tokensOf(sentence: SampledSentence, masked: number[] = []): Tokens {
  return { rows: sentence.rows.map((word, row) => (masked.includes(row) ? MASK : word)), columns: sentence.columns };
}

/** Links from the second sentence to the first one, of which there are `n`. */
export function inverse(links: (number | null)[], n: number): (number | null)[] {
  const result: (number | null)[] = Array.from({ length: n }, () => null);
  links.forEach((target, i) => {
    if (target !== null) result[target] = i;
  });
  return result;
}

/** The words of a text, each with the one that stands for it in another text, if this is another word. */
export function paired(one: string[], other: string[], links: (number | null)[]): string[] {
  return one.map((word, i) => {
    const twin = other[links[i] ?? -1];
    return twin === undefined || twin === word ? word : `${word} / ${twin}`;
  });
}

/** A word for which A and B pick words that do not correspond. */
export interface Differing {
  row: number;
  picks: [number, number];
}

/** The words for which A and B pick different words, and of how many words both have a pick. */
export function differing(one: Picked[], other: Picked[], links: Links): { of: number; rows: Differing[] } {
  const picks = new Map(other.map(({ rows: [row = -1], guess }) => [row, guess]));
  const compared = one.flatMap(({ rows: [row = -1], guess }) => {
    const theirs = picks.get(links.rows[row] ?? -1) ?? null;
    return guess === null || theirs === null ? [] : [{ row, picks: [guess, theirs] as [number, number] }];
  });
  return { of: compared.length, rows: compared.filter(({ picks: [own, theirs] }) => links.columns[own] !== theirs) };
}

export type Picked = Pick<Decision, "rows" | "guess">;
