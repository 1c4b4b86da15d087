// The words in two columns, with a line for each value: from the words that attend to those attended to.

import { useMemo } from "preact/hooks";
import { GoldLinks } from "./gold";
import type { DrawingProps, WordValue } from "./panel";
import { cell, involves, many, shownValue, strength, visible } from "./panel";
import { useShapes, Values } from "./shapes";
import { fontSize, shortened, textWidth } from "./text";
import type { Place } from "./word";
import { Words } from "./word";
import { columnsOf } from "../data";
import { verdictsOf } from "../tasks";
import type { Word } from "../view";

const TOP = 38;
const GAP = 420;
const NARROWEST = 60;
const VALUE = 46; // the room for a number beside a word: “100 %” or “1.2e-5”
const WIDEST = 130;

export interface LinesLayout {
  width: number;
  height: number;
  size: number;
  step: number;
  left: number;
  right: number;
  most: number;
}

/** The layout of a panel in two columns, which is `width` pixels wide or less. Lines have the room that words leave. */
export function linesLayout({ sentence, rows, columns, width }: Pick<DrawingProps, "sentence" | "rows" | "columns" | "width">): LinesLayout {
  const n = Math.max(rows.length, columns.length);
  const size = fontSize(n);
  const step = Math.round(size * 1.55);
  const most = Math.min(WIDEST, Math.max(96, (width - NARROWEST - 2 * VALUE - 24) / 2));
  const widest = (words: string[], shown: number[]): number =>
    Math.max(26, ...shown.map((i) => textWidth(shortened(words[i] ?? "", size, most), size, true)));
  const sides = [widest(sentence.rows, rows), widest(columnsOf(sentence).words, columns)] as const;
  const gap = Math.max(NARROWEST, Math.min(GAP, width - sides[0] - sides[1] - 2 * VALUE - 12));
  const left = VALUE + sides[0] + 6;
  const right = left + gap;
  return { width: Math.ceil(right + sides[1] + 6 + VALUE), height: TOP + step * n + 4, size, step, left, right, most };
}

export function Lines(props: DrawingProps & { layout: LinesLayout }) {
  const { panel, sentence, rows, columns, focus, stop, layout } = props;
  const { left, right, step, size } = layout;
  const pair = sentence.columns !== null;
  const mirrored = props.mirrored && !pair; // what is attended to is further on in reading: on the left
  const [from, to] = mirrored ? [right - 5, left + 5] : [left + 5, right - 5];
  const middle = (position: number): number => TOP + step * (position + 0.5);
  const { rowAt, columnAt, path, all, shown, values } = useShapes(props, layout, {
    row: middle,
    column: middle,
    path: (row, column) => `M${from} ${row}L${to} ${column}`,
  });
  const faint = many(panel); // lines of full strength would hide each other
  const asked = useMemo(() => verdictsOf(panel.decisions), [panel]);

  const words = (side: Word["side"], label: string) => {
    const at = side === "row" ? rowAt : columnAt;
    const atLeft = (side === "row") !== mirrored;
    const box = atLeft ? { left: VALUE - 4, width: left + 7 - VALUE } : { left: right - 3, width: layout.width - VALUE + 7 - right };
    const place = (index: number): Place => ({ x: atLeft ? left : right, y: at.get(index) ?? 0, anchor: atLeft ? "end" : "start", ...box, height: step });
    const state = (index: number): string => {
      const judged = !pair || side === "row" ? asked.get(index) : undefined;
      return !faint && (side === "column") === panel.reversed && judged !== undefined ? `asked ${judged ?? ""}` : "";
    };
    const indices = side === "row" ? rows : columns;
    const marked = focus?.side === side ? [focus.index] : [];
    const beside = focus?.side === side ? null : values;
    const number = (index: number, { byte, value }: WordValue) =>
      byte >= 3 && (
        <text key={index} class="value" x={atLeft ? VALUE - 8 : layout.width - VALUE + 8} y={at.get(index) ?? 0} text-anchor={atLeft ? "end" : "start"} font-size={size - 2.5}>
          {shownValue(panel, value)}
        </text>
      );
    return (
      <>
        <Words {...{ label: `${panel.title}: ${label}`, panel, sentence, side, indices, layout, place, state, most: layout.most, marked, values: beside }} stop={stop.side === side ? stop.index : null} />
        {beside && <g>{[...beside].map(([index, value]) => number(index, value))}</g>}
      </>
    );
  };
  return (
    <g>
      <text class="title" x={(left + right) / 2} y={11} text-anchor="middle">
        {panel.title}
      </text>
      <text class="axis" x={left} y={28} text-anchor="end">
        {pair ? "target" : mirrored ? "to" : "from"}
      </text>
      <text class="axis" x={right} y={28}>
        {pair ? "source" : mirrored ? "from" : "to"}
      </text>
      {pair && <GoldLinks links={sentence.links} focus={focus} path={path} />}
      <Values shapes={all} name={focus ? "base faded" : "base"} />
      {shown && <Values shapes={shown} name="base shown" />}
      {panel.decisions.map((decision) => {
        if (!involves(decision, sentence, focus)) return null;
        if (panel.every && !focus && decision.verdict === "wrong") return null; // its line is drawn as the weight is
        const drawn = ([row, column]: [number, number]): string | null => path(row, column);
        const guess = decision.guess === null || decision.verdict === null ? null : drawn(cell(panel, decision, decision.guess));
        const missed = pair || decision.verdict === "right" || (faint && !focus) ? [] : decision.gold.map((answer) => drawn(cell(panel, decision, answer)));
        return (
          <g key={decision.rows[0]}>
            {missed.map((path) => path && <path key={path} class="gold" d={path} />)}
            {guess && <path class={`guess ${decision.verdict}`} d={guess} style={{ strokeOpacity: faint && !focus ? strength(panel, decision) : visible(panel, decision) }} />}
          </g>
        );
      })}
      {words("row", "words that attend")}
      {words("column", "words attended to")}
    </g>
  );
}
