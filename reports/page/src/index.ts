// What the page loads: `attentionology.mount`, and the explorer, tables and contents of a report.

import { followContents } from "./contents";
import type { Bench } from "./data";
import "./explorer.css";
import { linkHeads } from "./heads";
import { UNANSWERED } from "./live";
import { mount } from "./mount";
import { enhanceTables } from "./tables";
import { makeTabs } from "./tabs";

let explored: Bench | null = null;

/**
 * Show the explorer of a report. It comes first in the page, so it is shown before the rest has been read. A server has its
 * data in a file of its own, which the element names.
 */
function explore(): void {
  const element = document.getElementById("explorer");
  const data = document.getElementById("explorer-data")?.textContent;
  const file = element?.dataset["bench"];
  if (!element) return;
  if (file) {
    // A notebook frames the page, and says whether it is light or dark.
    const scheme = new URLSearchParams(location.search).get("scheme");
    if (scheme === "light" || scheme === "dark") {
      document.documentElement.style.colorScheme = scheme;
      element.dataset["scheme"] = scheme;
    }
    void fetch(file)
      .then((response) => response.json())
      .then((bench: Bench) => mount(element, bench, { hash: true }))
      .then(() => window.parent !== window && window.parent.postMessage("attentionology", "*")) // it is there
      .catch(() => {
        element.textContent = UNANSWERED;
      });
  }
  if (!data) return;
  explored = JSON.parse(data) as Bench;
  mount(element, explored, { hash: true });
}

function enhance(): void {
  enhanceTables(document);
  makeTabs(document);
  const [run, ...others] = explored?.runs ?? [];
  if (run?.measures.length && !others.length) linkHeads(document, run);
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
