// Which values of a map are drawn. Values of the same byte share one SVG path, so a map has at most 255 of them.

import type { HeadMap } from "../inflate";
import { shadesOf } from "../inflate";

/** Values below this share of the largest possible one are not drawn; they would be invisible. */
const VISIBLE = 6 / 255;
/** No more lines than this are drawn at once. */
const MOST = 2500;

export interface Strokes {
  /** SVG path data by byte, faint ones first, so that strong lines lie on top. */
  paths: { byte: number; path: string }[];
  drawn: number;
  /** The least value that is drawn. */
  least: number;
}

interface Choice {
  /** Which cells are drawn. */
  wanted?: (row: number, column: number) => boolean;
  /** How many cells are drawn at most: those of the largest values. */
  most?: number;
}

/** What is drawn for the visible cells of a map, such as lines from the positions of its rows to those of its columns. */
export function strokes(
  map: HeadMap,
  rows: number[],
  columns: number[],
  line: (row: number, column: number) => string,
  { wanted = () => true, most = MOST }: Choice = {},
): Strokes {
  const histogram = new Uint32Array(256);
  const shades = shadesOf(map);
  const each = (use: (row: number, column: number, byte: number) => void): void => {
    for (const row of rows) {
      for (const column of columns) {
        const byte = shades[row * map.columns + column] ?? 0;
        if (byte && wanted(row, column)) use(row, column, byte);
      }
    }
  };
  each((_row, _column, byte) => (histogram[byte] = (histogram[byte] ?? 0) + 1));
  let least = 255;
  let drawn = 0;
  for (; least >= VISIBLE * 255; least--) {
    const next = histogram[least] ?? 0;
    if (drawn + next > most) break;
    drawn += next;
  }
  least += 1;
  const pieces = new Map<number, string[]>();
  each((row, column, byte) => {
    if (byte < least) return;
    const list = pieces.get(byte);
    if (list) list.push(line(row, column));
    else pieces.set(byte, [line(row, column)]);
  });
  const paths = [...pieces].sort((a, b) => a[0] - b[0]).map(([byte, parts]) => ({ byte, path: parts.join("") }));
  return { paths, drawn, least: (least / 255) * map.scale };
}
