// Slots A and B side by side, on one scale, or B subtracted from A.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveSentence, SampledSentence } from "./data";
import { columnsOf, headName, rowsOf, runningText } from "./data";
import type { Compared } from "./differing";
import { DifferingHeads, Picks } from "./differing";
import { AllHeads } from "./drawing/all";
import type { Drawable } from "./drawing/figure";
import { Drawing, onOneScale, panelsOf, subtracted } from "./drawing/figure";
import type { Panel } from "./drawing/panel";
import { RunningText } from "./drawing/running";
import type { Filled } from "./filled";
import { arrow } from "./format";
import { HeadsOfWord } from "./heads-of-word";
import { usePromise } from "./hooks";
import { mapsOf } from "./inflate";
import type { Links, Picked, Tokens } from "./linking";
import { inverse, linked, linksOf, paired, tokensOf } from "./linking";
import { LivePredictions, Predictions } from "./predictions";
import { typeIn } from "./question";
import { isText } from "./running";
import { SlotControls } from "./slot";
import { NAMES } from "./slots";
import type { Source } from "./sources";
import { drawnTasks } from "./tasks";
import type { Go, View, Word } from "./view";
import { ignored, withSlot } from "./view";

interface Props {
  view: View;
  go: Go;
  sources: Source[];
  filled: [Filled, Filled | null];
  /** The sentence of the sample that is shown, or the first one that is listed. */
  chosen: SampledSentence | null;
  direction: string | null;
  /** Whether the sample is being read, so that what was drawn before stays. */
  reading: boolean;
}

/** A slot that has something to draw. */
interface Drawn extends Drawable {
  filled: Filled;
  live: LiveSentence | null;
}

/** The drawings of both slots, or the one of their difference. */
interface Drawings {
  drawn: (Drawn | null)[];
  panels: Panel[][];
  difference: Panel | null;
}

function tokens({ sentence, live }: Drawn): Tokens {
  return tokensOf(sentence, live?.masked);
}

function ready(filled: Filled, { view, direction }: Props): Drawn | null {
  const { sentence, data, head, kind, live } = filled;
  if (!sentence) return null;
  const name = filled.slot.text ? runningText(rowsOf(sentence), 12) : sentence.id;
  const title = [name, data.model, view.relation, direction && arrow(direction)].filter(Boolean).join(" · ");
  const asked = { asked: drawnTasks(sentence, view.relation, typeIn(view)), guesses: direction ?? "" };
  return { filled, live, data, view: { ...view, direction }, maps: mapsOf(data), sentence, heads: [head], kinds: [kind], ...asked, title };
}

async function drawingsOf(drawn: (Drawn | null)[], view: View): Promise<Drawings> {
  const panelsIn = async (each: Drawn | null, i: number): Promise<Panel[]> => {
    if (!each) return [];
    const { off } = each.filled.slot;
    const without = off.length > 3 ? `, without ${off.length} heads` : off.length ? `, without ${off.map((head) => headName(head, each.data)).join(", ")}` : "";
    // The ensemble is about the question, so that it is drawn once.
    const panels = await panelsOf(i ? { ...each, view: { ...each.view, ensemble: false } } : each, drawn.length > 1 ? `${NAMES[i]}: ` : "");
    return panels.map((panel) => ({ ...panel, title: panel.title + without }));
  };
  const groups = await Promise.all(drawn.map(panelsIn));
  const scaled = onOneScale(groups.flat());
  const panels = groups.map((group) => scaled.splice(0, group.length));
  const [one, other] = drawn;
  const [first, second] = [panels[0]?.[0], panels[1]?.[0]];
  const subtracts = view.subtract && view.drawing !== "all" && view.drawing !== "text" && one && other && first && second;
  const difference = subtracts
    ? subtracted({ panel: first, sentence: one.sentence }, { panel: second, sentence: other.sentence }, linksOf(tokens(one), tokens(other), linked), view.special)
    : null;
  return { drawn, panels, difference };
}

/** What is drawn, which stays until everything that is drawn next has been read. */
function useDrawings(props: Props): { held: Drawings | null; busy: boolean } {
  const { view, filled, reading, direction } = props;
  const wanted = filled.filter((each) => each !== null);
  const complete = !reading && wanted.every((each) => each.sentence || each.problem) && wanted.some((each) => each.sentence);
  const key = wanted.flatMap(({ source, kind, head }) => [source.name, kind, head]).join(" ");
  const found = usePromise(
    async () => (complete ? drawingsOf(wanted.map((each) => ready(each, props)), view) : null),
    [complete, wanted[0]?.sentence, wanted[1]?.sentence, key, view.relation, typeIn(view), direction, view.ensemble, view.scale, view.subtract, view.drawing === "all" || view.drawing === "text", view.special],
  );
  const held = useRef<Drawings | null>(null);
  if (found) held.current = found;
  return { held: held.current, busy: found === null };
}

/** The words of each slot that correspond to those of the other one. */
function linksBetween(one: Drawn, other: Drawn): [Links, Links] {
  const { rows, columns } = linksOf(tokens(one), tokens(other), linked);
  const back = { rows: inverse(rows, other.sentence.rows.length), columns: inverse(columns, columnsOf(other.sentence).words.length) };
  return [{ rows, columns }, back];
}

function across(word: Word | null, links: Links | undefined): Word | null {
  const index = word && (links?.[word.side === "row" ? "rows" : "columns"][word.index] ?? null);
  return word && index !== null ? { side: word.side, index } : null;
}

function without(words: string[], absent: Set<number> | undefined): string {
  return words.filter((_, i) => absent?.has(i)).join(", ");
}

/** What a difference does not show, because only one of the sentences has it. */
function Unshared({ held: { drawn, difference }, special }: { held: Drawings; special: boolean }) {
  const [one, other] = drawn;
  if (!difference?.absent || !one || !other) return null;
  const shown = (sentence: SampledSentence): string[] => sentence.rows.map((word, i) => (sentence.special[i] && !special ? "" : word));
  const back = inverse(linksOf(tokens(one), tokens(other), linked).rows, other.sentence.rows.length);
  const missing = [
    without(shown(one.sentence), difference.absent.rows),
    without(shown(other.sentence), new Set(back.flatMap((target, i) => (target === null ? [i] : [])))),
  ];
  const said = missing.flatMap((words, i) => (words.replaceAll(", ", "") ? [`only in ${NAMES[i]}: ${words}`] : []));
  return said.length ? <p class="note">Words that stand for each other are subtracted; {said.join("; ")}.</p> : null;
}

/** A sentence whose words are named with those that stand for them in another one. */
function named({ sentence: one }: Drawn, { sentence: other }: Drawn, links: Links): SampledSentence {
  const columns = one.columns && paired(one.columns, columnsOf(other).words, links.columns);
  return { ...one, rows: paired(one.rows, other.rows, links.rows), columns };
}

export function Bench(props: Props) {
  const { view, go, sources, filled, chosen } = props;
  const { held, busy } = useDrawings(props);
  const [hand, setHand] = useState<{ which: number; word: Word } | null>(null);
  useEffect(() => setHand(null), [held]);
  const onGo = busy ? ignored : go;
  const two = filled[1] !== null;
  const [one, other] = held?.drawn ?? [];
  const [toB, toA] = useMemo(() => (one && other ? linksBetween(one, other) : []), [held]);
  const keep = (which: number, word: Word | null): void => {
    const sentence = one?.filled.id ?? null;
    const at = which ? across(word, toA) : word;
    onGo({ ...(one?.filled.slot.text ? view : withSlot(view, 0, { sentence })), word: at }, true);
  };
  const keepIn = (which: number, sentence: SampledSentence, word: Word | null): void => {
    if (sentence === held?.drawn[which]?.sentence) keep(which, word);
    else if (!which) onGo({ ...withSlot(view, 0, { sentence: sentence.id, text: "" }), word }, true);
  };
  const open = (which: number, head: number): void => {
    const shown: View = { ...view, drawing: "lines", word: null };
    const pinned = one && !one.filled.slot.text ? withSlot(shown, 0, { sentence: one.filled.id }) : shown;
    onGo(which ? withSlot(pinned, 1, { head }) : { ...withSlot(pinned, 0, { head: null }), head });
  };
  const drawing = (which: number) => {
    const drawn = held?.drawn[which];
    const panels = held?.panels[which] ?? [];
    if (!drawn) return <div class="frame" aria-busy="true" style={{ minHeight: 200 }} />;
    const { sentence, data, filled: { head, kind }, live } = drawn;
    const stored = live ? [] : (data.predictions ?? []).filter((item) => item.sentence === sentence.id);
    const word = which ? across(view.word, toB) : view.word;
    return (
      <>
        {isText(sentence) || (view.drawing === "text" && sentence.columns === null) ? (
          <RunningText
            {...drawn}
            view={{ ...drawn.view, special: view.special, word }}
            name={two ? `${NAMES[which]}: ` : ""}
            onKeep={(owner, kept) => keepIn(which, owner, kept)}
          />
        ) : view.drawing === "all" ? (
          <AllHeads data={data} view={view} kind={kind} head={head} onOpen={(index) => open(which, index)} maps={drawn.maps} sentence={sentence} />
        ) : panels.length ? (
          <Drawing
            {...drawn}
            view={{ ...drawn.view, drawing: view.drawing, special: view.special, word }}
            panels={panels}
            onKeep={(kept) => keep(which, kept)}
            hand={hand && hand.which !== which ? across(hand.word, which ? toB : toA) : null}
            onHand={(at) => setHand((before) => (at ? { which, word: at } : before?.which === which ? null : before))}
          />
        ) : (
          <p class="note">There is no map “{kind}” of head {headName(head, data)} in this sentence.</p>
        )}
        {view.drawing !== "all" && view.drawing !== "text" && !isText(sentence) && (
          <HeadsOfWord drawn={drawn} word={word} head={head} onOpen={(each) => onGo(which ? withSlot(view, 1, { head: each }) : { ...withSlot(view, 0, { head: null }), head: each })} />
        )}
        {live && <LivePredictions live={live} data={data} name={drawn.filled.source.name} />}
        {stored.length > 0 && <Predictions data={data} stored={stored} head={head} onOpen={(index) => open(which, index)} sentence={sentence} />}
      </>
    );
  };
  const controls = (which: number) => {
    const each = filled[which];
    return each && <SlotControls which={which} filled={each} view={view} go={go} sources={sources} chosen={which ? null : chosen} follows={which ? filled[0] : null} />;
  };
  const { difference } = held ?? {};
  const picksIn = (which: number): Picked[] => held?.panels[which]?.[0]?.decisions ?? [];
  const compared = (each: Drawn): Compared => ({ ...each, model: `${each.filled.slot.run} ${each.filled.slot.model}` });
  const differences = two && one && other && toB && (
    <div class="whole">
      <Picks one={compared(one)} other={compared(other)} picks={[picksIn(0), picksIn(1)]} links={toB} />
      <DifferingHeads one={compared(one)} other={compared(other)} links={toB} view={view} onOpen={(head) => onGo({ ...withSlot(view, 0, { head: null }), head })} />
    </div>
  );
  if (two && difference && one) {
    return (
      <div class="slots subtracted" aria-busy={busy}>
        <section aria-label="Slot A">{controls(0)}</section>
        <section aria-label="Slot B">{controls(1)}</section>
        <section class="whole" aria-label="A − B">
          <Drawing {...one} {...(other && toB && { sentence: named(one, other, toB) })} view={{ ...one.view, special: view.special, word: view.word }} panels={[difference]} onKeep={(kept) => keep(0, kept)} names={NAMES} />
          {held && <Unshared held={held} special={view.special} />}
          {differences}
        </section>
      </div>
    );
  }
  return (
    <div class={two ? "slots two" : "slots"} aria-busy={busy}>
      {[0, 1].filter((which) => filled[which]).map((which) => (
        <section key={which} aria-label={`Slot ${NAMES[which]}`}>
          {controls(which)}
          <div>{drawing(which)}</div>
        </section>
      ))}
      {view.drawing !== "all" && view.drawing !== "text" && differences}
    </div>
  );
}
