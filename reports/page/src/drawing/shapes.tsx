// What lines and matrices share: a shape for each value of a map, and those of the row or column at hand.

import { memo } from "preact/compat";
import { useMemo } from "preact/hooks";
import type { DrawingProps, WordValue } from "./panel";
import { valuesOf } from "./panel";
import type { Strokes } from "./strokes";
import { strokes } from "./strokes";

/** Where the rows and columns are that are drawn, by their position among them, and the path of a value. */
export interface Places {
  row: (position: number) => number;
  column: (position: number) => number;
  path: (row: number, column: number) => string;
}

export interface Shapes {
  rowAt: Map<number, number>;
  columnAt: Map<number, number>;
  /** The path of a value, or null if its row or column is not drawn. */
  path: (row: number, column: number) => string | null;
  all: Strokes;
  /** The shapes of the row or column at hand, and its values by the words of the other side; null without one. */
  shown: Strokes | null;
  values: Map<number, WordValue> | null;
}

/** The shapes of all values of a panel. They are made again when `layout` changes, on which `places` depends. */
export function useShapes({ panel, rows, columns, focus }: DrawingProps, layout: object, places: Places, most?: number): Shapes {
  const rowAt = useMemo(() => new Map(rows.map((row, i) => [row, places.row(i)])), [rows, layout]);
  const columnAt = useMemo(() => new Map(columns.map((column, i) => [column, places.column(i)])), [columns, layout]);
  const path = (row: number, column: number): string => places.path(rowAt.get(row) ?? 0, columnAt.get(column) ?? 0);
  const all = useMemo(() => strokes(panel.map, rows, columns, path, most === undefined ? {} : { most }), [panel.map, rows, columns, layout]);
  const wanted = (row: number, column: number): boolean => (focus?.side === "row" ? row : column) === focus?.index;
  const shown = useMemo(
    () => focus && strokes(panel.map, rows, columns, path, { wanted }),
    [panel.map, rows, columns, layout, focus?.side, focus?.index],
  );
  const values = focus && new Map(valuesOf(panel, focus, focus.side === "row" ? columns : rows).map((item) => [item.index, item]));
  return { rowAt, columnAt, path: (row, column) => (rowAt.has(row) && columnAt.has(column) ? path(row, column) : null), all, shown, values };
}

/** Shapes that are as opaque as their values are large: lines, or filled cells. */
export const Values = memo(function Values({ shapes, name, filled = false }: { shapes: Strokes; name: string; filled?: boolean }) {
  return (
    <g class={name}>
      {shapes.paths.map(({ byte, path }) => (
        <path key={byte} d={path} {...{ [filled ? "fill-opacity" : "stroke-opacity"]: (byte / 255).toFixed(4) }} />
      ))}
    </g>
  );
});
