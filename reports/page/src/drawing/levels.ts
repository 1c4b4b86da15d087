// Where arcs and words stand so that no arc lies on another one and no label is crossed: arcs over few words are low, and
// each arc is above those that it covers, as displaCy draws them.

/** An arc between two positions of a line, with the width of its label. */
export interface Span {
  from: number;
  to: number;
  label?: number;
}

const MARGIN = 12; // around a label, between the ends of its arc

/** The level of each arc, from 1: one more than the highest of those that it shares a gap between words with. */
export function levelsOf(spans: Span[]): number[] {
  const ends = spans.map(({ from, to }) => [Math.min(from, to), Math.max(from, to)] as const);
  const length = (i: number): number => (ends[i]?.[1] ?? 0) - (ends[i]?.[0] ?? 0);
  const order = spans.map((_, i) => i).sort((a, b) => length(a) - length(b) || (ends[a]?.[0] ?? 0) - (ends[b]?.[0] ?? 0) || a - b);
  const highest: number[] = []; // by the position before a gap
  const levels: number[] = [];
  for (const i of order) {
    const [low, high] = ends[i] ?? [0, 0];
    let level = 0;
    for (let gap = low; gap < high; gap++) level = Math.max(level, highest[gap] ?? 0);
    for (let gap = low; gap < high; gap++) highest[gap] = level + 1;
    levels[i] = level + 1;
  }
  return levels;
}

/** The middles of words with these widths, beside each other, so far apart that the labels of arcs fit between the ends. */
export function spread(widths: number[], spans: Span[], space: number): number[] {
  const middles: number[] = [];
  let end = 0;
  widths.forEach((width, position) => {
    let middle = end + (width + space) / 2;
    for (const { from, to, label = 0 } of spans) {
      if (Math.max(from, to) === position && from !== to) middle = Math.max(middle, (middles[Math.min(from, to)] ?? 0) + label + MARGIN);
    }
    middles.push(middle);
    end = middle + (width + space) / 2;
  });
  return middles;
}

/** Where the middle of a label is best: in the widest part of `from` to `to` that no leg at `legs` divides. */
export function widestPart(from: number, to: number, legs: number[]): { middle: number; width: number } {
  const inside = legs.filter((leg) => leg > from && leg < to).sort((a, b) => a - b);
  const ends = [from, ...inside, to];
  let best = { middle: (from + to) / 2, width: 0 };
  for (let i = 0; i + 1 < ends.length; i++) {
    const [a, b] = [ends[i] ?? 0, ends[i + 1] ?? 0];
    if (b - a > best.width) best = { middle: (a + b) / 2, width: b - a };
  }
  return best;
}
