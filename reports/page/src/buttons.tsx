// The buttons that save a view as a figure, and its numbers.

import { useRef, useState } from "preact/hooks";
import type { Cell, Format } from "./export";
import { save, saveCsv } from "./export";
import type { View, Width } from "./paper";
import { WIDTHS } from "./paper";

const FORMATS: Format[] = ["SVG", "PNG", "PDF"];

interface Props extends View {
  name: string;
  rows?: () => Cell[][];
}

export function Buttons({ name, rows, ...view }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState<Width>("column");
  return (
    <div ref={frame} class="buttons" role="group" aria-label="Save this figure">
      <span aria-hidden="true">Save</span>
      {FORMATS.map((format) => (
        <button type="button" key={format} onClick={() => frame.current && void save(view, name, format, width, frame.current)}>
          {format}
        </button>
      ))}
      <select aria-label="Printed width" value={width} onChange={(event) => setWidth(event.currentTarget.value as Width)}>
        <option value="column">for a column, {WIDTHS.column} in</option>
        <option value="text">for the text, {WIDTHS.text} in</option>
      </select>
      {rows && (
        <button type="button" onClick={() => saveCsv(rows(), name)}>
          CSV
        </button>
      )}
    </div>
  );
}
