// Ensembles: heads whose maps are averaged, because they find a relation together. A head that is read from the head of
// a relation to its dependent is transposed before, and of one that is read both ways both cells are added up.

import type { Ensemble, Explorer, SampledSentence } from "./data";
import { headIndex } from "./data";
import type { HeadMap, Maps } from "./inflate";
import { NO_GUESS, UNSURE, valueAt } from "./inflate";
import { sharedAmongWords } from "./scales";

const ARROWS: Record<string, string> = { "head->dep": "←", both: "↔" };

/** The ensemble for a relation and a kind of map, if one was chosen. */
export function ensembleOf(data: Explorer, relation: string | null, kind: string): Ensemble | undefined {
  return data.ensembles?.find((item) => item.relation === relation && item.kind === kind);
}

/** Its heads as the tables write them, such as "3-9 + 4-2←". */
export function ensembleName(ensemble: Ensemble): string {
  return ensemble.heads.map(({ head, direction }) => head + (ARROWS[direction] ?? "")).join(" + ");
}

/** The average of maps, in which words attend to their heads. */
export function averaged(read: { map: HeadMap; direction: string }[]): HeadMap | null {
  const [first] = read;
  if (!first) return null;
  const { rows, columns } = first.map;
  const values = new Float32Array(rows * columns);
  for (const { map, direction } of read) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const there = direction === "head->dep" ? 0 : valueAt(map, row, column);
        const back = direction === "dep->head" ? 0 : valueAt(map, column, row);
        values[row * columns + column] = (values[row * columns + column] ?? 0) + (there + back) / read.length;
      }
    }
  }
  const mean = (number: (item: (typeof read)[number]) => number): number => read.reduce((sum, item) => sum + number(item), 0) / read.length;
  const step = mean(({ map, direction }) => map.step * (direction === "both" ? 2 : 1));
  return { values, rows, columns, scale: mean(({ map }) => map.scale), step };
}

/**
 * The other word that gets most from each word. Values are rounded, by half a step at most: where two words are closer
 * than a step, the exact values may say otherwise, so that neither is the guess.
 */
export function mostAttended(map: HeadMap, special: boolean[]): Uint16Array {
  return Uint16Array.from({ length: map.rows }, (_, row) => {
    const others = special.flatMap((isSpecial, column) => (isSpecial || column === row ? [] : [column]));
    const [best, second] = others.sort((a, b) => valueAt(map, row, b) - valueAt(map, row, a));
    if (special[row] || best === undefined) return NO_GUESS;
    const margin = second === undefined ? Infinity : valueAt(map, row, best) - valueAt(map, row, second);
    return margin > 1.0001 * map.step ? best : UNSURE;
  });
}

/** The averaged map of an ensemble in a sentence and its guesses, or null if maps of its heads are not stored. */
export async function together(
  data: Explorer,
  maps: Maps,
  sentence: SampledSentence,
  ensemble: Ensemble,
): Promise<{ map: HeadMap; guesses: Uint16Array } | null> {
  const read: { map: HeadMap; direction: string }[] = [];
  for (const { head, direction } of ensemble.heads) {
    const map = await maps.head(sentence, ensemble.kind, headIndex(head, data) ?? -1);
    if (!map) return null;
    read.push({ map: ensemble.divided ? sharedAmongWords(map, sentence.special) : map, direction });
  }
  const map = averaged(read);
  return map && { map, guesses: mostAttended(map, sentence.special) };
}
