// Puts an explorer into an element. A page may have several.

import { render } from "preact";
import type { Bench } from "./data";
import { ExplorerApp } from "./explorer";

export interface Options {
  /** Whether the address of the page names the view. Only one explorer of a page should have it. */
  hash?: boolean;
  /** The address of the view to open with, such as `#head=3-9&view=arcs`. */
  address?: string;
}

/** Show an explorer in `element`, in place of what is there. Returns a function that removes it. */
export function mount(element: HTMLElement, bench: Bench, options: Options = {}): () => void {
  element.replaceChildren();
  element.classList.add("atl");
  render(<ExplorerApp bench={bench} hash={options.hash ?? false} opening={options.address ?? ""} />, element);
  return () => render(null, element);
}
