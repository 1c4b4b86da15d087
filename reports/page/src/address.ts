// The address of a view: what comes after "#" and restores the view.

import type { Explorer, Measure } from "./data";
import { headIndex, headName } from "./data";
import type { Shown } from "./judging";
import { PICKS } from "./picks";
import type { Sort } from "./sorting";
import { SORTS } from "./sorting";

export interface Word {
  side: "row" | "column";
  index: number;
}

const SHOWN: Shown[] = ["all", "right", "wrong", ...PICKS.map((pick) => `wrong:${pick}` as const)];
export type Drawing = "lines" | "arcs" | "matrix" | "difference" | "all";
const DRAWINGS: Drawing[] = ["lines", "arcs", "matrix", "difference", "all"];

export type Scale = "absolute" | "words";
const SCALES: Scale[] = ["absolute", "words"];

export interface View {
  measure: string;
  heads: number[];
  kinds: string[];
  relation: string | null;
  direction: string | null;
  show: Shown;
  /** What sentences are searched for, see search.ts. */
  search: string;
  sentence: string | null;
  word: Word | null;
  drawing: Drawing;
  special: boolean;
  /** Whether the ensemble of the relation is drawn beside the heads. */
  ensemble: boolean;
  /** Whether values are drawn as they are, or as the shares of what each word gives to words. */
  scale: Scale;
  sort: Sort;
}

const KEYS = ["measure", "head", "kind", "relation", "direction", "show", "search", "sentence", "word", "view", "special", "ensemble", "scale", "sort"];

/** The parameters of an address, or null if it is that of another part of the page. */
export function parameters(hash: string): Map<string, string> | null {
  const result = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const position = part.indexOf("=");
    if (position < 0) continue;
    try {
      const key = decodeURIComponent(part.slice(0, position));
      if (KEYS.includes(key)) result.set(key, decodeURIComponent(part.slice(position + 1)));
    } catch {
      // A percent sign that encodes nothing: this part says nothing that could be restored.
    }
  }
  return result.size ? result : null;
}

function encode(text: string): string {
  return text.replace(/[%&#=\s"<\\^`{|}]/g, encodeURIComponent);
}

/** The address that restores a view. What it shares with `base`, the view that the page opens with, is left out. */
export function address(view: View, data: Explorer, base: View): string {
  const parts: [string, string | null][] = [
    ["head", view.heads.map((head) => headName(head, data)).join(",")],
    ["measure", view.measure || null],
    ["kind", view.kinds.join(",") || null],
    ["relation", view.relation],
    ["direction", view.direction],
    ["show", view.show === "all" ? null : view.show],
    ["search", view.search || null],
    ["sentence", view.sentence],
    ["word", view.word ? `${view.word.side === "row" ? "from" : "to"}-${view.word.index + 1}` : null],
    ["view", view.drawing === base.drawing ? null : view.drawing],
    ["special", view.special === base.special ? null : view.special ? "on" : "off"],
    ["sort", view.sort === base.sort ? null : view.sort],
    ["scale", view.scale === base.scale ? null : view.scale],
    ["ensemble", view.ensemble === base.ensemble ? null : view.ensemble ? "on" : "off"],
  ];
  return "#" + parts.flatMap(([key, value]) => (value === null ? [] : `${key}=${encode(value)}`)).join("&");
}

/** Whether one value of a measure is better than another. */
export function better(measure: Measure, value: number, other: number): boolean {
  return measure.low_is_best ? value < other : value > other;
}

/** The head with the best value of a measure. */
export function bestHead(data: Explorer, id: string): number {
  const measure = data.measures.find((item) => item.id === id);
  let best = 0;
  measure?.values.forEach((value, i) => {
    const record = measure.values[best] ?? null;
    if (value !== null && (record === null || better(measure, value, record))) best = i;
  });
  return best;
}

/** The view that a report opens with: its first measure, and the head that is best at it. */
export function firstView(data: Explorer): View {
  const measure = data.measures[0];
  const kinds = data.sample?.kinds ?? [];
  return {
    measure: measure?.id ?? "",
    heads: [bestHead(data, measure?.id ?? "")],
    kinds: kinds.filter((kind, i) => (measure?.kind && kinds.includes(measure.kind) ? kind === measure.kind : i === 0)),
    relation: measure?.relation ?? null,
    direction: measure?.direction ?? null,
    show: "all",
    search: "",
    sentence: null,
    word: null,
    drawing: "lines",
    special: false,
    ensemble: false,
    scale: "absolute",
    sort: "documents",
  };
}

/** The view of another head, which is asked the same as the one before: matrix, card and sentences keep one question. */
export function withHead(view: View, head: number): View {
  return { ...view, heads: [head], word: null };
}

/** The view with another measure, and with the relation, direction and kind of map that the measure is about. */
export function withMeasure(view: View, id: string, data: Explorer): View {
  const measure = data.measures.find((item) => item.id === id);
  if (!measure) return view;
  const kind = measure.kind !== null && data.sample?.kinds.includes(measure.kind) ? measure.kind : null;
  return {
    ...view,
    measure: id,
    kinds: kind === null || view.kinds.includes(kind) ? view.kinds : [kind],
    relation: measure.relation ?? view.relation,
    direction: measure.direction ?? view.direction,
  };
}

/** The view that an address names, and what of it this report does not have. */
export function restore(values: Map<string, string>, base: View, data: Explorer): { view: View; missing: string[] } {
  const missing: string[] = [];
  const choose = <T>(key: string, find: (text: string) => T | undefined, otherwise: T): T => {
    const text = values.get(key);
    if (text === undefined) return otherwise;
    const result = find(text);
    if (result === undefined) missing.push(`${key} “${text}”`);
    return result ?? otherwise;
  };
  const several = <T>(text: string, find: (item: string) => T | null): T[] | undefined => {
    const items = text.split(",").map(find);
    const known = [...new Set(items.filter((item) => item !== null))];
    return known.length && known.length === new Set(items).size ? known : undefined;
  };
  const kinds = data.sample?.kinds ?? [];
  const sentences = data.sample?.sentences ?? [];
  const measure = choose("measure", (text) => data.measures.find((item) => item.id === text)?.id, base.measure);
  const start = withMeasure({ ...base, relation: null, direction: null }, measure, data);
  const heads = measure === base.measure ? base.heads : [bestHead(data, measure)];
  const view: View = {
    measure,
    heads: choose("head", (text) => several(text, (item) => headIndex(item, data)), heads),
    kinds: choose("kind", (text) => several(text, (item) => (kinds.includes(item) ? item : null)), start.kinds),
    relation: values.get("relation") ?? start.relation,
    direction: values.get("direction") ?? start.direction,
    show: choose("show", (text) => SHOWN.find((item) => item === text), "all"),
    search: values.get("search") ?? base.search,
    sentence: choose("sentence", (text) => sentences.find((item) => item.id === text)?.id, null),
    word: choose("word", word, null),
    drawing: choose("view", (text) => DRAWINGS.find((item) => item === text), base.drawing),
    special: choose("special", onOrOff, base.special),
    sort: choose("sort", (text) => SORTS.find((item) => item === text), base.sort),
    scale: choose("scale", (text) => SCALES.find((item) => item === text), base.scale),
    ensemble: choose("ensemble", onOrOff, base.ensemble),
  };
  return { view, missing };
}

function onOrOff(text: string): boolean | undefined {
  return new Map([["on", true], ["off", false]]).get(text);
}

function word(text: string): Word | undefined {
  const match = /^(from|to)-(\d+)$/.exec(text);
  if (!match || match[2] === "0") return undefined;
  return { side: match[1] === "from" ? "row" : "column", index: Number(match[2]) - 1 };
}
