// Slots A and B: a sentence, the run or model that reads it, a kind of map, and the head that is drawn.

import type { Explorer, SampledSentence } from "./data";
import { headIndex, headName } from "./data";
import type { Source } from "./sources";

export interface Slot {
  /** The positions of the run and of the live model; null if there is none. */
  run: number | null;
  model: number | null;
  /** The id of a sentence of the sample. Null in A: the first one that is listed; in B: that of A. */
  sentence: string | null;
  /** A text that was typed, which is drawn in place of a sentence of the sample; empty if there is none. */
  text: string;
  kind: string;
  /** The head; null for the chosen one. */
  head: number | null;
  /** The heads that are switched off. */
  off: number[];
}

export const NAMES = ["A", "B"] as const;

/** The run or model that a slot is about. */
export function sourceOf(slot: Slot, sources: Source[]): Source {
  const [first] = sources;
  const found = sources.find(({ run, model }) => (slot.run === null ? run === null && model === slot.model : run === slot.run)) ?? first;
  if (!found) throw new Error("the page has neither runs nor models");
  return found;
}

/** The kinds of maps that can be drawn: those of the sample, and those that the model can give. */
export function kindsOf({ data, live }: Source): string[] {
  return [...new Set([...(data.sample?.kinds ?? []), ...(live?.kinds ?? [])])];
}

export function samplesOf({ data }: Source): SampledSentence[] {
  return data.sample?.sentences ?? [];
}

/** A slot about a run or model, with this kind of map, if it has it. */
export function opened(source: Source, kind: string): Slot {
  const kinds = kindsOf(source);
  return { run: source.run, model: source.model, sentence: null, text: "", kind: kinds.includes(kind) ? kind : (kinds[0] ?? ""), head: null, off: [] };
}

/** A kind of map other than the one that is shown, if there is one. */
export function otherKind(source: Source, kind: string): string {
  const kinds = kindsOf(source);
  return kinds.find((item) => item !== kind) ?? kinds[0] ?? kind;
}

/** A head of one model as that of the same name of another one, or null if that has none of this name. */
export function headIn(head: number, from: Explorer, to: Explorer): number | null {
  return from === to ? head : headIndex(headName(head, from), to);
}

/** Two texts that were typed as one, with ` ||| ` between them; the second is null if it is one text. */
export function split(typed: string): [string, string | null] {
  const [first = "", ...rest] = typed.split(/\s\|\|\|\s/);
  return [first.trim(), rest.length ? rest.join(" ||| ").trim() : null];
}
