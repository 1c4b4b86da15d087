// The address of a view: what comes after "#" and restores the view.

import type { Explorer } from "./data";
import { headIndex, headName } from "./data";
import type { Shown } from "./judging";
import { PICKS } from "./picks";
import { bestHead, following, SAMPLE, withMeasure, withQuestion, withSource } from "./question";
import type { Slot } from "./slots";
import { kindsOf, opened, otherKind, samplesOf, sourceOf } from "./slots";
import { SORTS } from "./sorting";
import type { Source } from "./sources";
import { onlySource } from "./sources";
import type { Drawing, Scale, View, Word } from "./view";

const SHOWN: Shown[] = ["all", "right", "wrong", ...PICKS.map((pick) => `wrong:${pick}` as const)];
const DISTANCE = /^(picked|gold) (before|after|\d+(-\d*)?)$/;
const DRAWINGS: Drawing[] = ["lines", "arcs", "matrix", "all", "text"];

const SCALES: Scale[] = ["absolute", "words"];

const OWN = ["measure", "head", "relation", "direction", "show", "search", "tag", "distance", "word", "view", "special", "ensemble", "scale", "sort", "subtract"];
const OF_SLOTS = ["run", "model", "sentence", "text", "kind", "off"];
const KEYS = [...OWN, ...OF_SLOTS, "a-head", "b", "b-head", ...OF_SLOTS.map((key) => `b-${key}`)];

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

type Parts = [string, string | null][];

/** What an address says of a slot, whose keys begin with `prefix`. */
function partsOf(slot: Slot, prefix: string, sources: Source[]): Parts {
  const { data } = sourceOf(slot, sources);
  const [first] = sources;
  const other = slot.run !== (first?.run ?? null) || slot.model !== (first?.model ?? null);
  return [
    [`${prefix}run`, other && slot.run !== null ? String(slot.run + 1) : null],
    [`${prefix}model`, other && slot.run === null && slot.model !== null ? String(slot.model + 1) : null],
    [`${prefix}kind`, slot.kind || null],
    [`${prefix}sentence`, slot.sentence],
    [`${prefix}text`, slot.text || null],
    [`${prefix}off`, slot.off.map((head) => headName(head, data)).join(",") || null],
  ];
}

/** The address that restores a view. What it shares with `base`, the view that the page opens with, is left out. */
export function address(view: View, data: Explorer, base: View, sources: Source[] = [onlySource(data)]): string {
  const [a, b] = view.slots;
  const [ofA, ofB] = [a, b ?? a].map((slot) => sourceOf(slot, sources).data) as [Explorer, Explorer];
  const heads = view.drawn?.heads ?? [view.head];
  const slots: Parts = view.drawn ? [["kind", view.drawn.kinds.join(",") || null], ["sentence", a.sentence]] : partsOf(a, "", sources);
  const parts: Parts = [
    ["head", heads.map((head) => headName(head, ofA)).join(",")],
    ["a-head", a.head === null ? null : headName(a.head, ofA)],
    ["measure", view.measure || null],
    ...slots,
    ["b", b && !base.slots[1] ? "on" : !b && base.slots[1] ? "off" : null],
    ["b-head", b && b.head !== null ? headName(b.head, ofB) : null],
    ...(b ? partsOf(b, "b-", sources) : []),
    ["subtract", view.subtract === base.subtract ? null : view.subtract ? "on" : "off"],
    ["relation", view.relation],
    ["direction", view.direction],
    ["show", view.show === "all" ? null : view.show],
    ["search", view.search || null],
    ["tag", view.tag || null],
    ["distance", view.distance || null],
    ["word", view.word ? `${view.word.side === "row" ? "from" : "to"}-${view.word.index + 1}` : null],
    ["view", view.drawing === base.drawing ? null : view.drawing],
    ["special", view.special === base.special ? null : view.special ? "on" : "off"],
    ["sort", view.sort === base.sort ? null : view.sort],
    ["scale", view.scale === base.scale ? null : view.scale],
    ["ensemble", view.ensemble === base.ensemble ? null : view.ensemble ? "on" : "off"],
  ];
  return "#" + parts.flatMap(([key, value]) => (value === null ? [] : `${key}=${encode(value)}`)).join("&");
}

/**
 * The view that a page opens with: its first measure, and the head that is best at it. If the page has two runs, they are
 * side by side.
 */
export function firstView(data: Explorer, sources: Source[] = [onlySource(data)]): View {
  const measure = data.measures[0];
  const [source = onlySource(data), ...others] = sources;
  const second = others.find(({ run }) => run !== null);
  const kinds = kindsOf(source);
  const a = opened(source, measure?.kind ?? "");
  return {
    measure: measure?.id ?? "",
    head: bestHead(data, measure?.id ?? ""),
    relation: measure?.relation ?? null,
    direction: measure?.direction ?? null,
    show: "all",
    search: "",
    tag: measure?.tag ?? "",
    distance: "",
    slots: [a, second ? opened(second, a.kind) : null],
    subtract: false,
    word: null,
    drawing: "lines",
    special: false,
    ensemble: false,
    scale: "absolute",
    sort: "documents",
    drawn: data.measures.length || source.live ? null : { heads: [0], kinds: kinds.slice(0, 1) },
  };
}

/** The view that an address names, and what of it this report does not have. */
export function restore(values: Map<string, string>, base: View, data: Explorer, sources: Source[] = [onlySource(data)]): { view: View; missing: string[] } {
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
  const source = (prefix: string, slot: Slot): Source => {
    const numbered = (key: "run" | "model") => (text: string) => sources.find((each) => each[key] === Number(text) - 1 && (key === "run" || each.run === null));
    return choose(`${prefix}run`, numbered("run"), choose(`${prefix}model`, numbered("model"), sourceOf(slot, sources)));
  };
  const [first, second] = base.slots;
  const from = source("", first);
  const own = from.data;
  const known = (list: string[]) => (item: string) => (list.includes(item) ? item : null);
  const headOf = (shape: Explorer) => (item: string) => headIndex(item, shape);
  const start = from.data === sourceOf(first, sources).data ? base : withSource(base, from, sources);
  const measured = (text: string): string | undefined => (text === SAMPLE ? text : own.measures.find((item) => item.id === text)?.id);
  const measure = choose("measure", measured, start.measure);
  const asked = withMeasure({ ...start, relation: null, direction: null, tag: "" }, measure, own);
  const fallback = measure === start.measure || measure === SAMPLE ? start.head : bestHead(own, measure);
  // Earlier versions named several heads and kinds of maps, of which the second ones are now those of B.
  const heads = choose("head", (text) => several(text, headOf(own)), [fallback]);
  const kinds = choose("kind", (text) => several(text, known(kindsOf(from))), [asked.slots[0].kind]);
  const slotOf = (prefix: string, slot: Slot, at: Source): Slot => {
    const each: Slot = { ...slot, run: at.run, model: at.model };
    // A server has all sentences of the corpus.
    const isThere = (text: string): boolean => (at.live !== null && at.run !== null) || samplesOf(at).some((item) => item.id === text);
    each.sentence = choose(`${prefix}sentence`, (text) => (isThere(text) ? text : undefined), slot.sentence);
    each.text = values.get(`${prefix}text`) ?? "";
    each.off = choose(`${prefix}off`, (text) => several(text, headOf(at.data)), []);
    each.head = choose(prefix ? "b-head" : "a-head", (text) => headIndex(text, at.data) ?? undefined, slot.head);
    if (prefix) each.kind = choose("b-kind", (text) => kindsOf(at).find((item) => item === text), slot.kind);
    return each;
  };
  const [head = 0, otherHead] = heads;
  const [kind = "", secondKind] = kinds;
  const a = slotOf("", { ...asked.slots[0], kind }, from);
  const difference = values.get("view") === "difference";
  const older = !base.drawn && (otherHead !== undefined || secondKind !== undefined);
  const wanted = !base.drawn && values.get("b") !== "off" && (second !== null || older || difference || [...values.keys()].some((key) => key === "b" || key.startsWith("b-")));
  let b: Slot | null = null;
  if (wanted) {
    const at = source("b-", second ?? a);
    const usual = second ?? { ...opened(at, kind), head: otherHead ?? null, kind: otherHead === undefined ? (secondKind ?? kind) : kind };
    b = slotOf("b-", kindsOf(at).includes(usual.kind) ? usual : { ...usual, kind: otherKind(at, kind) }, at);
  }
  const view: View = {
    measure,
    head,
    relation: values.get("relation") ?? asked.relation,
    direction: values.get("direction") ?? asked.direction,
    show: choose("show", (text) => SHOWN.find((item) => item === text), "all"),
    search: values.get("search") ?? base.search,
    tag: values.get("tag") ?? asked.tag,
    distance: choose("distance", (text) => (DISTANCE.test(text) ? text : undefined), ""),
    slots: [a, b],
    subtract: (b !== null || base.drawn !== null) && (difference || choose("subtract", onOrOff, base.subtract)),
    word: choose("word", word, null),
    drawing: difference ? "matrix" : choose("view", (text) => DRAWINGS.find((item) => item === text), base.drawing),
    special: choose("special", onOrOff, base.special),
    sort: choose("sort", (text) => SORTS.find((item) => item === text), base.sort),
    scale: choose("scale", (text) => SCALES.find((item) => item === text), base.scale),
    ensemble: choose("ensemble", onOrOff, base.ensemble),
    drawn: base.drawn && { heads: values.has("head") ? heads : base.drawn.heads, kinds: values.has("kind") ? kinds : base.drawn.kinds },
  };
  // Links, and addresses of earlier versions, may ask for something that their measure is not about.
  const asks = ["relation", "direction", "tag"].some((key) => values.has(key)) && own.measures.length > 0;
  return { view: !asks ? view : values.has("direction") ? following(view, own) : { ...withQuestion(view, {}, own), word: view.word }, missing };
}

function onOrOff(text: string): boolean | undefined {
  return new Map([["on", true], ["off", false]]).get(text);
}

function word(text: string): Word | undefined {
  const match = /^(from|to)-(\d+)$/.exec(text);
  if (!match || match[2] === "0") return undefined;
  return { side: match[1] === "from" ? "row" : "column", index: Number(match[2]) - 1 };
}
