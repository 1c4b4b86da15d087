// Heads that tables and captions name lead to the explorer: to the measure of the row's relation, if there is one.

import type { Explorer, Measure } from "./data";
import { headIndex } from "./data";
import { better } from "./address";

const NAME = /^(\d+-\d+)(?=$|\s|\()/;

/** The measure that a row is about: of those of its relation, the one in which the head has its best value. */
export function measureOf(data: Explorer, relation: string, head: number): Measure | null {
  let best: Measure | null = null;
  for (const measure of data.measures) {
    const value = measure.values[head] ?? null;
    if (measure.relation !== relation || measure.center !== null || value === null) continue;
    const record = best?.values[head] ?? null;
    if (record === null || better(measure, value, record)) best = measure;
  }
  return best;
}

/** The address of the view of a head that a row of a table names, or null if the model has no such head. */
export function addressOf(data: Explorer, name: string, relation: string): string | null {
  const head = headIndex(name, data);
  if (head === null) return null;
  const measure = measureOf(data, relation, head);
  return `#head=${name}${measure ? `&measure=${encodeURIComponent(measure.id)}` : ""}`;
}

/** Make links of the heads in the cells of tables. */
export function linkHeads(page: Document, data: Explorer): void {
  for (const cell of page.querySelectorAll<HTMLTableCellElement>("main [data-tab] td")) {
    const text = cell.firstChild;
    const name = text?.nodeType === Node.TEXT_NODE ? NAME.exec(text.nodeValue?.trim() ?? "")?.[1] : undefined;
    const relation = cell.parentElement?.firstElementChild?.textContent?.trim() ?? "";
    const address = name && addressOf(data, name, relation);
    if (!name || !address || !text) continue;
    const link = page.createElement("a");
    link.href = address;
    link.textContent = name;
    const rest = page.createTextNode((text.nodeValue ?? "").trim().slice(name.length));
    text.replaceWith(link, rest);
  }
}
