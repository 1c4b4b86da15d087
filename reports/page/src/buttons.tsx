// The buttons that save a figure and its numbers.

import type { Cell } from "./export";
import { saveCsv, savePng, saveSvg } from "./export";

interface Props {
  svg: () => SVGSVGElement | null;
  name: string;
  title: string;
  rows: () => Cell[][];
}

export function Buttons({ svg, name, title, rows }: Props) {
  const save = (write: (element: SVGSVGElement, name: string, title: string) => unknown) => () => {
    const element = svg();
    if (element) write(element, name, title);
  };
  return (
    <div class="buttons" role="group" aria-label="Save this figure">
      <span aria-hidden="true">Save</span>
      <button type="button" onClick={save(saveSvg)}>
        SVG
      </button>
      <button type="button" onClick={save(savePng)}>
        PNG
      </button>
      <button type="button" onClick={() => saveCsv(rows(), name)}>
        CSV
      </button>
    </div>
  );
}
