// The contents of the page: which part is in view is marked, and on narrow screens they fold into a menu.

export function followContents(page: Document): void {
  const menu = page.querySelector<HTMLDetailsElement>(".contents details");
  if (!menu) return;
  const narrow = matchMedia("(max-width: 64rem)");
  const fold = (): void => {
    menu.open = !narrow.matches;
  };
  narrow.addEventListener("change", fold);
  fold();
  const links = new Map<Element, HTMLAnchorElement>();
  for (const link of menu.querySelectorAll<HTMLAnchorElement>("a[href^='#']")) {
    const target = page.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (target) links.set(target, link);
    link.addEventListener("click", () => {
      if (narrow.matches) menu.open = false;
    });
  }
  const mark = (): void => {
    let current: HTMLAnchorElement | undefined;
    const top = parseFloat(getComputedStyle(page.documentElement).scrollPaddingTop) + 12; // where a link scrolls to
    for (const [target, link] of links) {
      link.removeAttribute("aria-current");
      if (target.getBoundingClientRect().top < top) current = link;
    }
    current ??= links.values().next().value;
    current?.setAttribute("aria-current", "true");
  };
  let waiting = false;
  addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}
