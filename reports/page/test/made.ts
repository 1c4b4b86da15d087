// Data for the tests of modules that compute without a page.

import assert from "node:assert/strict";
import type { ComponentChildren, VNode } from "preact";
import type { Explorer, Measure, SampledSentence } from "../src/data";
import type { HeadMap } from "../src/inflate";
import type { Source } from "../src/sources";
import { onlySource } from "../src/sources";
import type { Decision } from "../src/tasks";

export function measure(id: string, values: (number | null)[], more: Partial<Measure> = {}): Measure {
  return {
    ...{ id, group: "Group", label: id, kind: "weight", unit: "%", values, low: null, high: null, n: 10, baseline: null },
    ...{ center: null, categories: null, relation: null, direction: null, note: "", ...more },
  };
}

export function sentence(id: string, rows: string[], relations: (string | null)[] = []): SampledSentence {
  const special = rows.map((row) => row.startsWith("["));
  return {
    ...{ id, document: null, file: "", line: null, rows, columns: null, special, special_columns: null },
    ...{ heads: rows.map(() => null), relations, tags: rows.map(() => "NOUN"), mentions: [], links: [], maps: {}, guesses: {} },
  };
}

/** The source of a page about one run, or of one of several. */
export function source(data: Explorer, more: Partial<Source> = {}): Source {
  return { ...onlySource(data), ...more };
}

export const DATA: Explorer = {
  ...{ model: "m", corpus: "c", unit: "sentences", layers: 2, heads: 2, cards: [], findings: [] },
  measures: [
    measure("obj", [0.1, 0.7, 0.4, 0.2], { relation: "obj", direction: "dep->head" }),
    measure("errors", [0.5, 0.3, null, 0.9], { low_is_best: true }),
  ],
  sample: { kinds: ["weight", "norm"], note: "", sentences: [sentence("s1", ["[CLS]", "Cats", "sleep", "[SEP]"], [null, "nsubj", "root", null])] },
};

export function map(values: number[][], step = 0): HeadMap {
  return { values: Float32Array.from(values.flat()), rows: values.length, columns: values[0]?.length ?? 0, scale: 1, step };
}

export function decided(row: number, guess: number | null, more: Partial<Decision> = {}): Decision {
  return { rows: [row], targets: [], gold: [], relation: "obj", guess, verdict: "wrong", ...more };
}

/** The elements of a kind in what components make that have no state, such as all “b” of a text. */
export function elements(node: ComponentChildren, type: string): VNode<{ children?: ComponentChildren; [name: string]: unknown }>[] {
  if (Array.isArray(node)) return node.flatMap((each) => elements(each, type));
  if (node === null || typeof node !== "object" || !("props" in node)) return [];
  if (typeof node.type === "function") return elements((node.type as (props: unknown) => ComponentChildren)(node.props), type);
  return [...(node.type === type ? [node] : []), ...elements(node.props.children, type)];
}

export function close(found: Iterable<number>, expected: number[]): void {
  const list = [...found];
  assert.equal(list.length, expected.length);
  list.forEach((value, i) => assert.ok(Math.abs(value - (expected[i] ?? NaN)) < 1e-6, `${list} is not ${expected}`));
}
