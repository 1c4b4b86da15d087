// The one question that a page asks of heads at a time: a relation, or a type of mention, in a direction and a kind of map.
// The matrix, the card, the sentences and the concordance are about it. If no table of the run has it, the matrix has the
// shares that are right in the stored sentences. A measure that is about no relation, such as an entropy, colors the matrix
// beside the question.

import type { Explorer, Measure } from "./data";
import { storedHead } from "./data";
import { arrow } from "./format";
import { usePromise } from "./hooks";
import { mapsOf } from "./inflate";
import { directionsOf, reachOf } from "./judging";
import { isText } from "./running";
import { headIn, kindsOf, sourceOf } from "./slots";
import type { Source } from "./sources";
import { COREFERENCE, decide, tasks } from "./tasks";
import type { View } from "./view";
import { withSlot } from "./view";

/** The id of what stands for a measure where no table has the question. */
export const SAMPLE = "sample";

/** Whether one value of a measure is better than another. */
export function better(measure: Measure, value: number, other: number): boolean {
  return measure.low_is_best ? value < other : value > other;
}

/** The head with the best value of a measure. */
export function bestOf(measure: Measure | undefined): number {
  let best = 0;
  measure?.values.forEach((value, i) => {
    const record = measure.values[best] ?? null;
    if (value !== null && (record === null || better(measure, value, record))) best = i;
  });
  return best;
}

export function bestHead(data: Explorer, id: string): number {
  return bestOf(data.measures.find((item) => item.id === id));
}

/** The type of mention that is asked about; empty for all, and for other questions. */
export function typeIn({ relation, tag }: View): string {
  return relation === COREFERENCE ? tag : "";
}

/** Whether a measure is about what a view asks. */
function asks(measure: Measure, view: View, data: Explorer): boolean {
  const { kind } = measure;
  const kinds = data.sample?.kinds ?? [];
  const same = measure.relation === view.relation || (view.relation === null && measure.relation === "all");
  // A kind that only a server draws has neither measures nor guesses, so that the question stays that of another kind.
  const drawn = kind === null || kind === view.slots[0].kind || !kinds.includes(kind) || !kinds.includes(view.slots[0].kind);
  return measure.relation !== null && same && drawn && measure.direction === view.direction && (measure.tag ?? "") === typeIn(view);
}

/** The measures that are about what a view asks: the accuracy first, and what is left of it beside baselines after it. */
function measuresOf(view: View, data: Explorer): Measure[] {
  const all = data.measures.filter((measure) => asks(measure, view, data));
  return [...all.filter(({ center }) => center === null), ...all.filter(({ center }) => center !== null)];
}

/** The head that answers the question of a view best, with the measure that says so; null if no table has the question. */
export function bestAnswer(view: View, data: Explorer): { head: number; measure: Measure } | null {
  const [measure] = measuresOf(view, data);
  return measure ? { head: bestOf(measure), measure } : null;
}

/**
 * The view that asks something else. Who looks at the best head goes on to that of the new question; who has chosen another
 * head keeps it.
 */
export function withBest(view: View, change: Partial<Pick<View, "relation" | "direction" | "tag">>, data: Explorer): View {
  const next = withQuestion(view, change, data);
  const best = bestAnswer(next, data);
  const follows = view.slots[0].head === null && bestAnswer(view, data)?.head === view.head;
  return best && follows ? { ...next, head: best.head } : next;
}

/** The view with the measure that is about its question, if the one before was about another one. */
export function following(view: View, data: Explorer): View {
  const before = data.measures.find((item) => item.id === view.measure);
  const { kind } = view.slots[0];
  if (before && before.relation === null) {
    const same = data.measures.find((item) => item.group === before.group && item.label === before.label && item.kind === kind);
    return before.kind === null || !same ? view : { ...view, measure: same.id };
  }
  if (before && asks(before, view, data)) return view;
  const all = measuresOf(view, data);
  const measure = all.find(({ group }) => group === before?.group) ?? all[0];
  return { ...view, measure: measure?.id ?? (data.sample?.sentences.length ? SAMPLE : view.measure) };
}

/** The view that asks something else, in a direction in which it can be asked. */
export function withQuestion(view: View, change: Partial<Pick<View, "relation" | "direction" | "tag">>, data: Explorer): View {
  const next = { ...view, ...change, word: null };
  const directions = directionsOf(data.sample?.sentences ?? [], next.relation);
  if (next.direction === null || !directions.includes(next.direction)) next.direction = directions[0] ?? next.direction;
  if (next.relation !== view.relation && change.tag === undefined) next.tag = "";
  return following(next, data);
}

/** The view with another measure, and with the question and the kind of map that the measure is about. */
export function withMeasure(view: View, id: string, data: Explorer): View {
  const measure = data.measures.find((item) => item.id === id);
  if (!measure) return view;
  const kind = measure.kind !== null && data.sample?.kinds.includes(measure.kind) ? measure.kind : null;
  const kept = measure.relation === null || (measure.relation === view.relation && measure.relation !== COREFERENCE);
  const asked = {
    ...{ ...view, measure: id, relation: measure.relation ?? view.relation, direction: measure.direction ?? view.direction },
    tag: measure.tag ?? (kept ? view.tag : ""),
  };
  const [a, b] = asked.slots;
  if (kind === null || kind === a.kind) return asked;
  const moved = withSlot(asked, 0, { kind });
  return b?.kind === kind ? withSlot(moved, 1, { kind: a.kind }) : moved; // both kinds stay side by side
}

/** The view with another kind of map in slot A (0) or B (1). What colors the matrix is of the kind in A. */
export function withKind(view: View, which: number, kind: string, data: Explorer): View {
  const next = withSlot(view, which, { kind });
  return which ? next : following(next, data);
}

/** The view with another run or model in slot A, whose heads the page is then about. */
export function withSource(view: View, source: Source, sources: Source[]): View {
  const { data } = source;
  const before = sourceOf(view.slots[0], sources).data;
  const measure = data.measures.find((item) => item.id === view.measure) ?? data.measures[0];
  const kinds = kindsOf(source);
  const slot = { run: source.run, model: source.model, head: null, off: [], ...(kinds.includes(view.slots[0].kind) ? {} : { kind: kinds[0] ?? "" }) };
  const head = headIn(view.head, before, data) ?? bestHead(data, measure?.id ?? "");
  const next = { ...withSlot(view, 0, slot), measure: measure?.id ?? "", head, word: null };
  return measure?.relation && view.relation !== null ? following(next, data) : next;
}

/** What heads have right of a question in the stored sentences, as a measure. */
export async function sampledMeasure(view: View, data: Explorer): Promise<Measure> {
  const { relation, direction } = view;
  const { kind } = view.slots[0];
  const [type, maps, reach] = [typeIn(view), mapsOf(data), reachOf(data, direction)];
  const right = new Array<number>(data.layers * data.heads).fill(0);
  const judged = [...right];
  for (const sentence of data.sample?.sentences ?? []) {
    const asked = tasks(sentence, relation, type);
    if (!asked.length) continue;
    for (const head of right.keys()) {
      const guesses = await maps.guess(sentence, `${kind}/${direction ?? ""}`, storedHead(head, kind, data));
      for (const { guess, verdict } of decide(asked, guesses, reach)) {
        if (verdict === null || (guess === null && isText(sentence))) continue;
        judged[head] = (judged[head] ?? 0) + 1;
        if (verdict === "right") right[head] = (right[head] ?? 0) + 1;
      }
    }
  }
  const n = Math.max(...judged);
  return {
    ...{ id: SAMPLE, group: "Stored sentences", label: [type || (relation ?? "any relation"), direction && arrow(direction)].filter(Boolean).join(", "), kind },
    ...{ unit: "%", values: right.map((value, i) => (judged[i] ? value / judged[i] : null)), low: null, high: null, n, baseline: null, center: null },
    ...{ categories: null, relation, direction, note: "The share that is right in the stored sentences alone: the tables do not have this question, which is rare in the corpus or was not counted." },
  };
}

/** The measure that colors the matrix; undefined if there is none, or while the stored sentences are read. */
export function useMeasure(view: View, data: Explorer): Measure | undefined {
  const wanted = view.measure === SAMPLE && data.measures.length > 0;
  const sampled = usePromise(
    () => (wanted ? sampledMeasure(view, data) : Promise.resolve(null)),
    [data, wanted, view.relation, view.direction, view.slots[0].kind, typeIn(view)],
  );
  return wanted ? (sampled ?? undefined) : (data.measures.find((item) => item.id === view.measure) ?? data.measures[0]);
}
