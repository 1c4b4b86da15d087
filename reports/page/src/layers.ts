// What the heads of a layer have in common: their mean and their best value.

import { better } from "./question";
import type { Measure } from "./data";

/** The mean and the best value of a layer, of the heads that have one. */
export function ofLayer(measure: Measure, heads: number, layer: number): { mean: number; best: number } | null {
  const values = measure.values.slice(layer * heads, (layer + 1) * heads).filter((value) => value !== null);
  const [first] = values;
  if (first === undefined || measure.categories) return null;
  const best = values.reduce((record, value) => (better(measure, value, record) ? value : record), first);
  return { mean: values.reduce((sum, value) => sum + value, 0) / values.length, best };
}
