// One sentence, drawn for some heads and kinds of maps, side by side.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ArcsLayout } from "./arcs";
import { Arcs, arcsLayout } from "./arcs";
import type { GridLayout } from "./grid";
import { Grid, gridLayout } from "./grid";
import type { LinesLayout } from "./lines";
import { Lines, linesLayout } from "./lines";
import type { Panel } from "./panel";
import { many, sentenceAbout, shownValue } from "./panel";
import { wordOf } from "./word";
import { Buttons } from "../buttons";
import { captionOf } from "../caption";
import type { Explorer, SampledSentence } from "../data";
import { columnsOf, headName, rowsOf, runningText, storedHead } from "../data";
import { ensembleName, ensembleOf, together } from "../ensembles";
import type { Cell } from "../export";
import { moved, usePromise, useWidth } from "../hooks";
import type { Maps } from "../inflate";
import { valueAt } from "../inflate";
import { reachOf, reversed } from "../judging";
import type { Links } from "../linking";
import { aligned, commonScale, difference, sharedAmongWords } from "../scales";
import type { Task } from "../tasks";
import { decide } from "../tasks";
import type { View, Word } from "../view";

/** What is drawn of a sentence. */
export interface Drawable {
  data: Explorer;
  view: View;
  maps: Maps;
  sentence: SampledSentence;
  heads: number[];
  kinds: string[];
  /** What the sentence asks of a head, and whether it is asked of every word. */
  asked: Task[];
  every?: boolean;
  /** The name of the guesses of the sentence that answer it. */
  guesses: string;
  title: string;
}

interface Props extends Drawable {
  /** Keeps a word at hand, or none. */
  onKeep: (word: Word | null) => void;
}

function isSame(one: Word | null, other: Word | null): boolean {
  return one?.side === other?.side && one?.index === other?.index;
}

const APART = 12;
const OPPOSITE: Record<string, string> = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };

/** A panel for each head and kind of map, and one for the ensemble if it is shown. `name` says whose they are. */
export async function panelsOf({ data, view, maps, sentence, heads, kinds, asked, every = false, guesses }: Drawable, name = ""): Promise<Panel[]> {
  const result = new Map<string, Panel>();
  for (const chosen of heads) {
    for (const kind of kinds) {
      const shared = data.sample?.layer_kinds?.includes(kind) ?? false;
      const head = storedHead(chosen, kind, data);
      const map = await maps.head(sentence, kind, head);
      if (!map) continue;
      const decisions = decide(asked, await maps.guess(sentence, `${kind}/${guesses}`, head), reachOf(data, guesses));
      const own = shared ? `layer ${head / data.heads + 1}` : headName(head, data);
      const shares = data.sample?.share_kinds?.includes(kind) ?? kind === "weight";
      const panel = { title: `${name}${own} · ${kind}`, head, kind, map, decisions, every, reversed: reversed(view.direction), both: view.direction === "both", shares };
      result.set(`${head}-${kind}`, { key: `${head}-${kind}`, ...panel });
    }
  }
  for (const kind of view.ensemble ? kinds : []) {
    const ensemble = ensembleOf(data, view.relation, kind);
    const averaged = ensemble && (await together(data, maps, sentence, ensemble));
    if (!averaged) continue;
    const decisions = decide(asked, averaged.guesses, reachOf(data, "both"));
    const key = `ensemble-${kind}`;
    const title = `${name}ensemble ${ensembleName(ensemble)} · ${kind}`;
    const shares = data.sample?.share_kinds?.includes(kind) ?? kind === "weight";
    result.set(key, { key, title, head: -1, kind, map: averaged.map, decisions, every, reversed: false, both: false, shares });
  }
  const panels = [...result.values()];
  if (view.scale !== "words") return panels;
  const { special } = columnsOf(sentence);
  return panels.map((panel) => ({ ...panel, map: sharedAmongWords(panel.map, special), shares: true }));
}

/** Panels with one scale for all of a kind. */
export function onOneScale(panels: Panel[]): Panel[] {
  const scaleOf = (kind: string): number => {
    const same = panels.filter((panel) => panel.kind === kind);
    return commonScale(same.map((panel) => panel.map), same.every((panel) => panel.shares));
  };
  return panels.map((panel) => ({ ...panel, map: { ...panel.map, scale: scaleOf(panel.kind) } }));
}

/** A panel, and the sentence that it is about. */
interface Side {
  panel: Panel;
  sentence: SampledSentence;
}

/**
 * What the first panel has more or less than the second one, where the words of their sentences correspond. Values of two
 * kinds are compared as shares.
 */
export function subtracted(one: Side, other: Side, links: Links, special: boolean): Panel {
  const [first, second] = [one.panel, other.panel];
  const alike = first.kind === second.kind || (first.shares && second.shares);
  const map = ({ panel, sentence }: Side): Panel["map"] => (alike ? panel.map : sharedAmongWords(panel.map, columnsOf(sentence).special));
  const without = (list: (number | null)[]): Set<number> => new Set(list.flatMap((target, i) => (target === null ? [i] : [])));
  const absent = { rows: without(links.rows), columns: without(links.columns) };
  const hidden = { rows: one.sentence.special, columns: columnsOf(one.sentence).special };
  const seen = (side: "rows" | "columns", index: number): boolean => !absent[side].has(index) && (special || !hidden[side][index]);
  const { above, below } = difference(map(one), aligned(map(other), links.rows, links.columns), (row, column) => seen("rows", row) && seen("columns", column));
  const kind = alike ? first.kind : "shares among words";
  return { ...first, key: "difference", kind, title: `${first.title} − ${second.title}`, map: above, below, absent, decisions: [], shares: first.shares || !alike };
}

/** What full strength stands for, for each kind of map. */
function Scales({ panels, names }: { panels: Panel[]; names: readonly string[] | undefined }) {
  const kinds = new Map(panels.map((panel) => [panel.kind, panel]));
  return (
    <>
      {[...kinds].map(([kind, panel]) => (
        <span key={kind} class="domain">
          {(kinds.size > 1 || panel.below) && `${kind}: `}
          {panel.below ? (
            <>
              {names && `more in ${names[1]} `}−{shownValue(panel, panel.map.scale)} <span class="ramp less" />
            </>
          ) : (
            0
          )}{" "}
          <span class="ramp" /> {panel.below && names && "+"}
          {shownValue(panel, panel.map.scale)}
          {panel.below && names && ` more in ${names[0]}`}
        </span>
      ))}
    </>
  );
}

/** How many of the guesses that are drawn are right. */
function judgedIn(panels: Panel[]): string {
  const judged = panels.flatMap(({ decisions }) => decisions).filter(({ verdict }) => verdict !== null);
  return judged.length ? `${judged.filter(({ verdict }) => verdict === "right").length} of ${judged.length} guesses right` : "";
}

/** The heads of a sentence. While their maps are read, what was drawn before stays. */
export function Figure(props: Props & { subtract?: boolean }) {
  const { maps, sentence, asked, guesses, view, subtract = false } = props;
  const panels = usePromise(
    async () => {
      const [first, second, ...others] = onOneScale(await panelsOf(props));
      if (!first || !second || !subtract) return [first, second, ...others].filter((panel) => panel !== undefined);
      const all = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
      const links = { rows: all(first.map.rows), columns: all(first.map.columns) };
      return [subtracted({ panel: first, sentence }, { panel: second, sentence }, links, view.special)];
    },
    [maps, sentence, asked, guesses, view.relation, view.direction, props.heads.join(), props.kinds.join(), view.ensemble, view.scale, subtract && (view.special ? "all" : "words")],
  );
  const held = useRef<Props & { panels: Panel[] }>(null);
  if (panels) held.current = { ...props, panels };
  if (!held.current) return <div class="frame" aria-busy="true" style={{ minHeight: 200 }} />;
  return (
    <div aria-busy={panels === null}>
      <Drawing {...held.current} onKeep={panels ? props.onKeep : () => undefined} />
    </div>
  );
}

interface DrawingProps extends Props {
  panels: Panel[];
  /** The word that corresponds to the one at hand beside this drawing, and who is told which word is at hand here. */
  hand?: Word | null;
  onHand?: (word: Word | null) => void;
  /** What a difference subtracts from each other. */
  names?: readonly string[];
}

export function Drawing(props: DrawingProps) {
  const { data, view, onKeep, sentence, heads, asked, every = false, title, panels, hand = null, onHand, names } = props;
  const [frame, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [pointed, setPointed] = useState<Word | null>(null);
  const [focused, setFocused] = useState<Word | null>(null);
  useEffect(() => setPointed(null), [sentence]);
  useEffect(() => onHand?.(pointed ?? focused), [pointed, focused]);
  const { words, special, direction } = columnsOf(sentence);
  const rows = useMemo(() => sentence.rows.map((_, i) => i).filter((i) => view.special || !sentence.special[i]), [sentence, view.special]);
  const columns = useMemo(() => words.map((_, i) => i).filter((i) => view.special || !special[i]), [sentence, view.special]);
  const pinned = view.word && (view.word.side === "row" ? rows : columns).includes(view.word.index) ? view.word : null;
  const focus = pointed ?? focused ?? hand ?? pinned;
  const pair = sentence.columns !== null;
  const mirrored = direction === "rtl";
  const drawing = panels[0]?.below ? "matrix" : view.drawing === "all" || view.drawing === "text" || (view.drawing === "arcs" && pair) ? "lines" : view.drawing;
  const [first = 0] = rows;
  const stop = focused ?? pinned ?? { side: "row", index: first };

  const point = (word: Word | null): void => setPointed((before) => (isSame(before, word) ? before : word));
  const pin = (word: Word): void => {
    setPointed(null);
    onKeep(isSame(view.word, word) ? null : word);
  };
  const move = (event: KeyboardEvent): void => {
    const at = wordOf(event);
    if (!at) return;
    const { word, panel } = at;
    const key = mirrored ? (OPPOSITE[event.key] ?? event.key) : event.key;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pin(word);
      return;
    }
    if (event.key === "Escape") {
      if (view.word) onKeep(null);
      return;
    }
    const list = word.side === "row" ? rows : columns;
    const across = drawing !== "arcs" && (key === "ArrowRight" || key === "ArrowLeft");
    const target: Word | null = across
      ? { side: key === "ArrowRight" ? "column" : "row", index: word.index }
      : { side: word.side, index: list[moved(key, list.indexOf(word.index), list.length) ?? -1] ?? -1 };
    if (target.index < 0) return;
    event.preventDefault();
    const select = (side: string): SVGElement | null | undefined => svg.current?.querySelector<SVGElement>(`[data-panel="${panel}"][data-word="${side}-${target.index}"]`);
    (select(target.side) ?? select("row"))?.focus();
  };

  const room = Math.max(240, width);
  const laid = useMemo(() => {
    const many = panels.length;
    const share = Math.floor((room + APART) / Math.min(many, Math.max(1, Math.floor(room / 270)))) - APART;
    const layout =
      drawing === "arcs"
        ? arcsLayout({ sentence, rows, panels, mirrored })
        : (drawing === "matrix" ? gridLayout : linesLayout)({ sentence, rows, columns, width: share });
    const beside = drawing === "arcs" ? 1 : Math.max(1, Math.floor((room + APART) / (layout.width + APART)));
    return { layout, beside };
  }, [drawing, sentence, rows, columns, room, drawing === "arcs" ? panels : panels.length]);
  const drawn = width > 0;
  useEffect(() => {
    if (drawn) performance.mark("attentionology: sentence");
  }, [drawn, panels]);
  if (!drawn) return <div ref={frame} class="frame" aria-busy="true" style={{ minHeight: 200 }} />;

  const { layout, beside } = laid;
  const across = Math.min(beside, panels.length);
  const top = drawing === "arcs" ? (layout as ArcsLayout).annotated : 0; // the annotation stands above the words of the first head
  const total = {
    width: Math.max(1, across) * (layout.width + APART) - APART,
    height: top + Math.ceil(panels.length / beside) * (layout.height + APART) - APART,
  };
  const readout = focus ? panels.filter((panel) => !panel.below).map((panel) => sentenceAbout(panel, sentence, focus, focus.side === "row" ? columns : rows)) : [];
  const gold = new Map(sentence.links.map((link) => [`${link.row} ${link.column}`, link.sure ? "sure" : "possible"]));
  const cells = (): Cell[][] => [
    ["row", "word", "column", "attended", ...(pair ? ["gold"] : []), ...panels.map((panel) => panel.title)],
    ...rows.flatMap((row) =>
      columns.map((column): Cell[] => [
        row + 1,
        sentence.rows[row] ?? "",
        column + 1,
        words[column] ?? "",
        ...(pair ? [gold.get(`${row} ${column}`) ?? ""] : []),
        ...panels.map(({ map, below, absent }) =>
          absent?.rows.has(row) || absent?.columns.has(column) ? null : Number((valueAt(map, row, column) - (below ? valueAt(below, row, column) : 0)).toPrecision(6)),
        ),
      ]),
    ),
  ];
  const verdicts = new Set(panels.flatMap((panel) => panel.decisions.map((decision) => decision.verdict)));
  return (
    <div>
      <div ref={frame} class="frame scrolled" dir={direction}>
        <svg
          ref={svg}
          class="drawing"
          role="group"
          aria-label={`Attention ${pair ? "from the translation" : "in the sentence"}: ${runningText(rowsOf(sentence))}`}
          width={total.width}
          height={total.height}
          viewBox={`0 0 ${total.width} ${total.height}`}
          onPointerOver={(event) => event.pointerType !== "touch" && point(wordOf(event)?.word ?? null)}
          onPointerLeave={() => setPointed(null)}
          onFocusIn={(event) => setFocused(wordOf(event)?.word ?? null)}
          onFocusOut={() => setFocused(null)}
          onClick={(event) => {
            const at = wordOf(event);
            if (at) pin(at.word);
          }}
          onKeyDown={move}
        >
          {panels.map((panel, i) => {
            const x = (i % beside) * (layout.width + APART);
            const y = (i && top) + Math.floor(i / beside) * (layout.height + APART);
            const shared = { panel, sentence, rows, columns, focus, stop, width: room, mirrored };
            return (
              <g key={panel.key} transform={`translate(${x} ${y})`}>
                {drawing === "arcs" && <Arcs {...shared} layout={layout as ArcsLayout} first={i === 0} />}
                {drawing === "matrix" && <Grid {...shared} layout={layout as GridLayout} />}
                {drawing === "lines" && <Lines {...shared} layout={layout as LinesLayout} />}
              </g>
            );
          })}
        </svg>
      </div>
      <p class={readout.length ? "readout" : "readout hint"} aria-live="polite">
        {readout.length
          ? readout.map((text) => <span key={text}>{text} </span>)
          : "Point at a word, or move to it with Tab and the arrow keys, to see its row or column. Click or Enter keeps it."}
      </p>
      <p class="key">
        {verdicts.has("right") && <span class="right">{pair ? "link" : "guess"}, right</span>}
        {verdicts.has("wrong") && (drawing !== "lines" || focus || !every) && <span class="wrong">{pair ? "link" : "guess"}, wrong</span>}
        {pair && gold.size > 0 && <span class="gold sure">gold link</span>}
        {[...gold.values()].includes("possible") && <span class="gold possible">possible link</span>}
        {!pair && !panels[0]?.below && asked.some((task) => task.gold.length) && (drawing !== "lines" || focus || !panels.every(many)) && (
          <span class={drawing === "arcs" ? "gold solid" : "gold"}>annotation</span>
        )}
        <Scales panels={panels} names={names} />
      </p>
      <Buttons
        again={() => <Drawing {...props} onKeep={() => undefined} />}
        name={`${sentence.id}-${heads.map((head) => headName(head, data)).join("-")}`}
        title={title}
        caption={captionOf(data, [`sentence ${sentence.id}`, view.relation && `relation ${view.relation}`, judgedIn(panels)])}
        rows={cells}
      />
    </div>
  );
}
