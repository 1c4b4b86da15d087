// What accuracies of heads are read beside: marks on one axis, and the best head of each layer.

import type { Explorer, Measure, Reference } from "./data";
import type { View } from "./view";

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
