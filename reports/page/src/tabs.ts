// Below the explorer, the parts of a report are tabs, of which one is shown, with all of its parts but the first folded.
// Without this script, and on paper, they follow each other. A link to what is folded unfolds it.

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that encodes nothing
  }
}

/** Fold every part of a panel but the first: a heading with what follows it becomes `details`. */
function fold(panel: HTMLElement): void {
  const headings = [...panel.querySelectorAll<HTMLElement>(":scope > h3, :scope > h2:not(.part)")];
  for (const heading of headings.slice(1)) {
    const details = panel.ownerDocument.createElement("details");
    details.className = "folded";
    const summary = panel.ownerDocument.createElement("summary");
    heading.before(details);
    summary.append(heading);
    details.append(summary);
    for (let next = details.nextSibling; next && !headings.includes(next as HTMLElement); next = details.nextSibling) details.append(next);
  }
}

export function makeTabs(page: Document): void {
  const panels = [...page.querySelectorAll<HTMLElement>("main > [data-tab]")];
  const [first] = panels;
  if (!first || !page.getElementById("explorer")) return;
  const bar = page.createElement("div");
  bar.className = "tabs";
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", "Parts of the report");
  const tabs = panels.map((panel, i) => {
    const tab = page.createElement("button");
    tab.type = "button";
    tab.id = `tab-${i + 1}`;
    tab.textContent = panel.dataset["tab"] ?? "";
    tab.setAttribute("role", "tab");
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.id ||= `panel-${i + 1}`;
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => show(i));
    bar.append(tab);
    fold(panel);
    return tab;
  });
  const show = (index: number): void => {
    panels.forEach((panel, i) => panel.classList.toggle("unshown", i !== index));
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
    });
  };
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = (at + step + tabs.length) % tabs.length;
    show(next);
    tabs[next]?.focus();
  });
  first.before(bar);
  show(0);
  const reveal = (hash: string): void => {
    const target = page.getElementById(hash.slice(1)) ?? page.querySelector<HTMLElement>(`[id="${CSS.escape(unescaped(hash.slice(1)))}"]`);
    const index = target ? panels.findIndex((panel) => panel.contains(target)) : -1;
    if (!target || index < 0) return;
    show(index);
    for (let folded = target.closest("details"); folded; folded = folded.parentElement?.closest("details") ?? null) folded.open = true;
    target.scrollIntoView({ block: "start" });
  };
  page.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href^='#']");
    if (link) reveal(link.hash);
  });
  addEventListener("hashchange", () => reveal(location.hash));
  addEventListener("beforeprint", () => page.querySelectorAll<HTMLDetailsElement>("main details.folded").forEach((each) => (each.open = true)));
  reveal(location.hash);
}
