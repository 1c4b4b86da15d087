// Tables that can be sorted by any column, and long ones that can be filtered. Without this script they are as readable.

const SORTED_FROM = 4; // rows
const FILTERED_FROM = 12;
const FOLDED_FROM = 4; // gray rows
const LEFT_FROM = 3; // other rows

/** The number that a cell starts with, such as 91.8 in "91.8 [88.3, 94.9]", or null. */
export function leadingNumber(text: string): number | null {
  const match = /^[([]?\s*([+\u2212-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)/i.exec(text.trim());
  if (!match?.[1]) return null;
  return Number(match[1].replaceAll(",", "").replace("−", "-"));
}

interface Row {
  row: HTMLTableRowElement;
  position: number;
}

function text(row: HTMLTableRowElement, column: number): string {
  return row.cells[column]?.textContent?.trim() ?? "";
}

/** Order rows by a column: by number if most cells are numbers, else by text. Empty cells and dashes come last. */
function ordered(rows: Row[], column: number, descending: boolean): Row[] {
  const heads = rows.some(({ row }) => /^\d+-\d+\b/.test(text(row, column)));
  const numbers = new Map(rows.map(({ row }) => [row, heads ? null : leadingNumber(text(row, column))]));
  const numeric = [...numbers.values()].filter((value) => value !== null).length * 2 > rows.length;
  const empty = ({ row }: Row): boolean => (numeric ? numbers.get(row) === null : /^[\u2013\u2014-]?$/.test(text(row, column)));
  const compare = (a: Row, b: Row): number =>
    numeric
      ? (numbers.get(a.row) ?? 0) - (numbers.get(b.row) ?? 0)
      : text(a.row, column).localeCompare(text(b.row, column), "en", { numeric: true });
  return [...rows].sort((a, b) => {
    const last = Number(empty(a)) - Number(empty(b));
    return last || (descending ? -1 : 1) * compare(a, b) || a.position - b.position;
  });
}

function sortable(table: HTMLTableElement, headers: HTMLTableCellElement[], body: HTMLTableSectionElement): void {
  const rows = [...body.rows].map((row, position) => ({ row, position }));
  headers.forEach((header, column) => {
    if (!header.textContent?.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      // The first click shows the largest numbers first, but words from A to Z; the third restores the order of the page.
      const words = rows.filter(({ row }) => leadingNumber(text(row, column)) === null).length * 2 > rows.length;
      const orders = words ? ["ascending", "descending", "none"] : ["descending", "ascending", "none"];
      const order = orders[(orders.indexOf(header.ariaSort ?? "none") + 1) % 3] ?? "none";
      for (const other of headers) other.removeAttribute("aria-sort");
      if (order !== "none") header.ariaSort = order;
      body.append(...(order === "none" ? rows : ordered(rows, column, order === "descending")).map(({ row }) => row));
    });
  });
  table.classList.add("sortable");
}

function filterable(table: HTMLTableElement, body: HTMLTableSectionElement): void {
  const label = document.createElement("label");
  label.className = "filter";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Filter rows";
  input.setAttribute("aria-label", "Filter the rows of this table");
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  label.append(input, status);
  (table.closest(".scroll") ?? table).before(label);
  const rows = [...body.rows];
  input.addEventListener("input", () => {
    table.classList.toggle("searched", input.value.trim() !== "");
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = row.textContent?.toLowerCase() ?? "";
      row.hidden = !words.every((word) => content.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    status.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
}

/** Fold the gray rows of a long table, such as those of rare relations, behind a button. Searching looks at them, too. */
function foldable(table: HTMLTableElement, body: HTMLTableSectionElement): void {
  const rare = [...body.rows].filter((row) => row.classList.contains("rare")).length;
  if (rare < FOLDED_FROM || body.rows.length - rare < LEFT_FROM) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold";
  const show = (all: boolean): void => {
    table.classList.toggle("brief", !all);
    button.setAttribute("aria-expanded", String(all));
    button.textContent = all ? `Hide the ${rare} gray rows` : `Show ${rare} more rows, which are gray`;
  };
  button.addEventListener("click", () => show(table.classList.contains("brief")));
  show(false);
  (table.closest(".scroll") ?? table).after(button);
}

/** Make the tables of a page sortable, except for those of the explorer, and those whose cells span rows. */
export function enhanceTables(page: Document): void {
  for (const table of page.querySelectorAll<HTMLTableElement>("main table")) {
    const [body] = table.tBodies;
    const headers = [...(table.tHead?.rows[0]?.cells ?? [])];
    const spans = table.querySelector("[rowspan], [colspan]");
    if (table.tHead?.rows.length !== 1 || table.tBodies.length !== 1 || !body || spans || table.closest(".atl")) continue;
    if (body.rows.length >= SORTED_FROM) sortable(table, headers, body);
    if (body.rows.length >= FILTERED_FROM) {
      filterable(table, body);
      foldable(table, body);
    }
  }
  // What is wider than the screen can be scrolled with the keyboard. What a tab hides has a width when it is shown.
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) reachable(target as HTMLElement);
  });
  for (const region of page.querySelectorAll<HTMLElement>("main .scroll, main figure:not(.atl figure)")) observer.observe(region);
}

function reachable(region: HTMLElement): void {
  if (region.scrollWidth > region.clientWidth) {
    region.tabIndex = 0;
    if (region.tagName === "FIGURE") return; // its caption or picture names it
    const headings = [...(region.closest("[data-tab]") ?? region.ownerDocument).querySelectorAll("h2, h3, h4")];
    const before = headings.filter((heading) => heading.compareDocumentPosition(region) & Node.DOCUMENT_POSITION_FOLLOWING);
    const name = before[before.length - 1]?.textContent?.trim();
    const same = [...region.ownerDocument.querySelectorAll('[role="region"]')].filter((each) => each !== region && each.getAttribute("aria-label")?.startsWith(`Table: ${name}`)).length;
    region.setAttribute("role", "region");
    if (!region.hasAttribute("aria-label")) region.setAttribute("aria-label", `Table: ${name}${same ? `, ${same + 1}` : ""}`);
  } else {
    region.removeAttribute("tabindex");
    if (region.tagName !== "FIGURE") region.removeAttribute("role");
  }
}
