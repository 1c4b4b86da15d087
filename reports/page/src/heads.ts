// Heads that tables and captions name lead to the explorer: to the measure of the row's relation, if there is one.

import type { Explorer, Measure } from "./data";
import { headIndex } from "./data";
import { better } from "./question";

const NAME = /^(\d+-\d+)(?=$|\s|\()/;

/**
 * The measure that a row is about: of those of its relation, the one in which the head has its best value. In a section
 * about one kind of map it is one of this kind.
 */
export function measureOf(data: Explorer, relation: string, head: number, map = ""): Measure | null {
  const kinds = new Set(data.measures.map((measure) => measure.kind));
  let best: Measure | null = null;
  for (const measure of data.measures) {
    const value = measure.values[head] ?? null;
    if (kinds.has(map) && measure.kind !== map) continue;
    if (measure.relation !== relation || measure.center !== null || value === null) continue;
    const record = best?.values[head] ?? null;
    if (record === null || better(measure, value, record)) best = measure;
  }
  return best;
}

/**
 * The address of the view of a head that a row of a table or a text names, or null if the model has no such head. It
 * shows the kind of map that is drawn for its measure, or that its section is about.
 */
export function addressOf(data: Explorer, name: string, relation: string, map = ""): string | null {
  const head = headIndex(name, data);
  if (head === null) return null;
  const measure = measureOf(data, relation, head, map);
  const kind = data.sample?.kinds.includes(map) ? `&kind=${encodeURIComponent(map)}` : "";
  return `#head=${name}${measure ? `&measure=${encodeURIComponent(measure.id)}` : ""}${kind}`;
}

function linkTo(page: Document, address: string, name: string): HTMLAnchorElement {
  const link = page.createElement("a");
  link.href = address;
  link.textContent = name;
  return link;
}

/** The heads that a text names after the word “head” or “heads”, as the ranges of their names. */
export function namedHeads(text: string): [number, number][] {
  const found: [number, number][] = [];
  for (const list of text.matchAll(/\bheads? (\d+-\d+(?:(?:, | and |, and )\d+-\d+)*)(?![\d-])/gi)) {
    const start = list.index + list[0].length - (list[1]?.length ?? 0);
    for (const name of (list[1] ?? "").matchAll(/\d+-\d+/g)) found.push([start + name.index, start + name.index + name[0].length]);
  }
  return found;
}

function linkText(page: Document, text: Text, data: Explorer, map: string): void {
  const value = text.nodeValue ?? "";
  const pieces: (string | HTMLAnchorElement)[] = [];
  let end = 0;
  for (const [from, to] of namedHeads(value)) {
    const name = value.slice(from, to);
    const address = addressOf(data, name, "", map);
    if (!address) continue;
    pieces.push(value.slice(end, from), linkTo(page, address, name));
    end = to;
  }
  if (pieces.length) text.replaceWith(...pieces, value.slice(end));
}

/** Make links of the heads in the cells of tables, and of those that sentences name. */
export function linkHeads(page: Document, data: Explorer): void {
  const mapOf = (element: Element): string => element.closest<HTMLElement>("[data-map]")?.dataset["map"] ?? "";
  for (const link of page.querySelectorAll<HTMLAnchorElement>("main [data-map] a[href^='#head=']")) {
    const map = mapOf(link); // a section does not know of which map its part of the page is
    if (!link.hash.includes("&kind=") && data.sample?.kinds.includes(map)) link.hash += `&kind=${encodeURIComponent(map)}`;
  }
  for (const cell of page.querySelectorAll<HTMLTableCellElement>("main [data-tab] td")) {
    const text = cell.firstChild;
    const name = text?.nodeType === Node.TEXT_NODE ? NAME.exec(text.nodeValue?.trimStart() ?? "")?.[1] : undefined;
    const relation = cell.parentElement?.firstElementChild?.textContent?.trim() ?? "";
    const address = name && addressOf(data, name, relation, mapOf(cell));
    if (!name || !address || !text) continue;
    text.replaceWith(linkTo(page, address, name), (text.nodeValue ?? "").trimStart().slice(name.length));
  }
  for (const element of page.querySelectorAll<HTMLElement>("main [data-tab] :is(p, li, dd, figcaption)")) {
    for (const node of [...element.childNodes]) {
      if (node.nodeType === Node.TEXT_NODE) linkText(page, node as Text, data, mapOf(element));
    }
  }
}
