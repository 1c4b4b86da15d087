// The values that are drawn: as they are, or shared among the words; and one scale for all drawings of a kind of map.

import type { HeadMap } from "./inflate";
import { valueAt } from "./inflate";

/** A map in which each row is divided by what it gives to words, so that special tokens get nothing. */
export function sharedAmongWords(map: HeadMap, special: boolean[]): HeadMap {
  const values = new Float32Array(map.values.length);
  for (let row = 0; row < map.rows; row++) {
    let total = 0;
    for (let column = 0; column < map.columns; column++) total += special[column] ? 0 : valueAt(map, row, column);
    if (total <= 0) continue;
    for (let column = 0; column < map.columns; column++) {
      if (!special[column]) values[row * map.columns + column] = valueAt(map, row, column) / total;
    }
  }
  return { ...map, values, scale: 1 };
}

/** The value that is drawn at full strength in all of some maps: 1 for shares, and else the largest value in them. */
export function commonScale(maps: HeadMap[], shares: boolean): number {
  if (shares) return 1;
  return Math.max(...maps.map((map) => map.values.reduce((most, value) => Math.max(most, value), 0)), 0) || 1;
}
