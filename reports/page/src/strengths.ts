// What the card of a head says: the measures that its facts are about, with the value of the head in each of them.

import type { Card, Explorer, Fact, Measure } from "./data";
import { bare, interval, percent, withUnit } from "./format";
import { rank } from "./rank";
import type { View } from "./view";
import { kindsIn } from "./view";

/** One line of a card. Without a measure it is words alone. */
export interface Strength {
  label: string;
  measure: Measure | null;
  text: string;
  /** What Python says about it in words. */
  words: string;
}

const SEVERAL = 3; // measures of a group that are compared with each other
const MOST = 4; // of them that are named, the largest first

/** The measures of the group and kind of a measure that is not about a relation, if they are shares of one whole. */
function alternatives(data: Explorer, measure: Measure): Measure[] {
  if (measure.relation !== null || measure.unit !== "%" || measure.center !== null) return [measure];
  const all = data.measures.filter((other) => other.group === measure.group && other.kind === measure.kind && other.unit === "%");
  return all.length < SEVERAL ? [measure] : all;
}

/** The lines of the card of a head: of the chosen kinds of maps, in the order of its facts, each measure once. */
export function strengths(data: Explorer, card: Card, head: number, view: View): Strength[] {
  const result: Strength[] = [];
  const seen = new Set<string>();
  const add = (fact: Fact, label: string, measure: Measure): void => {
    if (seen.has(measure.id)) return;
    seen.add(measure.id);
    result.push({ label, measure, text: `${withUnit(measure.values[head], measure)}${interval(measure, head)}`, words: fact.text });
  };
  for (const fact of card.facts) {
    const measure = data.measures.find((item) => item.id === fact.measure) ?? null;
    if (!measure) {
      result.push({ label: fact.label, measure: null, text: fact.text, words: "" });
      continue;
    }
    const chosen = measure.kind === null || !data.sample?.kinds.includes(measure.kind) || kindsIn(view).includes(measure.kind);
    if (!chosen) continue;
    const group = alternatives(data, measure);
    if (group.length === 1) {
      add(fact, fact.label, measure);
      continue;
    }
    const value = (item: Measure): number => item.values[head] ?? -1;
    const largest = [...group].sort((a, b) => value(b) - value(a)).slice(0, MOST);
    for (const item of largest) if (value(item) >= 0) add(fact, item.label, item);
  }
  return result;
}

/** What a value is to be read beside: the number of decisions, the baseline and the rank among the heads. */
export function beside(measure: Measure, head: number): string {
  const ranked = measure.categories ? null : rank(measure, head);
  return [
    measure.n === null ? "" : `n = ${measure.n.toLocaleString("en")}`,
    measure.baseline === null ? "" : `baseline ${bare(measure.baseline, measure)}`,
    ranked ? `rank ${ranked.position} of ${ranked.of}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The length of a bar and the place of the mark of the baseline, for shares; null for all other measures. */
export function barOf(measure: Measure, head: number): { length: string; mark: string | null } | null {
  const value = measure.values[head] ?? null;
  if (measure.unit !== "%" || measure.center !== null || measure.categories || value === null || value < 0 || value > 1) return null;
  const place = (share: number): string => percent(share).replace(" ", "");
  return { length: place(value), mark: measure.baseline === null ? null : place(measure.baseline) };
}
