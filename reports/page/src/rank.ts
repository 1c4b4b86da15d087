// The position of a head among all heads.

import { better } from "./question";
import type { Measure } from "./data";

/** The position of a head among all heads, from 1, counting from the best value. Equal heads share a position. */
export function rank(measure: Measure, head: number): { position: number; of: number; equal: number } | null {
  const value = measure.values[head] ?? null;
  if (value === null) return null;
  const defined = measure.values.filter((other) => other !== null);
  const equal = defined.filter((other) => other === value).length;
  return { position: defined.filter((other) => better(measure, other, value)).length + 1, of: defined.length, equal };
}
