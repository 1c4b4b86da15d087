// What the page loads: `attentionology.mount`, and the explorer, tables and contents of a report.

import { followContents } from "./contents";
import type { Bench, Explorer } from "./data";
import "./explorer.css";
import { linkHeads } from "./heads";
import { mount } from "./mount";
import { enhanceTables } from "./tables";
import { makeTabs } from "./tabs";

/** Show the explorer of a report. It comes first in the page, so it is shown before the rest has been read. */
let explored: Explorer | null = null;

function explore(): void {
  const element = document.getElementById("explorer");
  const data = document.getElementById("explorer-data")?.textContent;
  if (!element || !data) return;
  const bench = JSON.parse(data) as Bench;
  [explored = null] = bench.runs;
  mount(element, bench, { hash: true });
}

function enhance(): void {
  enhanceTables(document);
  makeTabs(document);
  if (explored?.measures.length) linkHeads(document, explored);
  followContents(document);
}

const page = globalThis as { attentionology?: { mount: typeof mount } };
const loaded = page.attentionology !== undefined; // in a notebook, every cell brings this file along
page.attentionology ??= { mount };
if (!loaded && document.documentElement.dataset["attentionology"] === "report") {
  explore();
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", enhance);
  else enhance();
}
