// Saves figures as SVG and PNG, on white paper also if the page is dark, and numbers as CSV.

export type Cell = string | number | null;

const STYLES = [
  ..."fill fill-opacity paint-order stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap opacity".split(" "),
  ..."font-family font-size font-style font-weight text-anchor dominant-baseline unicode-bidi visibility".split(" "),
];
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const HEADER = 26;

/** A copy of a figure that stands alone: with its styles written out, a title, and a white ground. */
function standalone(svg: SVGSVGElement, title: string): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const width = svg.viewBox.baseVal.width;
  const height = svg.viewBox.baseVal.height;
  const stage = document.createElement("div");
  stage.className = "atl atl-paper";
  stage.append(copy);
  (svg.closest(".atl") ?? document.body).append(stage);
  for (const element of copy.querySelectorAll<SVGElement>("*")) {
    const style = getComputedStyle(element);
    const written = STYLES.map((name) => [name, style.getPropertyValue(name)]).filter(([, value]) => value);
    element.setAttribute("data-style", written.map(([name, value]) => `${name}:${value}`).join(";"));
  }
  for (const element of copy.querySelectorAll<SVGElement>("*")) {
    element.setAttribute("style", element.getAttribute("data-style") ?? "");
    for (const { name } of [...element.attributes]) {
      if (/^(data-|aria-|role$|tabindex$|class$)/.test(name)) element.removeAttribute(name);
    }
  }
  stage.remove();
  const created = (name: string, attributes: Record<string, string | number>): SVGElement => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    return element;
  };
  const heading = created("text", { x: 4, y: 16, fill: "#1b1f24", "font-family": FONT, "font-size": 12 });
  heading.textContent = title;
  const body = created("g", { transform: `translate(0 ${HEADER})` });
  body.append(...copy.childNodes);
  const full = Math.max(width, 8 + title.length * 6.3);
  copy.replaceChildren(created("rect", { width: full, height: height + HEADER, fill: "#ffffff" }), heading, body);
  for (const { name } of [...copy.attributes]) copy.removeAttribute(name);
  const attributes = { xmlns: "http://www.w3.org/2000/svg", width: full, height: height + HEADER };
  for (const [key, value] of Object.entries(attributes)) copy.setAttribute(key, String(value));
  copy.setAttribute("viewBox", `0 0 ${full} ${height + HEADER}`);
  return copy;
}

function download(content: BlobPart, type: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveSvg(svg: SVGSVGElement, name: string, title: string): void {
  const text = new XMLSerializer().serializeToString(standalone(svg, title));
  download(text, "image/svg+xml", `${name}.svg`);
}

export async function savePng(svg: SVGSVGElement, name: string, title: string): Promise<void> {
  const copy = standalone(svg, title);
  const [width, height] = ["width", "height"].map((key) => Number(copy.getAttribute(key))) as [number, number];
  const scale = Math.min(3, 8000 / Math.max(width, height)); // browsers limit the size of a canvas
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && download(blob, "image/png", `${name}.png`));
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
