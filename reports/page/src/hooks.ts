// What components share: the width of an element, what promises give, and moves by keys.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

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
