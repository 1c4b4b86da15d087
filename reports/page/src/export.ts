// Saves figures as SVG, PNG and PDF, and numbers as CSV.

import type { View, Width } from "./paper";
import { figure, WIDTHS } from "./paper";

export type Cell = string | number | null;

const DOTS = 300; // in an inch of a PNG

function download(content: BlobPart, type: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export type Format = "SVG" | "PNG" | "PDF";

/** Save a view as a figure. A PDF is made by the browser, whose dialog for printing opens. */
export async function save(view: View, name: string, format: Format, width: Width, beside: Element): Promise<void> {
  const svg = await figure(view, width, beside);
  if (format === "PDF") print(svg, name);
  else if (format === "PNG") await savePng(svg, name, width);
  else download(new XMLSerializer().serializeToString(svg), "image/svg+xml", `${name}.svg`);
}

async function savePng(svg: SVGSVGElement, name: string, width: Width): Promise<void> {
  const { width: wide, height } = svg.viewBox.baseVal;
  const scale = Math.min((WIDTHS[width] * DOTS) / wide, 8000 / Math.max(wide, height)); // browsers limit the size of a canvas
  svg.setAttribute("width", String(wide * scale));
  svg.setAttribute("height", String(height * scale));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(wide * scale);
  canvas.height = Math.ceil(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && download(blob, "image/png", `${name}.png`));
}

/** Print a figure alone, on a page of its size. Rules are set by script, which works where no inline styles are allowed. */
function print(svg: SVGSVGElement, name: string): void {
  const sheet = new CSSStyleSheet();
  const [width, height] = [svg.getAttribute("width"), svg.getAttribute("height")];
  sheet.replaceSync(
    `@page { size: ${width} ${height}; margin: 0; }
     @media print { html, body { margin: 0 !important; padding: 0 !important; } body > :not(.atl-printed) { display: none !important; } }
     @media screen { .atl-printed { display: none; } }
     .atl-printed svg { display: block; }`,
  );
  const printed = document.createElement("div");
  printed.className = "atl-printed";
  printed.append(svg);
  document.body.append(printed);
  document.adoptedStyleSheets.push(sheet);
  const title = document.title;
  document.title = name; // the name that browsers suggest for the file
  addEventListener(
    "afterprint",
    () => {
      printed.remove();
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
      document.title = title;
    },
    { once: true },
  );
  globalThis.print();
}

/** Rows as CSV. A cell is quoted if it must be. */
export function csv(rows: Cell[][]): string {
  const quoted = (cell: Cell): string => {
    const text = cell === null ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(quoted).join(",") + "\n").join("");
}

export function saveCsv(rows: Cell[][], name: string): void {
  download(csv(rows), "text/csv;charset=utf-8", `${name}.csv`);
}
