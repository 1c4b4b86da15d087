// The contents of the page: which part is in view is marked, and on narrow screens they fold into a menu.

export function followContents(page: Document): void {
  const menu = page.querySelector<HTMLDetailsElement>(".contents details");
  if (!menu) return;
  const narrow = matchMedia("(max-width: 64rem)");
  const folds = (): boolean => narrow.matches || page.getElementById("explorer") !== null;
  const fold = (): void => {
    menu.open = !folds();
  };
  narrow.addEventListener("change", fold);
  fold();
  const links = new Map<Element, HTMLAnchorElement>();
  for (const link of menu.querySelectorAll<HTMLAnchorElement>("a[href^='#']")) {
    const target = page.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (target) links.set(target, link);
    link.addEventListener("click", () => {
      if (folds()) menu.open = false;
    });
  }
  const mark = (): void => {
    let current: HTMLAnchorElement | undefined;
    const top = parseFloat(getComputedStyle(page.documentElement).scrollPaddingTop) + 12; // where a link scrolls to
    for (const [target, link] of links) {
      link.removeAttribute("aria-current");
      if (target.getClientRects().length && target.getBoundingClientRect().top < top) current = link;
    }
    // What is at the end of the page cannot be scrolled that far up.
    const atEnd = scrollY + innerHeight >= page.documentElement.scrollHeight - 2;
    const named = atEnd ? [...links].find(([target, link]) => link.hash === location.hash && target.getClientRects().length)?.[1] : undefined;
    current = named ?? current;
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
