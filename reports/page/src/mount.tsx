// Puts an explorer into an element. A page may have several.

import { render } from "preact";
import type { Bench } from "./data";
import { ExplorerApp } from "./explorer";

export interface Options {
  /** Whether the address of the page names the view. Only one explorer of a page should have it. */
  hash?: boolean;
  /** The address of the view to open with, such as `#head=3-9&view=arcs`. */
  address?: string;
  /** The styles, for a page that has its own, such as a notebook: neither reach the other. */
  styles?: string;
}

/**
 * Styles whose sizes are those of a page with the usual font. In the classic notebook, `rem` is 10 pixels, and no style in
 * an element can change that.
 */
export function inPixels(styles: string): string {
  return styles.replace(/(?<![\w.#])(\d*\.?\d+)rem\b/g, (_, length: string) => `${Number(length) * 16}px`);
}

/**
 * A place in `element` that the styles of the page do not reach. It is as light or dark as JupyterLab says, which does so
 * where these styles cannot see it.
 */
function apart(element: HTMLElement, styles: string): HTMLElement {
  element.replaceChildren();
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = inPixels(styles);
  const around = document.createElement("div");
  around.className = "atl-apart";
  const place = document.createElement("div");
  around.append(place);
  root.replaceChildren(sheet, around);
  const follow = (): void => {
    const light = document.body.dataset["jpThemeLight"];
    if (light) place.dataset["scheme"] = light === "true" ? "light" : "dark";
  };
  follow();
  new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  return place;
}

/** Show an explorer in `target`, in place of what is there. Returns a function that removes it. */
export function mount(target: HTMLElement, bench: Bench, options: Options = {}): () => void {
  const element = options.styles === undefined ? target : apart(target, options.styles);
  element.replaceChildren();
  element.classList.add("atl");
  render(<ExplorerApp bench={bench} hash={options.hash ?? false} opening={options.address ?? ""} />, element);
  return () => render(null, element);
}
