// What the page loads: `attentionology.mount`, and the explorer, tables and contents of a report.

import { followContents } from "./contents";
import type { Explorer } from "./data";
import "./explorer.css";
import { mount } from "./mount";
import { enhanceTables } from "./tables";

function start(): void {
  const element = document.getElementById("explorer");
  const data = document.getElementById("explorer-data")?.textContent;
  if (element && data) mount(element, JSON.parse(data) as Explorer, { hash: true });
  enhanceTables(document);
  followContents(document);
}

const page = globalThis as { attentionology?: { mount: typeof mount } };
const loaded = page.attentionology !== undefined; // in a notebook, every cell brings this file along
page.attentionology ??= { mount };
if (!loaded && document.documentElement.dataset["attentionology"] === "report") {
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
}
