// Arcs over the sentence: what the head guesses above the words, and the annotation below. Arrows lead from head to
// dependent, and from antecedent to mention. If a sentence is too long for a line, its words stand below each other,
// with guesses on the left and the annotation on the right.

import { useMemo } from "preact/hooks";
import type { DrawingProps } from "./panel";
import { many, shownValue, strength, valuesOf } from "./panel";
import { apart } from "./labels";
import { COREFERENCE, verdictsOf } from "../tasks";
import { strokes } from "./strokes";
import { fontSize, isolated, shortened, textWidth } from "./text";
import { Words } from "./word";

export interface ArcsLayout {
  width: number;
  height: number;
  upright: boolean;
  size: number;
  /** Where a word is along the sentence. */
  along: Map<number, number>;
  /** Where the middle of the words is across the sentence, and how far words reach on each side. */
  base: number;
  reach: number;
  widths: Map<number, number>;
  above: number;
  below: number;
  /** Whether the first word is on the right. */
  mirrored: boolean;
}

const SPACE = 16;
const TITLE = 22;
const LABELS = 64; // the room for names of relations
const SPREAD = 24; // the room for names that are moved down
const ROOT = 10; // how far the arrow to the root reaches beyond the arcs

function height(distance: number): number {
  return 12 + 17 * distance ** 0.65;
}

/** The layout of one panel: a line if the words fit into `width`, and otherwise a column about `share` pixels wide. */
export function arcsLayout({ sentence, rows, width, share, mirrored }: Pick<DrawingProps, "sentence" | "rows" | "width" | "mirrored"> & { share: number }): ArcsLayout {
  const size = fontSize(rows.length);
  const most = 160;
  const widths = new Map(rows.map((row) => [row, textWidth(shortened(sentence.rows[row] ?? "", size, most), size, true)]));
  const total = rows.reduce((sum, row) => sum + (widths.get(row) ?? 0) + SPACE, 8);
  const upright = total > width;
  const farthest = height(Math.max(1, rows.length - 1)) * 0.75 + 12;
  const along = new Map<number, number>();
  if (upright) {
    const widest = Math.max(30, ...widths.values());
    const step = Math.round(size * 1.6);
    rows.forEach((row, i) => along.set(row, TITLE + 8 + step * (i + 0.5)));
    const room = Math.min(farthest, Math.max(44, (share - widest - LABELS - 24) / 2));
    const base = room + 12 + widest / 2;
    return { width: Math.ceil(base + widest / 2 + 12 + room + LABELS), height: TITLE + 16 + step * rows.length, upright, size, along, base, reach: widest / 2 + 6, widths, above: room, below: room, mirrored: false };
  }
  let x = 8;
  for (const row of mirrored ? [...rows].reverse() : rows) {
    const wide = (widths.get(row) ?? 0) + SPACE;
    along.set(row, x + wide / 2);
    x += wide;
  }
  const base = TITLE + farthest + 14;
  return { width: Math.ceil(x + 8), height: base + 14 + farthest + 16 + SPREAD, upright, size, along, base, reach: 13, widths, above: farthest, below: farthest, mirrored };
}

export function Arcs(props: DrawingProps & { layout: ArcsLayout }) {
  const { panel, sentence, rows, focus, stop, layout } = props;
  const { upright, along, base, reach, size } = layout;
  const order = new Map(rows.map((row, i) => [row, i]));
  const far = (a: number, b: number): number => Math.min(Math.abs((order.get(a) ?? 0) - (order.get(b) ?? 0)), rows.length);
  const point = (position: number, away: number): string => (upright ? `${base + away} ${position}` : `${position} ${base + away}`);
  /** An arc from word to word; side −1 is above the line (or left of the column), side 1 below (or right). */
  const arc = (a: number, b: number, side: 1 | -1, shift = 0): string => {
    const loop = a === b ? 5 : 0;
    const [from, to] = [(along.get(a) ?? 0) + shift - loop, (along.get(b) ?? 0) - shift + loop];
    const away = side * (reach + Math.min(height(far(a, b)), side < 0 ? layout.above / 0.75 : layout.below / 0.75));
    return `M${point(from, side * reach)}C${point(from, away)} ${point(to, away)} ${point(to, side * reach)}`;
  };
  /** How far the middle of an arc below the line is from it. */
  const depth = (a: number, b: number): number => reach + Math.min(0.75 * height(far(a, b)), layout.below);
  const deepest = Math.max(0, ...panel.decisions.flatMap(({ rows: [row = 0], gold }) => gold.map((answer) => depth(row, answer) - reach))) + ROOT;
  const labels = labelsOf(props, layout, depth, deepest);
  const guessed = panel.every || panel.decisions.some((decision) => decision.verdict !== null);
  const lines = useMemo(() => {
    const line = (row: number, column: number): string => (row === column ? "" : arc(row, column, -1));
    if (focus) {
      const wanted = (row: number, column: number): boolean => (focus.side === "row" ? row : column) === focus.index;
      return strokes(panel.map, rows, rows, line, { wanted });
    }
    if (guessed) return null;
    const asked = new Set(panel.decisions.flatMap((decision) => decision.rows));
    const wanted = (row: number, column: number): boolean => !asked.size || asked.has(panel.reversed ? column : row) || (panel.both && asked.has(column));
    return strokes(panel.map, rows, rows, line, { wanted });
  }, [panel, rows, layout, focus?.side, focus?.index, guessed]);
  const values = focus && new Map(valuesOf(panel, focus, rows).filter(({ index }) => index !== focus.index).map((item) => [item.index, item]));
  const visible = panel.decisions.filter((item) => !focus || item.rows.includes(focus.index) || item.targets.includes(focus.index));
  const verdicts = useMemo(() => verdictsOf(panel.decisions), [panel]);
  return (
    <g>
      <text class="title" x={8} y={14}>
        {panel.title}
      </text>
      {lines && (
        <g class="base arcs">
          {lines.paths.map(({ byte, path }) => (
            <path key={byte} d={path} stroke-opacity={(byte / 255).toFixed(4)} />
          ))}
        </g>
      )}
      {visible.map((decision) => {
        const row = decision.rows[0] ?? 0;
        if (!order.has(row)) return null;
        const guess = decision.guess !== null && order.has(decision.guess) ? decision.guess : null;
        const share = strength(panel, decision);
        const verdict = decision.verdict ?? "unjudged";
        const name = decision.relation === COREFERENCE ? "" : decision.relation;
        const root = sentence.heads[row] === -1 && name === sentence.relations[row];
        const end = (answer: number): number => Math.sign(layout.mirrored ? row - answer : answer - row) * 3; // beside the arrows that start at the word
        return (
          <g key={row}>
            {guess !== null && (
              <g class="guessed" opacity={0.35 + 0.65 * share}>
                <path class={`guess ${verdict}`} d={arc(guess, row, -1, -end(guess))}>
                  <title>{`${isolated(sentence.rows[row])}: guess ${isolated(sentence.rows[guess])}, ${shownValue(panel, share * panel.map.scale)}`}</title>
                </path>
                <path class={`tip ${verdict}`} d={tip(along.get(row) ?? 0, end(guess), base - reach, upright, -1)} />
              </g>
            )}
            {decision.gold.map((answer) => (
              <g key={answer} class="annotated">
                <path class="gold" d={arc(answer, row, 1, -end(answer))} />
                <path class="tip" d={tip(along.get(row) ?? 0, end(answer), base + reach, upright, 1)} />
              </g>
            ))}
            {root && (
              <g class="annotated root">
                <path class="gold" d={`M${point(along.get(row) ?? 0, reach + deepest)}L${point(along.get(row) ?? 0, reach)}`} />
                <path class="tip" d={tip(along.get(row) ?? 0, 0, base + reach, upright, 1)} />
              </g>
            )}
          </g>
        );
      })}
      {labels
        .filter(({ row }) => visible.some((decision) => decision.rows[0] === row))
        .map(({ row, name, x, y }) => (
          <text key={`${row} ${name} ${x}`} class="axis label" x={x} y={y} text-anchor="middle">
            {name}
          </text>
        ))}
      <Words
        {...{ label: `${panel.title}: words`, panel, sentence, side: "row", indices: rows, layout, most: 160, stop: stop.index }}
        place={(row) => {
          const width = (layout.widths.get(row) ?? 0) + 8;
          const position = along.get(row) ?? 0;
          const [x, y] = upright ? [base, position] : [position, base];
          return { x, y, anchor: "middle", left: x - width / 2, width, height: upright ? Math.round(size * 1.6) : 22 };
        }}
        state={(row) => (verdicts.has(row) && !many(panel) ? `asked ${verdicts.get(row) ?? ""}` : "")}
        marked={focus ? [focus.index] : []}
        markedSide={focus?.side ?? "row"}
        values={values}
      />
    </g>
  );
}

/** The names of relations at their arcs, of which none lies on another one. */
function labelsOf(
  { panel, sentence }: DrawingProps,
  { upright, along, base, reach }: ArcsLayout,
  depth: (a: number, b: number) => number,
  deepest: number,
): { row: number; name: string; x: number; y: number }[] {
  const at = panel.decisions.flatMap((decision) => {
    const [row = 0] = decision.rows;
    const name = decision.relation;
    if (!along.has(row) || !name || name === COREFERENCE) return [];
    const middle = (answer: number): number => ((along.get(row) ?? 0) + (along.get(answer) ?? 0)) / 2;
    const arcs = decision.gold.map((answer) => ({ row, name, position: middle(answer), away: depth(row, answer) }));
    const root = sentence.heads[row] === -1 && name === sentence.relations[row];
    return root ? [...arcs, { row, name, position: along.get(row) ?? 0, away: reach + deepest }] : arcs;
  });
  const boxes = at.map(({ name, position, away }) => {
    const width = textWidth(name, 11) + 4;
    const [x, y] = upright ? [base + away + 5 + width / 2, position] : [position, base + away + 9];
    return { x, y, width, height: 12 };
  });
  return apart(boxes).map(({ x, y }, i) => ({ row: at[i]?.row ?? 0, name: at[i]?.name ?? "", x, y }));
}

/** The tip of an arrow that ends at a word: at `position` along the sentence, `away` across it, coming from `side`. */
function tip(position: number, shift: number, away: number, upright: boolean, side: 1 | -1): string {
  const [a, b, c] = [
    [position + shift, away],
    [position + shift - 3, away + side * 6],
    [position + shift + 3, away + side * 6],
  ].map(([along = 0, across = 0]) => (upright ? `${across} ${along}` : `${along} ${across}`));
  return `M${a}L${b}L${c}Z`;
}
