// What slots are filled with: the sentence of each, from the sample or from a server, with the head that is drawn.

import type { Explorer, LiveSentence, SampledSentence } from "./data";
import { headName } from "./data";
import type { DrawRequest } from "./live";
import { useLive } from "./live";
import { isText } from "./running";
import type { Slot } from "./slots";
import { headIn, NAMES, samplesOf, sourceOf } from "./slots";
import type { Source } from "./sources";
import type { View } from "./view";

export interface Filled {
  slot: Slot;
  source: Source;
  data: Explorer;
  kind: string;
  head: number;
  /** The id of the sentence that is asked for, of the sample or of the corpus; null for a text. Without heads, what is drawn has another one. */
  id: string | null;
  /** What is drawn; null until it is there. */
  sentence: SampledSentence | null;
  /** What a server says about it. */
  live: LiveSentence | null;
  /** The sentence of the sample, if it is one. */
  sampled: SampledSentence | null;
  waiting: boolean;
  problem: string;
}

const UNSERVED = "Only a page that has the model draws a text of your own: run “attentionology serve RUN”.";

/** What a slot asks a server for: a text, or what the sample does not have of one of its sentences. */
export function requestOf(which: number, slot: Slot, source: Source, text: string, id: string | null, sampled: SampledSentence | null): DrawRequest | null {
  if (source.model === null) return null;
  const name = NAMES[which] ?? "A";
  const common = { slot: name, model: source.model, kinds: [slot.kind], off: slot.off.map((head) => headName(head, source.data)) };
  if (text) return { ...common, text };
  if (source.run === null || id === null) return null;
  if (sampled && isText(sampled) && !slot.off.length) return null; // it is drawn as text
  return slot.off.length || !sampled?.maps[slot.kind] ? { ...common, run: source.run, sentence: id } : null;
}

function useSlot(which: number, slot: Slot, view: View, sources: Source[], text: string, id: string | null): Filled {
  const source = sourceOf(slot, sources);
  const { data } = source;
  const typed = source.model === null ? "" : text;
  const sampled = typed ? null : (samplesOf(source).find((each) => each.id === id) ?? null);
  const request = requestOf(which, slot, source, typed, id, sampled);
  const { answer, waiting } = useLive(request);
  const live = request ? (answer?.drawn ?? null) : null;
  const head = slot.head ?? headIn(view.head, sourceOf(view.slots[0], sources).data, data) ?? 0;
  const lacking = which && id !== null && !request && !sampled ? `The sample of ${source.name} does not have this sentence.` : "";
  const problem = text && !typed ? UNSERVED : (answer?.error ?? lacking);
  return { slot, source, data, kind: slot.kind, head, id: typed ? null : id, sentence: request ? (live?.sentence ?? null) : sampled, live, sampled, waiting, problem };
}

/** What both slots are filled with. `first` is the sentence that A shows if the view names none. */
export function useFilled(view: View, sources: Source[], first: SampledSentence | null): [Filled, Filled | null] {
  const [a, b] = view.slots;
  const id = a.sentence ?? first?.id ?? null;
  const one = useSlot(0, a, view, sources, a.text, id);
  const other = b ?? a; // hooks are called in the same order with and without B
  const two = useSlot(1, other, view, sources, b ? other.text || (other.sentence === null ? a.text : "") : "", b && (other.sentence ?? id));
  return [one, b && two];
}
