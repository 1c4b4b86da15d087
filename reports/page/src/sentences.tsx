// Sentences of the sample: those that a head gets right and those that it gets wrong, and one of them drawn.

import { useMemo, useState } from "preact/hooks";
import { Bench } from "./bench";
import { Concordance } from "./concordance";
import { CopyLink, Drawings, OneOf } from "./controls";
import type { Sample, SampledSentence } from "./data";
import { columnsOf, headName, inputName } from "./data";
import { ensembleName, ensembleOf } from "./ensembles";
import { useFilled } from "./filled";
import { arrow, count, percent, withUnit } from "./format";
import { useName, usePromise } from "./hooks";
import { canInflate, mapsOf } from "./inflate";
import type { Example } from "./judging";
import { directionsOf, examples, filtered, first, reversed } from "./judging";
import { bestAnswer, typeIn, withBest } from "./question";
import { isText } from "./running";
import { search } from "./search";
import { answers, wholeUses } from "./served";
import { sourceOf } from "./slots";
import { sorted } from "./sorting";
import type { Source } from "./sources";
import { COREFERENCE, relationsOf } from "./tasks";
import { storedUses } from "./uses";
import type { Go, View } from "./view";
import { withHead, withSlot } from "./view";

interface Props {
  sources: Source[];
  view: View;
  go: Go;
}

const NONE: SampledSentence[] = [];

/** The sample of a model that has read nothing yet. */
const EMPTY: Sample = { kinds: [], note: "", sentences: [] };

/** The file and the line of a sentence. */
function place(sentence: SampledSentence): string {
  return sentence.file + (sentence.line === null ? "" : `:${sentence.line}`);
}

/** The numbers of words of a sentence, or of a sentence and its translation. */
function size(sentence: SampledSentence): string {
  const words = (special: boolean[]): number => special.filter((value) => !value).length;
  if (sentence.columns === null) return count(words(sentence.special), "word");
  return `${words(sentence.special)} target and ${words(columnsOf(sentence).special)} source words`;
}

function sums(list: Example[]): { right: number; judged: number; asked: number } {
  const add = (number: (example: Example) => number): number => list.reduce((sum, example) => sum + number(example), 0);
  return { right: add(({ right }) => right), judged: add(({ judged }) => judged), asked: add(({ decisions }) => decisions.length) };
}

function rate(right: number, judged: number): string {
  return `${right.toLocaleString("en")} of ${judged.toLocaleString("en")} right in this sample (${percent(right / judged)})`;
}

/** How often an ensemble is right, and how often the stored values do not decide what it picks. */
function ensembleRate(list: Example[]): string {
  const { right, judged, asked } = sums(list);
  const unsure = asked > judged ? `; too close to tell after rounding: ${asked - judged}` : "";
  return judged ? `ensemble: ${rate(right, judged)}${unsure}` : "";
}

export function Sentences({ sources, view, go }: Props) {
  const id = useName();
  const [slot, second] = view.slots;
  const source = sourceOf(slot, sources);
  const { data } = source;
  const sample = data.sample ?? EMPTY;
  const maps = mapsOf(data);
  const stored = useMemo(() => storedUses(data, maps), [data, maps]);
  const relations = useMemo(() => relationsOf(sample.sentences), [sample]);
  const { head } = view;
  const { kind } = slot;
  const relation = view.relation;
  const directions = useMemo(() => directionsOf(sample.sentences, relation), [sample, relation]);
  const direction = view.direction !== null && directions.includes(view.direction) ? view.direction : (directions[0] ?? null);
  const question = { head, kind, relation, direction };
  const type = typeIn(view);
  const best = bestAnswer({ ...view, direction }, data);
  const ask = (change: Partial<Pick<View, "relation" | "tag">>): void => go(withBest(withSlot({ ...view, direction }, 0, { sentence: null }), change, data));
  // What a head is compared with: the head and the kind of map of B, if it is about the same run.
  // A server that has the model of the run reads the whole corpus, unless the stored sentences are asked for.
  const [whole, setWhole] = useState(true);
  const { run } = source;
  const served = source.live !== null && run !== null && answers(sample, relation);
  const [uses, otherUses] = useMemo(() => {
    if (!served || !whole || run === null) return [stored, stored] as const;
    return [wholeUses("A", run, data, stored), wholeUses("B", run, data, stored)] as const;
  }, [stored, data, run, served, whole]);
  const beside = second && sourceOf(second, sources) === source ? { ...question, head: second.head ?? head, kind: second.kind } : null;
  const other = beside && (beside.head !== head || beside.kind !== kind) ? beside : null;
  const list = usePromise(
    async () => (canInflate ? sorted(await examples(data, maps, { ...question, type }), view.sort, data, maps, question, other) : []),
    [data, maps, head, kind, relation, type, direction, view.sort, view.sort === "disagreement" && other ? `${other.head} ${other.kind}` : ""],
  );
  const ensemble = relation === null ? undefined : ensembleOf(data, relation, kind);
  const averaged = usePromise(
    () => (canInflate && ensemble && view.ensemble ? examples(data, maps, { head, kind, relation, direction, type, ensemble }) : Promise.resolve(null)),
    [data, maps, kind, relation, type, view.ensemble],
  );
  const searched = search(view.search);
  const shown = list ? filtered(list, view.show, searched ?? (() => true)) : [];
  const sampled = sample.sentences.find((sentence) => sentence.id === slot.sentence);
  const away = slot.sentence !== null && !sampled && source.live !== null && run !== null; // it is one of the corpus
  const chosen: SampledSentence | null = sampled ?? (away ? null : (first(shown)?.sentence ?? null));
  const filled = useFilled(view, sources, chosen);
  // Without a sample, the directions are those in which what was typed has guesses, if it was typed with its tree.
  const typedIn = sample.sentences.length ? [] : directionsOf(filled.flatMap((each) => each?.sentence ?? []), relation);
  const read = typedIn.find((each) => each === view.direction) ?? typedIn[0] ?? direction;
  const { right, judged } = sums(list ?? []);
  // While the sample of a head is read, no sentence is chosen yet, and what was drawn before stays.
  const reading = list === null && chosen === null && !away && !slot.text && sample.sentences.length > 0;
  const typed = slot.text !== "" && source.model !== null;
  const position = typed ? -1 : shown.findIndex((example) => example.sentence === chosen);
  const choose = (sentence: SampledSentence | undefined, replace = false): void => {
    if (sentence) go(withSlot(view, 0, { sentence: sentence.id, text: "" }), replace);
  };
  const pair = filled[0].sentence !== null && filled[0].sentence.columns !== null;
  const known = relation === null || relations.some(([name]) => name === relation) || /^all\b/.test(relation);
  const noun = sample.sentences.length ? inputName(sample) : "sentence";
  const pairs = noun !== "sentence";
  const totals = [...new Set(data.measures.map((measure) => measure.relation))].filter((name) => name?.startsWith("all"));
  if (!canInflate) {
    return <p>This browser cannot inflate the stored maps. Browsers from 2024 or later can.</p>;
  }
  return (
    <section class="sentences" aria-label={pairs ? "Sentence pairs" : "Sentences"}>
      <h3>
        {pairs ? "Sentence pairs" : "Sentences"} <small>{judged > 0 && `head ${headName(head, data)}: ${rate(right, judged)}`}</small>
        {averaged && <small>{ensembleRate(averaged)}</small>}
      </h3>
      <div class="controls">
        {!pairs && sample.sentences.length > 0 && <div class="field">
          <label for={`${id}-relation`}>Relation</label>
          <select id={`${id}-relation`} value={relation ?? ""} onChange={(event) => ask({ relation: event.currentTarget.value || null })}>
            <option value="">any</option>
            {totals.map((name) => name && <option key={name}>{name}</option>)}
            {relations.map(([name, n]) => (
              <option key={name} value={name}>
                {name} (n = {n.toLocaleString("en")})
              </option>
            ))}
            {!known && <option value={relation ?? ""}>{relation} (not in the sample)</option>}
          </select>
        </div>}
        {directions.length > 1 && (
          <OneOf
            label="Direction"
            options={directions.map((value) => ({ value, text: arrow(value) }))}
            value={direction ?? ""}
            onChange={(value) => go(withBest(view, { direction: value }, data))}
          />
        )}
        {best && (
          <div class="field">
            <span>Best head</span>
            <button
              type="button"
              disabled={best.head === head}
              aria-label={`Best head: ${headName(best.head, data)} · ${withUnit(best.measure.values[best.head], best.measure)}`}
              onClick={() => go(withHead(view, best.head))}
            >
              {headName(best.head, data)} · {withUnit(best.measure.values[best.head], best.measure)}
            </button>
          </div>
        )}
        <Drawings view={view} go={go} pair={pair} mapless={filled[0].sentence !== null && isText(filled[0].sentence)} all difference={second ? "A − B" : null} />
        {ensemble && (
          <label class="check" title="Draw the average of the maps of these heads, each as it is read">
            <input type="checkbox" checked={view.ensemble} onChange={(event) => go({ ...view, ensemble: event.currentTarget.checked })} />
            ensemble {ensembleName(ensemble)}
          </label>
        )}
      </div>
      <div class="drawn" aria-busy={reading}>
        <div class="pager">
          {sample.sentences.length > 0 && (
            <>
              <button type="button" disabled={position <= 0} onClick={() => choose(shown[position - 1]?.sentence)} aria-label={`Previous ${noun}`}>
                ←
              </button>
              <button
                type="button"
                disabled={position < 0 || position + 1 >= shown.length}
                onClick={() => choose(shown[position + 1]?.sentence)}
                aria-label={`Next ${noun}`}
              >
                →
              </button>
            </>
          )}
          <CopyLink />
          {away && !typed && (
            <small>
              <bdi>{slot.sentence}</bdi>, which is not stored in the page
            </small>
          )}
          {chosen && !typed && (
            <small>
              <bdi>{chosen.id}</bdi>
              {chosen.file && place(chosen) !== chosen.id && (
                <>
                  {" "}
                  · <bdi>{place(chosen)}</bdi>
                </>
              )}{" "}
              · {size(chosen)}
            </small>
          )}
        </div>
        <Bench {...{ view, go, sources, filled, chosen, direction: read, reading }} />
        {!sources.some(({ live }) => live) && (
          <p class="note live-hint">
            To type sentences of your own here, serve this page with its model: <code>attentionology serve RUN</code>.
          </p>
        )}
      </div>
      {sample.sentences.length > 0 && (
        <div class="listing">
          {served && (
            <div class="controls">
              <OneOf
                label="Uses in"
                options={[
                  { value: "corpus", text: "the whole corpus" },
                  { value: "stored", text: count(sample.sentences.length, "stored sentence") },
                ]}
                value={whole ? "corpus" : "stored"}
                onChange={(value) => setWhole(value === "corpus")}
              />
            </div>
          )}
          <Concordance
            {...{ source: uses, otherSource: otherUses, question, other }}
            noun={served && whole && relation === COREFERENCE ? "window" : noun}
            sentences={served && whole ? NONE : sample.sentences}
            kept={view}
            onKeep={(change, replace) => {
              if (change.tag !== undefined && relation === COREFERENCE) ask({ tag: change.tag });
              else go({ ...("sort" in change ? view : withSlot(view, 0, { sentence: null })), ...change }, replace);
            }}
            chosen={{ sentence: typed ? null : (slot.sentence ?? chosen?.id ?? null), word: slot.sentence === null ? null : (view.word?.index ?? null) }}
            onChoose={(use) =>
              go({ ...withSlot(view, 0, { sentence: use.sentence, text: "" }), word: { side: reversed(direction) ? "column" : "row", index: use.row } })
            }
            name={`${headName(head, data)}-${relation ?? "any"}`}
          />
        </div>
      )}
      <p class="note">{sample.note}</p>
    </section>
  );
}
