// The caption of a figure that leaves the page.

import type { Explorer } from "./data";

/** The version of the toolkit that wrote the page, if the page says so. */
function version(): string {
  const text = document.querySelector<HTMLMetaElement>("meta[name='generator']")?.content ?? "";
  return text || "attentionology";
}

/** What is drawn, of which model and corpus, and by which version; parts that are empty are left out. */
export function captionOf(data: Explorer, parts: (string | false | null)[]): string {
  const where = [data.model, data.corpus].filter(Boolean).join(" on ");
  return `${[where, ...parts].filter(Boolean).join(" · ").replace(/\.$/, "")}. ${version()}.`;
}
