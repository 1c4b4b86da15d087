// What accuracies of heads are read beside: marks on one axis, and the best head of each layer. The names are those of
// reports/explorer/references.py.

import type { View } from "./address";
import type { Explorer, Measure } from "./data";

/** A value to compare the accuracy of a head with; null if it was not counted, which its note says. */
export interface Mark {
  role: "heldout" | "position" | "rule" | "random";
  label: string;
  value: number | null;
  low: number | null;
  high: number | null;
  note: string;
}

/** The best head of each layer, chosen on one half of the text and scored on the other. */
export interface LayerCurve {
  values: (number | null)[];
  low: (number | null)[] | null;
  high: (number | null)[] | null;
  random: (number | null)[] | null;
}

export interface Reference {
  id: string;
  label: string;
  marks: Mark[];
  layers: LayerCurve | null;
  /** The id of a reference whose layers are drawn beside these; empty for none. */
  beside: string;
}

export function referenceOf(data: Explorer, measure: Measure | undefined): Reference | undefined {
  return measure?.reference ? data.references?.find((item) => item.id === measure.reference) : undefined;
}

/** The measures of one question: of the same relation, direction and kind of map, such as the accuracy and gains. */
export function siblings(data: Explorer, measure: Measure): Measure[] {
  if (!measure.reference) return [];
  return data.measures.filter((item) => item.reference === measure.reference && item.direction === measure.direction);
}

/** The accuracy for what is asked of heads: for the question of the matrix, or else for that of the sentences. */
export function askedAccuracy(data: Explorer, view: View): Measure | undefined {
  const shown = data.measures.find((item) => item.id === view.measure);
  if (shown?.reference) return siblings(data, shown).find((item) => item.center === null);
  return data.measures.find(
    (item) =>
      item.reference && item.center === null && item.relation === view.relation && item.direction === view.direction && item.kind === view.slots[0].kind,
  );
}

const SHORT: Record<string, string> = { accuracy: "accuracy", gain: "− best offset", over_rule: "− best rule" };

/** What a measure of a question is called beside the others of the same question. */
export function shortName(measure: Measure): string {
  const column = measure.id.split("/").find((part) => part in SHORT) ?? "";
  return SHORT[column] ?? measure.group;
}
