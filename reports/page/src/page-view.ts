// The view that is shown, and the address of the page, which follow each other.

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { address, firstView, parameters, restore } from "./address";
import type { Source } from "./sources";
import type { Go, View } from "./view";

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
