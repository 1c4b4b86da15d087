// Below the explorer, the parts of a report are tabs, of which one is shown, with all of its headings but the first
// folded. A part with a section for each kind of map has a switch of maps, which switches all parts. The query of the
// address keeps both choices. Without this script, and on paper, all follow each other. A link to what is not shown
// shows it.

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that encodes nothing
  }
}

/** Fold every part of a section but the first: a heading with what follows it becomes `details`. */
function fold(section: HTMLElement): void {
  const headings = [...section.querySelectorAll<HTMLElement>(":scope > h3, :scope > h2:not(.part)")];
  for (const heading of headings.slice(1)) {
    const details = section.ownerDocument.createElement("details");
    details.className = "folded";
    const summary = section.ownerDocument.createElement("summary");
    heading.before(details);
    summary.append(heading);
    details.append(summary);
    for (let next = details.nextSibling; next && !headings.includes(next as HTMLElement); next = details.nextSibling) details.append(next);
  }
}

/** Let the query of the address say what is shown, if it is not what is shown at first. */
function keep(key: string, name: string | null): void {
  const address = new URL(location.href);
  if (name === null) address.searchParams.delete(key);
  else address.searchParams.set(key, name);
  try {
    history.replaceState(history.state, "", address);
  } catch {
    // This browser does not let a page that is a file change its address.
  }
}

type Show = (name: string) => void;
const SEVERAL = 2;

/** Put tabs before panels, which have a name in their data, and show one panel. A name that no panel has changes nothing. */
function tabbed(panels: HTMLElement[], key: "tab" | "map", label: string, onChoose: Show): Show {
  const names = panels.map((panel) => panel.dataset[key] ?? "");
  const [first] = panels;
  if (!first) return () => undefined;
  const page = first.ownerDocument;
  const bar = page.createElement("div");
  bar.className = key === "tab" ? "tabs" : "tabs maps";
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", label);
  const tabs = panels.map((panel, i) => {
    const tab = page.createElement("button");
    const number = page.querySelectorAll('[role="tab"]').length + i + 1;
    tab.type = "button";
    tab.id = `tab-${number}`;
    tab.textContent = names[i] ?? "";
    tab.setAttribute("role", "tab");
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.id ||= `panel-${number}`;
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => onChoose(names[i] ?? ""));
    bar.append(tab);
    return tab;
  });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (tabs.findIndex((tab) => tab.tabIndex === 0) + step + tabs.length) % tabs.length;
    onChoose(names[next] ?? "");
    tabs[next]?.focus();
  });
  first.before(bar);
  const show: Show = (name) => {
    if (!names.includes(name)) return;
    panels.forEach((panel, i) => panel.classList.toggle("unshown", names[i] !== name));
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(names[i] === name));
      tab.tabIndex = names[i] === name ? 0 : -1;
    });
  };
  show(names[0] ?? "");
  return show;
}

export function makeTabs(page: Document): void {
  const parts = [...page.querySelectorAll<HTMLElement>("main > [data-tab]")];
  const [first] = parts;
  if (!first || !page.getElementById("explorer")) return;
  parts.flatMap((part) => [part, ...part.querySelectorAll<HTMLElement>(":scope > div")]).forEach(fold);
  const mapped = parts.map((part) => [...part.querySelectorAll<HTMLElement>(":scope > [data-map]")]).filter((maps) => maps.length >= SEVERAL);
  const showPart = tabbed(parts, "tab", "Parts of the report", (name) => choosePart(name));
  const choosePart: Show = (name) => {
    showPart(name);
    keep("part", name === first.dataset["tab"] ? null : name);
  };
  const shown = mapped.map((maps) => tabbed(maps, "map", "Kinds of maps", (name) => chooseMap(name)));
  const chooseMap: Show = (name) => {
    for (const show of shown) show(name);
    keep("map", name === mapped[0]?.[0]?.dataset["map"] ? null : name);
  };
  const query = new URLSearchParams(location.search);
  showPart(query.get("part") ?? "");
  for (const show of shown) show(query.get("map") ?? "");
  const reveal = (hash: string): void => {
    const target = page.getElementById(hash.slice(1)) ?? page.querySelector<HTMLElement>(`[id="${CSS.escape(unescaped(hash.slice(1)))}"]`);
    const part = target?.closest<HTMLElement>("main > [data-tab]");
    if (!target || !part) return;
    choosePart(part.dataset["tab"] ?? "");
    const map = target.closest<HTMLElement>("[data-map]")?.dataset["map"];
    if (map) chooseMap(map);
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
