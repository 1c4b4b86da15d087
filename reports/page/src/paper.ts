// A view as a figure for a paper: drawn again as wide as it is printed, with its title, legend and caption, on white.

import type { VNode } from "preact";
import { render } from "preact";
import { textWidth } from "./drawing/text";

/** The widths of figures in inches: a column, and the text of a page. */
export const WIDTHS = { column: 3.03, text: 6.3 } as const;
export type Width = keyof typeof WIDTHS;

export interface View {
  /** The view, which is drawn again. */
  again: () => VNode;
  title: string;
  /** What is drawn, of which model and corpus, and the number of cases. */
  caption: string;
}

const STYLES = [
  ..."fill fill-opacity paint-order stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap opacity".split(" "),
  ..."font-family font-size font-style font-weight text-anchor dominant-baseline unicode-bidi visibility".split(" "),
];
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const INK = "#1b1f24";
const ROOM = 112; // pixels of a screen in an inch of paper, on which the smallest texts, of 11 pixels, then have 7 points
const MARGIN = 6;
const DRAWINGS = "svg.drawing, svg.matrix, svg.curves";
const WAIT = 5000; // milliseconds for a view to be drawn

function created(name: string, attributes: Record<string, string | number>, ...children: Node[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

function text(content: string, x: number, y: number, size: number, more: Record<string, string | number> = {}): SVGElement {
  const element = created("text", { x, y, "font-family": FONT, "font-size": size, fill: INK, ...more });
  element.textContent = content;
  return element;
}

/** A text in lines that are at most so wide. */
export function lines(content: string, size: number, width: number, measure = textWidth): string[] {
  const found: string[] = [];
  for (const word of content.split(" ")) {
    const last = found.at(-1);
    const longer = last === undefined ? word : `${last} ${word}`;
    if (last !== undefined && measure(longer, size) > width) found.push(word);
    else found[Math.max(0, found.length - 1)] = longer;
  }
  return found;
}

/** What stands below each other in a figure. */
class Column {
  readonly parts: SVGElement[] = [];
  height = MARGIN;
  constructor(public width: number) {}

  write(content: string, size: number, more: Record<string, string | number> = {}): void {
    for (const line of lines(content, size, this.width - 2 * MARGIN)) {
      this.height += size * 1.3;
      this.parts.push(text(line, MARGIN, this.height - size * 0.3, size, more));
    }
  }

  add(part: SVGElement, width: number, height: number): void {
    part.setAttribute("transform", `translate(0 ${this.height})`);
    this.parts.push(part);
    this.height += height;
    this.width = Math.max(this.width, width);
  }
}

/** A drawing with its styles as attributes, because it will have no style sheet. */
function plain(svg: SVGSVGElement): SVGElement {
  const styled = [...svg.querySelectorAll<SVGElement>("*")].map((element) => {
    const style = getComputedStyle(element);
    return { element, values: STYLES.map((name) => [name, style.getPropertyValue(name)] as const) };
  });
  for (const { element, values } of styled) {
    for (const { name } of [...element.attributes]) if (/^(data-|aria-|role$|tabindex$|class$|style$)/.test(name)) element.removeAttribute(name);
    for (const [name, value] of values) if (value) element.setAttribute(name, value);
  }
  return created("g", {}, ...svg.childNodes);
}

/** The small matrices of all heads, each as an image with its name. */
function images(grid: HTMLElement): SVGElement {
  const corner = grid.getBoundingClientRect();
  return created(
    "g",
    {},
    ...[...grid.querySelectorAll("canvas")].flatMap((canvas) => {
      const box = canvas.getBoundingClientRect();
      const [x, y] = [box.left - corner.left, box.top - corner.top];
      const name = text(canvas.parentElement?.textContent ?? "", x + box.width / 2, y + box.height + 9, 9, { "text-anchor": "middle" });
      const place = { x, y, width: box.width, height: box.height };
      const frame = created("rect", { ...place, fill: "none", stroke: "#c9ced6", "stroke-width": 0.5 });
      return [created("image", { ...place, href: canvas.toDataURL(), "image-rendering": "pixelated" }), frame, name];
    }),
  );
}

/** A gradient of the colors of a ramp. */
function gradient(element: Element, id: string): SVGElement {
  const image = getComputedStyle(element).backgroundImage;
  const colors = [...image.matchAll(/rgba?\([^)]*\)|color\([^)]*\)|transparent/g)].map(([color]) => color);
  if (image.includes("270deg")) colors.reverse();
  const stops = colors.map((color, i) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return created("stop", { offset: i / Math.max(1, colors.length - 1), "stop-color": `rgb(${red},${green},${blue})`, "stop-opacity": alpha });
  });
  return created("linearGradient", { id }, ...stops);
}

/** The parts of a legend in lines: texts, ramps of colors, and the lines that stand before texts. */
function legend(stage: Element, width: number): { part: SVGElement; height: number } {
  const group = created("g", {});
  let [x, y, ids] = [MARGIN, 12, 0];
  const place = (needed: number): number => {
    if (x > MARGIN && x + needed > width - MARGIN) [x, y] = [MARGIN, y + 15];
    x += needed;
    return x - needed;
  };
  const write = (content: string): void => {
    const trimmed = content.trim();
    if (trimmed) group.append(text(trimmed, place(textWidth(trimmed, 11) + 6), y, 11));
  };
  const stroke = (element: Element): void => {
    const style = getComputedStyle(element, "::before");
    const thickness = parseFloat(style.borderTopWidth) || 0;
    if (style.content === "none" || !thickness) return;
    const at = place(26);
    const dashes = { solid: "none", dashed: "6 3", dotted: "1.5 3" }[style.borderTopStyle] ?? "none";
    group.append(created("line", { x1: at, x2: at + 22, y1: y - 4, y2: y - 4, stroke: style.borderTopColor, "stroke-width": thickness, "stroke-dasharray": dashes }));
  };
  /** What an element holds, in which a text may consist of several nodes beside each other. */
  const inside = (element: Element): void => {
    let content = "";
    for (const child of element.childNodes) {
      if (!(child instanceof Element)) {
        content += child.textContent ?? "";
        continue;
      }
      write(content);
      content = "";
      walk(child);
    }
    write(content);
  };
  const walk = (node: Element): void => {
    if (node.classList.contains("ramp")) {
      const [at, id, size] = [place(84), `ramp-${ids++}`, { width: 78, height: 9 }];
      const mark = node.querySelector("i");
      group.append(gradient(node, id), created("rect", { x: at, y: y - 9, ...size, fill: `url(#${id})`, stroke: "#c9ced6", "stroke-width": 0.5 }));
      if (mark instanceof HTMLElement) {
        const middle = at + (parseFloat(mark.style.left) / 100) * size.width;
        group.append(created("line", { x1: middle, x2: middle, y1: y - 12, y2: y + 3, stroke: getComputedStyle(mark).backgroundColor, "stroke-width": 2 }));
      }
    } else if (node.classList.contains("sample")) {
      group.append(created("rect", { x: place(13), y: y - 9, width: 10, height: 10, fill: getComputedStyle(node).backgroundColor }));
    } else {
      const ramps = node.querySelectorAll(".ramp").length;
      if (ramps) x = place(84 * ramps + textWidth(node.textContent ?? "", 11) + 20); // a ramp and its ends are in one line
      stroke(node);
      inside(node);
      x += 8;
    }
  };
  for (const key of stage.querySelectorAll(".key, .scale, .categories")) inside(key);
  return { part: group, height: group.childNodes.length ? y + 6 : 0 };
}

async function settled(stage: Element): Promise<void> {
  const start = performance.now();
  const ready = (): boolean => stage.querySelector(`${DRAWINGS}, .thumbnails canvas`) !== null && !stage.querySelector("[aria-busy='true']");
  while (!ready() && performance.now() - start < WAIT) await new Promise((go) => setTimeout(go, 15));
}

/** Draw a view as a figure that is so wide, beside which it stays as it is on the screen. */
export async function figure({ again, title, caption }: View, width: Width, beside: Element): Promise<SVGSVGElement> {
  const room = Math.round(WIDTHS[width] * ROOM);
  const stage = document.createElement("div");
  stage.className = "atl atl-paper";
  stage.style.width = `${room}px`;
  (beside.closest(".atl")?.parentElement ?? document.body).append(stage);
  try {
    render(again(), stage);
    await settled(stage);
    const column = new Column(room);
    column.write(title, 12.5, { "font-weight": 600 });
    column.height += MARGIN;
    const key = legend(stage, room);
    const drawings = [...stage.querySelectorAll<SVGSVGElement>(DRAWINGS)];
    // The matrix has the curve of its layers below it, which is a figure of its own.
    for (const svg of drawings.filter(({ classList }) => classList[0] === drawings[0]?.classList[0])) {
      const { width: wide, height } = svg.viewBox.baseVal;
      column.add(plain(svg), wide, height + MARGIN);
    }
    const grid = stage.querySelector<HTMLElement>(".thumbnails");
    if (grid) column.add(images(grid), grid.offsetWidth, grid.offsetHeight + MARGIN);
    column.add(key.part, room, key.height);
    column.write(caption, 11, { fill: "#4d5560" });
    const [full, height] = [column.width, column.height + MARGIN];
    const ground = created("rect", { width: full, height, fill: "#ffffff" });
    const size = { width: `${WIDTHS[width]}in`, height: `${((WIDTHS[width] * height) / full).toFixed(4)}in` };
    return created("svg", { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${full} ${height}` }, ground, ...column.parts) as SVGSVGElement;
  } finally {
    render(null, stage);
    stage.remove();
  }
}
