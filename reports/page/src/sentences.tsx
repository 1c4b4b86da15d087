// Sentences of the sample: those that a head gets right and those that it gets wrong, and one of them drawn.

import { useMemo, useRef } from "preact/hooks";
import type { View } from "./address";
import { CopyLink, Drawings, Heads, OneOf, SomeOf } from "./controls";
import type { Explorer, Sample, SampledSentence } from "./data";
import { columnsOf, headName, inputName } from "./data";
import { AllHeads } from "./drawing/all";
import { Figure } from "./drawing/figure";
import { ensembleName, ensembleOf } from "./ensembles";
import { arrow, count, percent } from "./format";
import type { Go } from "./hooks";
import { ignored, useName, usePromise } from "./hooks";
import { canInflate, Maps } from "./inflate";
import type { Example } from "./judging";
import { directionsOf, examples, filtered, first, reversed } from "./judging";
import { Concordance } from "./concordance";
import { Predictions } from "./predictions";
import { search } from "./search";
import { sorted } from "./sorting";
import type { Task } from "./tasks";
import { relationsOf, tasks } from "./tasks";
import { storedUses } from "./uses";

interface Props {
  data: Explorer;
  sample: Sample;
  view: View;
  go: Go;
}

/** What is drawn of a sentence. */
interface Drawn {
  view: View;
  sentence: SampledSentence;
  asked: Task[];
  guesses: string;
  title: string;
}

/** The view with another relation and direction, and with the measure of the same group that is about them. */
function asked(view: View, relation: string | null, direction: string | null, data: Explorer): View {
  const current = data.measures.find((measure) => measure.id === view.measure);
  const same = data.measures.filter((item) => item.relation === relation && item.direction === direction);
  const measure = same.find((item) => item.group === current?.group && item.kind === current.kind) ?? same[0];
  const follows = current?.relation !== null && measure;
  return { ...view, relation, direction, measure: follows ? measure.id : view.measure, sentence: null, word: null };
}

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

export function Sentences({ data, sample, view, go }: Props) {
  const id = useName();
  const maps = useMemo(() => new Maps(), [data]);
  const source = useMemo(() => storedUses(data, maps), [data, maps]);
  const relations = useMemo(() => relationsOf(sample.sentences), [sample]);
  const [head = 0] = view.heads;
  const [kind = ""] = view.kinds;
  const relation = view.relation;
  const directions = useMemo(() => directionsOf(sample.sentences, relation), [sample, relation]);
  const direction = view.direction !== null && directions.includes(view.direction) ? view.direction : (directions[0] ?? null);
  const current: View = { ...view, direction };
  const question = { head, kind, relation, direction };
  // What a head is compared with: the second head, or else the second kind of map.
  const [, otherHead] = view.heads;
  const otherKind = otherHead === undefined ? view.kinds[1] : kind;
  const other = otherKind === undefined ? null : { ...question, head: otherHead ?? head, kind: otherKind };
  const list = usePromise(
    async () => (canInflate ? sorted(await examples(data, maps, question), view.sort, data, maps, question, other) : []),
    [data, maps, head, kind, relation, direction, view.sort, ...(view.sort === "disagreement" ? [otherHead, otherKind] : [])],
  );
  const ensemble = relation === null ? undefined : ensembleOf(data, relation, kind);
  const averaged = usePromise(
    () => (canInflate && ensemble && view.ensemble ? examples(data, maps, { head, kind, relation, direction, ensemble }) : Promise.resolve(null)),
    [data, maps, kind, relation, view.ensemble],
  );
  const searched = search(view.search);
  const shown = list ? filtered(list, view.show, searched ?? (() => true)) : [];
  const chosen: SampledSentence | null =
    sample.sentences.find((sentence) => sentence.id === view.sentence) ?? first(shown)?.sentence ?? null;
  const { right, judged } = sums(list ?? []);
  const judgedHere = useMemo(() => (chosen ? tasks(chosen, relation) : []), [chosen, relation]);
  const title = [chosen?.id, data.model, relation, direction && arrow(direction)].filter(Boolean).join(" · ");
  // While the sample of a head is read, no sentence is chosen yet, and what was drawn before stays.
  const held = useRef<Drawn | null>(null);
  const reading = list === null && chosen === null;
  if (!reading) held.current = chosen && { view: current, sentence: chosen, asked: judgedHere, guesses: direction ?? "", title };
  const drawn = held.current;
  const goOn = reading ? ignored : go;
  const position = shown.findIndex((example) => example.sentence === chosen);
  const choose = (sentence: SampledSentence | undefined, replace = false): void => {
    if (sentence) go({ ...view, sentence: sentence.id, word: null }, replace);
  };
  const known = relation === null || relations.some(([name]) => name === relation) || /^all\b/.test(relation);
  const noun = inputName(sample);
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
        {!pairs && <div class="field">
          <label for={`${id}-relation`}>Relation</label>
          <select id={`${id}-relation`} value={relation ?? ""} onChange={(event) => go(asked(view, event.currentTarget.value || null, direction, data))}>
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
            onChange={(value) => go({ ...asked(view, relation, value, data), sentence: view.sentence })}
          />
        )}
        {sample.kinds.length > 1 && <SomeOf label="Map" options={sample.kinds} values={view.kinds} onChange={(kinds) => go({ ...view, kinds })} />}
        <Drawings view={view} go={go} pair={chosen !== null && chosen.columns !== null} all />
        {ensemble && (
          <label class="check" title="Draw the average of the maps of these heads, each as it is read">
            <input type="checkbox" checked={view.ensemble} onChange={(event) => go({ ...view, ensemble: event.currentTarget.checked })} />
            ensemble {ensembleName(ensemble)}
          </label>
        )}
        <Heads data={data} heads={view.heads} onChange={(heads) => go({ ...view, heads })} />
      </div>
        <div class="drawn" aria-busy={reading}>
          {drawn && (
            <>
              <div class="pager">
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
                <CopyLink />
                <small>
                  <bdi>{drawn.sentence.id}</bdi>
                  {place(drawn.sentence) !== drawn.sentence.id && (
                    <>
                      {" "}
                      · <bdi>{place(drawn.sentence)}</bdi>
                    </>
                  )}{" "}
                  · {size(drawn.sentence)}
                </small>
              </div>
              {drawn.view.drawing === "all" ? <AllHeads data={data} view={drawn.view} go={goOn} maps={maps} sentence={drawn.sentence} /> : <Figure data={data} go={goOn} maps={maps} {...drawn} />}
              <Predictions data={data} view={drawn.view} go={goOn} sentence={drawn.sentence} />
            </>
          )}
        </div>
        <div class="listing">
          <Concordance
            {...{ source, question, other, noun }}
            sentences={sample.sentences}
            kept={view}
            onKeep={(change, replace) => go({ ...view, ...change, ...("sort" in change ? {} : { sentence: null, word: null }) }, replace)}
            chosen={{ sentence: drawn?.sentence.id ?? null, word: view.sentence === null ? null : (view.word?.index ?? null) }}
            onChoose={(use) => go({ ...view, sentence: use.sentence, word: { side: reversed(direction) ? "column" : "row", index: use.word } })}
            name={`${headName(head, data)}-${relation ?? "any"}`}
          />
        </div>
      <p class="note">{sample.note}</p>
    </section>
  );
}
