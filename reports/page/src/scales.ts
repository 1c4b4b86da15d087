// The values that are drawn: as they are, or shared among the words; and one scale for all drawings of a kind of map.

import type { HeadMap } from "./inflate";
import { valueAt } from "./inflate";

/** A map in which each row is divided by what it gives to words, so that special tokens get nothing. Rounding grows alike. */
export function sharedAmongWords(map: HeadMap, special: boolean[]): HeadMap {
  const values = new Float32Array(map.values.length);
  let least = 1;
  for (let row = 0; row < map.rows; row++) {
    let total = 0;
    for (let column = 0; column < map.columns; column++) total += special[column] ? 0 : valueAt(map, row, column);
    if (total <= 0) continue;
    if (!special[row]) least = Math.min(least, total);
    for (let column = 0; column < map.columns; column++) {
      if (!special[column]) values[row * map.columns + column] = valueAt(map, row, column) / total;
    }
  }
  return { ...map, values, scale: 1, step: map.step / least };
}

/** What one map has more than another one, and what it has less, on a scale for the cells that are shown. */
export function difference(first: HeadMap, second: HeadMap, shown: (row: number, column: number) => boolean): { above: HeadMap; below: HeadMap } {
  const visible = (i: number): boolean => shown(Math.floor(i / first.columns), i % first.columns);
  const values = first.values.map((value, i) => (visible(i) ? value - (second.values[i] ?? 0) : 0));
  const scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const side = (sign: 1 | -1): HeadMap => ({ ...first, values: values.map((value) => Math.max(0, sign * value)), scale });
  return { above: side(1), below: side(-1) };
}

/** A map as one of another text: what it has at the rows and columns that correspond to those of the text, and 0 elsewhere. */
export function aligned(map: HeadMap, rows: (number | null)[], columns: (number | null)[]): HeadMap {
  const values = new Float32Array(rows.length * columns.length);
  rows.forEach((row, y) =>
    columns.forEach((column, x) => {
      if (row !== null && column !== null) values[y * columns.length + x] = valueAt(map, row, column);
    }),
  );
  return { ...map, values, rows: rows.length, columns: columns.length };
}

/** The value that is drawn at full strength in all of some maps: 1 for shares, and else the largest value in them. */
export function commonScale(maps: HeadMap[], shares: boolean): number {
  if (shares) return 1;
  return Math.max(...maps.map((map) => map.values.reduce((most, value) => Math.max(most, value), 0)), 0) || 1;
}
