// A view: what the page is asked, and what it draws.

import type { Shown } from "./judging";
import type { Slot } from "./slots";
import type { Sort } from "./sorting";

export interface Word {
  side: "row" | "column";
  index: number;
}

export type Drawing = "lines" | "arcs" | "matrix" | "all" | "text";

export type Scale = "absolute" | "words";

export interface View {
  measure: string;
  /** The chosen head: that of the card, and of each slot that has none of its own. */
  head: number;
  relation: string | null;
  direction: string | null;
  show: Shown;
  /** What sentences are searched for, see search.ts. */
  search: string;
  /** The part of speech, or the type of mention, of the uses that are listed; empty for all. */
  tag: string;
  /** Their distance, see uses.ts; empty for any. */
  distance: string;
  /** What is drawn: A, and beside it B, if there is something to compare it with. */
  slots: [Slot, Slot | null];
  /** Whether B is subtracted from A. */
  subtract: boolean;
  /** The word at hand, in A. */
  word: Word | null;
  drawing: Drawing;
  special: boolean;
  /** Whether the ensemble of the relation is drawn beside the heads. */
  ensemble: boolean;
  /** Whether values are drawn as they are, or as the shares of what each word gives to words. */
  scale: Scale;
  sort: Sort;
  /** The heads and kinds of maps of a page that draws them on all of its sentences; null for all other pages. */
  drawn: { heads: number[]; kinds: string[] } | null;
}

/** Shows another view. With `replace`, the button Back skips the view that was shown before. */
export type Go = (view: View, replace?: boolean) => void;

/** Shows no other view: what is asked of a drawing whose view is no longer the current one. */
export const ignored: Go = () => undefined;

/** The view with something else in slot A (0) or B (1). */
export function withSlot(view: View, which: number, change: Partial<Slot> | null): View {
  const [a, b] = view.slots;
  if (which) return { ...view, slots: [a, change && { ...(b ?? { ...a, sentence: null, text: "", off: [] }), ...change }], subtract: view.subtract && change !== null };
  return change ? { ...view, slots: [{ ...a, ...change }, b], word: "sentence" in change || "text" in change ? null : view.word } : view;
}

/** The heads that the view is about: the chosen one, and those that it is compared with on the same run. */
export function headsOf(view: View): number[] {
  const [a, b] = view.slots;
  const same = b !== null && b.run === a.run && b.model === a.model;
  return [...new Set([view.head, ...(a.head === null ? [] : [a.head]), ...(same && b.head !== null ? [b.head] : [])])];
}

/** The view with a head beside A, or without it if it is there. */
export function toggled(view: View, head: number): View {
  const [a, b] = view.slots;
  if (b?.head !== head) return withSlot(view, 1, { head });
  const alone = b.sentence === null && !b.text && !b.off.length && b.run === a.run && b.model === a.model && b.kind === a.kind;
  return withSlot(view, 1, alone ? null : { head: null });
}

/** The kinds of maps that the view shows. */
export function kindsIn(view: View): string[] {
  return view.drawn?.kinds ?? [...new Set(view.slots.flatMap((slot) => (slot ? [slot.kind] : [])))];
}

/** The view of another head, which is asked the same as the one before: matrix, card and sentences keep one question. */
export function withHead(view: View, head: number): View {
  return { ...withSlot(view, 0, { head: null }), head, word: null };
}
