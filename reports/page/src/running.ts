// A document as running text: its windows follow each other, every word once, and its entities have numbers and colors.

import type { Mention, SampledSentence } from "./data";
import { rowsOf } from "./data";
import type { Decision } from "./tasks";

/** Colors of entities repeat after so many; their numbers do not. */
export const ENTITY_COLORS = 8;

export interface Token {
  sentence: SampledSentence;
  row: number;
  word: string;
  /** Whether there is no space before the next word. */
  joined: boolean;
  /** Whether words before it are not in the sample. */
  gap: boolean;
}

export interface Entity {
  name: string;
  /** Counted from 1 in the order of the text; null if it is mentioned only once. */
  number: number | null;
}

/** A mention, whose words are numbered from the beginning of the text. */
export interface Span {
  start: number;
  end: number;
  entity: Entity;
  /** How many mentions are around it. */
  depth: number;
}

export interface Running {
  tokens: Token[];
  spans: Span[];
  /** For each sentence: the token of each row, or −1. */
  places: Map<SampledSentence, number[]>;
}

/** Whether an input is kept with its words and guesses alone, because it is too long for maps. */
export function isText(sentence: SampledSentence): boolean {
  return sentence.columns === null && Object.keys(sentence.maps).length === 0;
}

/** The windows of the document of a sentence, in its order; of a sentence that is no window, itself alone. */
export function windowsOf(sentence: SampledSentence, sample: SampledSentence[]): SampledSentence[] {
  if (sentence.document === null || typeof sentence.start !== "number") return [sentence];
  const windows = sample.filter(({ document, start }) => document === sentence.document && typeof start === "number");
  if (!windows.includes(sentence)) return [sentence];
  return windows.sort((a, b) => (a.start ?? 0) - (b.start ?? 0));
}

function spansOf(found: Map<string, { start: number; end: number; mention: Mention }>): Span[] {
  const list = [...found.values()].sort((a, b) => a.start - b.start || b.end - a.end);
  const times = new Map<string, number>();
  for (const { mention } of list) times.set(mention.entity, (times.get(mention.entity) ?? 0) + 1);
  const entities = new Map<string, Entity>();
  let numbered = 0;
  return list.map(({ start, end, mention: { entity: name } }, i) => {
    const entity = entities.get(name) ?? { name, number: (times.get(name) ?? 0) > 1 ? ++numbered : null };
    entities.set(name, entity);
    const depth = list.slice(0, i).filter((other) => other.start <= start && other.end >= start).length;
    return { start, end, entity, depth };
  });
}

/** The words of windows, which may overlap, as one text. */
export function runningOf(windows: SampledSentence[], special: boolean): Running {
  const at = new Map<number, Token>();
  const positions = windows.map((sentence) => {
    const { words, special: hidden, joined } = rowsOf(sentence);
    // Special tokens are shown only where they have a place of their own, in a text that is one input.
    const shows = (row: number): boolean => !hidden[row] || (special && windows.length === 1);
    let next = sentence.start ?? 0;
    return words.map((word, row) => {
      if (!shows(row)) return -1;
      const position = next++;
      if (!at.has(position)) at.set(position, { sentence, row, word, joined: joined.includes(row), gap: false });
      return position;
    });
  });
  const order = [...at.keys()].sort((a, b) => a - b);
  const indexOf = new Map(order.map((position, index) => [position, index]));
  const tokens = order.flatMap((position, i) => {
    const token = at.get(position);
    return token ? [{ ...token, gap: position > (i ? (order[i - 1] ?? 0) + 1 : 0) }] : [];
  });
  const places = new Map(windows.map((sentence, i) => [sentence, (positions[i] ?? []).map((position) => indexOf.get(position) ?? -1)]));
  const found = new Map<string, { start: number; end: number; mention: Mention }>();
  for (const sentence of windows) {
    const place = places.get(sentence) ?? [];
    for (const mention of sentence.mentions) {
      const [start = -1, end = -1] = [place[mention.start], place[mention.end]];
      const key = `${start} ${end} ${mention.entity}`;
      if (start >= 0 && end >= 0 && !found.has(key)) found.set(key, { start, end, mention });
    }
  }
  return { tokens, spans: spansOf(found), places };
}

/** A decision, whose words are numbered as tokens. */
export interface RunningDecision extends Decision {
  sentence: SampledSentence;
}

/** Decisions in all windows. Where windows overlap, only one of them asks for a guess. */
export function decisionsIn({ places }: Running, list: { sentence: SampledSentence; decisions: Decision[] }[]): RunningDecision[] {
  const found = new Map<string, RunningDecision>();
  for (const { sentence, decisions } of list) {
    const place = places.get(sentence) ?? [];
    const all = (rows: number[]): number[] => rows.map((row) => place[row] ?? -1).filter((token) => token >= 0);
    for (const decision of decisions) {
      const rows = all(decision.rows);
      if (rows.length !== decision.rows.length) continue;
      const key = `${rows.join(" ")} ${decision.relation}`;
      const guess = decision.guess === null ? null : (place[decision.guess] ?? null);
      if (found.has(key) && (guess === null || found.get(key)?.guess !== null)) continue;
      found.set(key, { ...decision, sentence, rows, targets: all(decision.targets), gold: all(decision.gold), guess: guess === -1 ? null : guess });
    }
  }
  return [...found.values()].sort((a, b) => (a.rows[0] ?? 0) - (b.rows[0] ?? 0));
}

export interface Box {
  x: number;
  width: number;
  line: number;
}

export interface RunningLayout {
  words: Box[];
  /** Where the number of a mention stands, by the index of the mention. */
  numbers: (Box | null)[];
  lines: number;
}

/** The places of words in lines of a width, and of the numbers of entities before their mentions. */
export function runningLayout({ tokens, spans }: Running, width: number, measure: (text: string, small: boolean) => number): RunningLayout {
  const words: Box[] = [];
  const numbers: (Box | null)[] = spans.map(() => null);
  const [blank, ellipsis] = [measure(" ", false), measure("… ", false)];
  let [x, line] = [0, 0];
  tokens.forEach(({ word, joined, gap }, i) => {
    const starting = spans.flatMap(({ start, entity }, s) => (start === i && entity.number !== null ? [{ s, size: measure(String(entity.number), true) + 4 }] : []));
    const own = measure(word, false);
    const needed = starting.reduce((sum, { size }) => sum + size, own + (gap ? ellipsis : 0));
    if (x > 0 && x + needed > width) [x, line] = [0, line + 1];
    if (gap) x += ellipsis;
    for (const { s, size } of starting) {
      numbers[s] = { x, width: size, line };
      x += size;
    }
    words.push({ x, width: own, line });
    x += own + (joined ? 0 : blank);
  });
  return { words, numbers, lines: line + 1 };
}
