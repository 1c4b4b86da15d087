// What components share: the view and its address, the width of an element, and what promises give.

import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { View } from "./address";
import { address, firstView, parameters, restore } from "./address";
import type { Source } from "./sources";

/** Shows another view. With `replace`, the button Back skips the view that was shown before. */
export type Go = (view: View, replace?: boolean) => void;

/** Shows no other view: what is asked of a drawing whose view is no longer the current one. */
export const ignored: Go = () => undefined;

function dataOf([first]: Source[]): Source["data"] {
  if (!first) throw new Error("the page has neither runs nor models");
  return first.data;
}

function viewOf(hash: string, base: View, sources: Source[]): { view: View; missing: string[] } {
  const values = parameters(hash);
  return values ? restore(values, base, dataOf(sources), sources) : { view: base, missing: [] };
}

/**
 * The view that is shown, which is the one that `opening` names at first. It follows the address of the page, and the
 * address follows it, if `hash` is true.
 */
export function useView(sources: Source[], hash: boolean, opening: string): { view: View; missing: string[]; go: Go } {
  const base = useMemo(() => viewOf(opening, firstView(dataOf(sources), sources), sources).view, [sources, opening]);
  const [state, setState] = useState(() => viewOf(hash ? location.hash : "", base, sources));
  useEffect(() => {
    if (!hash) return undefined;
    const follow = (): void => {
      if (location.hash === "" || parameters(location.hash)) setState(viewOf(location.hash, base, sources));
    };
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
    };
  }, [sources, hash, base]);
  const go = useCallback<Go>(
    (view, replace = false) => {
      setState({ view, missing: [] });
      if (!hash) return;
      const target = address(view, dataOf(sources), base, sources);
      if (replace) history.replaceState(null, "", target);
      else history.pushState(null, "", target);
    },
    [sources, hash, base],
  );
  return { ...state, go };
}

/** The width of an element in pixels, which is followed as it changes. */
export function useWidth<E extends Element>(): [RefObject<E | null>, number] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = (): void => setWidth(Math.floor(element.getBoundingClientRect().width));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** What a promise gives, and null until then. An answer that comes too late for its question is dropped. */
export function usePromise<T>(make: () => Promise<T>, dependencies: unknown[]): T | null {
  const [answer, setAnswer] = useState<{ of: unknown[]; value: T } | null>(null);
  // It begins before the page is painted: what waits for a frame, and then for another one, is seen to be late.
  useLayoutEffect(() => {
    let wanted = true;
    make().then(
      (value) => wanted && setAnswer({ of: dependencies, value }),
      (error: unknown) => console.error(error),
    );
    return () => {
      wanted = false;
    };
  }, dependencies);
  const current = answer?.of.length === dependencies.length && answer.of.every((item, i) => item === dependencies[i]);
  return current ? answer.value : null;
}

/** Moves through a list of items with the arrow keys, of which one is in the order of the Tab key. */
export function moved(key: string, index: number, length: number, perRow = 1): number | null {
  const targets: Record<string, number> = {
    ArrowDown: index + perRow,
    ArrowUp: index - perRow,
    ArrowRight: index + 1,
    ArrowLeft: index - 1,
    Home: 0,
    End: length - 1,
  };
  const target = targets[key];
  return target !== undefined && target >= 0 && target < length ? target : null;
}

let ids = 0;

/** An id that no other element of the page has, also if the page has several explorers. */
export function useName(): string {
  return useState(() => `atl-${++ids}`)[0];
}
