// What slots draw from: the runs of the page, each with the model that a server has loaded for it, and other models.

import type { Bench, Explorer, LiveModel } from "./data";

export interface Source {
  /** The positions of the run and of the live model; null if there is none. */
  run: number | null;
  model: number | null;
  /** What people choose it by. */
  name: string;
  data: Explorer;
  live: LiveModel | null;
}

/** The source of a page that is about one run, without a server. */
export function onlySource(data: Explorer): Source {
  return { run: 0, model: null, name: data.model, data, live: null };
}

/** What is known of a model that no run is about: its shape. */
function unmeasured({ name, layers, heads, causal }: LiveModel): Explorer {
  return { model: name, corpus: "", unit: "sentences", layers, heads, causal, measures: [], cards: [], findings: [], sample: null };
}

/** All sources of a page: its runs first. Runs of the same model are named by their corpora, too, or by numbers. */
export function sourcesOf({ runs, live }: Bench): Source[] {
  const models = live?.models ?? [];
  const named = [
    runs.map((run) => run.label || run.model),
    runs.map((run) => `${run.model} on ${run.corpus}`),
    runs.map((run, i) => `${run.model} (${i + 1})`),
  ];
  const names = named.find((list) => new Set(list).size === runs.length) ?? [];
  const ofRuns = runs.map((data, run): Source => {
    const model = models.findIndex((each) => each.run === run);
    return { run, model: model < 0 ? null : model, name: names[run] ?? data.model, data, live: models[model] ?? null };
  });
  const others = models.flatMap((live, model): Source[] => (live.run === null ? [{ run: null, model, name: live.name, data: unmeasured(live), live }] : []));
  return [...ofRuns, ...others];
}
