// The map of a head as a matrix: a row for each word that attends, and a column for each word attended to.

import { useMemo, useState } from "preact/hooks";
import { GoldLinks } from "./gold";
import type { DrawingProps } from "./panel";
import type { Panel } from "./panel";
import { cell, shownValue } from "./panel";
import { useShapes, Values } from "./shapes";
import { strokes } from "./strokes";
import { fontSize, isolated, shortened, textWidth } from "./text";
import type { Place } from "./word";
import { Words } from "./word";
import { columnsOf } from "../data";
import { valueAt } from "../inflate";
import type { Word } from "../view";

const TITLE = 26;
const LEAST = 210; // the width that a title takes
const SPACE = 8; // between the words and the cells
const LONGEST = 110;
const EDGE = 6; // the space at the side of a matrix that has no words
const SMALLEST = 9; // the size of a cell whose words are still legible

export interface GridLayout {
  width: number;
  height: number;
  size: number;
  step: number;
  left: number;
  top: number;
}

/** The layout of a matrix, which is `width` pixels wide or less unless its words would not be legible. */
export function gridLayout({ sentence, rows, columns, width }: Pick<DrawingProps, "sentence" | "rows" | "columns" | "width">): GridLayout {
  const words = columnsOf(sentence).words;
  const largest = fontSize(Math.max(rows.length, columns.length));
  const widest = (names: string[], shown: number[]): number =>
    Math.max(26, ...shown.map((index) => textWidth(shortened(names[index] ?? "", largest, LONGEST), largest, true)));
  const [beside, above] = [widest(sentence.rows, rows), widest(words, columns)];
  const room = (width - beside - SPACE - 14) / Math.max(1, columns.length);
  const step = Math.max(SMALLEST, Math.min(Math.round(largest * 1.9), Math.floor(room)));
  const size = Math.min(largest, step / 1.15);
  const left = Math.ceil((beside * size) / largest) + SPACE + 6;
  const top = TITLE + Math.ceil((above * size) / largest) + SPACE;
  return { width: left + Math.max(LEAST, step * columns.length + 8), height: top + step * rows.length + 4, size, step, left, top };
}

/** The value of a cell, with its sign if it is a difference. */
function shownDifference(panel: Panel, row: number, column: number): string {
  if (panel.absent?.rows.has(row) || panel.absent?.columns.has(column)) return "–";
  const below = panel.below ? valueAt(panel.below, row, column) : 0;
  return below > 0 ? `−${shownValue(panel, below)}` : `${panel.below ? "+" : ""}${shownValue(panel, valueAt(panel.map, row, column))}`;
}

export function Grid(props: DrawingProps & { layout: GridLayout }) {
  const { panel, sentence, rows, columns, focus, stop, layout, mirrored } = props;
  const { top, step } = layout;
  // The first column is the one where reading begins, next to the words that attend.
  const left = mirrored ? EDGE : layout.left;
  const right = left + step * columns.length;
  const [pointed, setPointed] = useState<[number, number] | null>(null);
  const { rowAt, columnAt, path, all, shown, values } = useShapes(
    props,
    layout,
    {
      row: (position) => top + step * position,
      column: (position) => (mirrored ? right - step * (position + 1) : left + step * position),
      path: (y, x) => `M${x} ${y}h${step}v${step}h${-step}z`,
    },
    Infinity,
  );
  const less = useMemo(
    () => panel.below && strokes(panel.below, rows, columns, (row, column) => path(row, column) ?? "", { most: Infinity }),
    [panel.below, rows, columns, layout],
  );
  const words = columnsOf(sentence).words;
  const pair = sentence.columns !== null;
  const cellAt = (event: PointerEvent): [number, number] | null => {
    const frame = (event.currentTarget as SVGElement).getBoundingClientRect();
    const across = (event.clientX - frame.x) / frame.width;
    const column = columns[Math.floor((mirrored ? 1 - across : across) * columns.length)];
    const row = rows[Math.floor(((event.clientY - frame.y) / frame.height) * rows.length)];
    return row === undefined || column === undefined ? null : [row, column];
  };
  const drawnWords = (side: Word["side"], label: string) => {
    const at = pointed?.[side === "row" ? 0 : 1];
    const marked = [...(focus?.side === side ? [focus.index] : []), ...(at === undefined ? [] : [at])];
    const place = (index: number): Place =>
      side === "row"
        ? { x: mirrored ? right + SPACE : left - SPACE, y: (rowAt.get(index) ?? 0) + step / 2, anchor: mirrored ? "start" : "end", left: mirrored ? right + 2 : 0, width: layout.left - 2, height: step }
        : { x: 0, y: 0, anchor: "start", left: -SPACE + 2, width: top - TITLE, height: step, transform: `translate(${(columnAt.get(index) ?? 0) + step / 2} ${top - SPACE}) rotate(-90)` };
    const state = (index: number): string => (panel.absent?.[side === "row" ? "rows" : "columns"].has(index) ? "absent" : "");
    return (
      <Words
        {...{ label: `${panel.title}: ${label}`, panel, sentence, side, indices: side === "row" ? rows : columns, layout, place, state, most: LONGEST, marked }}
        stop={stop.side === side ? stop.index : null}
        values={focus?.side === side ? null : values}
      />
    );
  };
  const outlined = (row: number, column: number, name: string) => {
    const box = path(row, column);
    return box && <path key={`${row} ${column} ${name}`} class={name} d={box} />;
  };
  return (
    <g>
      <text class="title" x={left} y={11}>
        {panel.title}
        {pointed && (
          <tspan class="value">
            {`  ${isolated(sentence.rows[pointed[0]])} → ${isolated(words[pointed[1]])} ${shownDifference(panel, pointed[0], pointed[1])}`}
          </tspan>
        )}
      </text>
      <Values shapes={all} name={focus ? "cells faded" : "cells"} filled />
      {shown && <Values shapes={shown} name="cells" filled />}
      {less && <Values shapes={less} name="cells less" filled />}
      <rect
        class="grid"
        x={left}
        y={top}
        width={step * columns.length}
        height={step * rows.length}
        onPointerMove={(event) => {
          const next = cellAt(event);
          if (next?.join() !== pointed?.join()) setPointed(next);
        }}
        onPointerLeave={() => setPointed(null)}
      />
      <g class="outlines">
        {pair && <GoldLinks links={sentence.links} focus={null} path={path} />}
        {panel.decisions.map((decision) => (
          <g key={decision.rows[0]}>
            {!pair && decision.verdict !== "right" && decision.gold.map((answer) => outlined(...cell(panel, decision, answer), "gold"))}
            {decision.verdict && decision.guess !== null && outlined(...cell(panel, decision, decision.guess), `guess ${decision.verdict}`)}
          </g>
        ))}
      </g>
      {drawnWords("row", "words that attend")}
      {drawnWords("column", "words attended to")}
    </g>
  );
}
