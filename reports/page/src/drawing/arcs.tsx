// Arcs over and under the sentence: the annotation once above the words, and what each head guesses below them. Arrows
// lead from head to dependent, and from antecedent to mention. A sentence that is too long for the page is scrolled.

import { useMemo } from "preact/hooks";
import type { Decision } from "../tasks";
import { COREFERENCE, verdictsOf } from "../tasks";
import type { Span } from "./levels";
import { levelsOf, spread, widestPart } from "./levels";
import type { DrawingProps, Panel } from "./panel";
import { many, shownValue, strength, valuesOf } from "./panel";
import { strokes } from "./strokes";
import { fontSize, isolated, shortened, textWidth } from "./text";
import { Words } from "./word";

export interface ArcsLayout {
  width: number;
  /** The height of the panel of a head, and that of the annotation, which stands above the words of the first one. */
  height: number;
  annotated: number;
  size: number;
  /** Where words are along the line. */
  along: Map<number, number>;
  widths: Map<number, number>;
}

/** An arc that leads from one word to another, or to the first one from nowhere if that is the root. */
interface Arc {
  from: number;
  to: number;
  decision: Decision;
  name: string;
  level: number;
}

const SPACE = 14; // between words
const TITLE = 22;
const WORDS = 28; // the height of the line of words
const REACH = 13; // from the middle of the words to the ends of arcs
const STEP = 20; // between levels; a label is as high
const LABEL = 11; // the size of labels
const CORNER = 7;
const APART = 3; // between an arc that starts at a word and the arrow that ends there
const MOST = 160; // the widest that a word is drawn

/** The arcs of the annotation, those of the whole figure, which all panels share. */
function annotationOf(panels: Panel[], rows: number[], sentence: DrawingProps["sentence"]): Arc[] {
  const shown = new Set(rows);
  const arcs: Omit<Arc, "level">[] = [];
  for (const decision of panels[0]?.decisions ?? []) {
    const to = decision.rows[0] ?? 0;
    if (!shown.has(to)) continue;
    const name = decision.relation === COREFERENCE ? "" : decision.relation;
    for (const from of decision.gold) if (shown.has(from)) arcs.push({ from, to, decision, name });
    if (sentence.heads[to] === -1 && name === sentence.relations[to]) arcs.push({ from: to, to, decision, name });
  }
  return leveled(arcs, rows);
}

/** The arcs of what a head guesses. */
function guessesOf(panel: Panel, rows: number[]): Arc[] {
  const shown = new Set(rows);
  const arcs = panel.decisions.flatMap((decision) => {
    const [to = 0] = decision.rows;
    const from = decision.guess;
    return from !== null && from !== to && shown.has(from) && shown.has(to) ? [{ from, to, decision, name: "" }] : [];
  });
  return leveled(arcs, rows);
}

/** Arcs with their levels. The arrow to a root is higher than the arcs that meet there. */
function leveled(arcs: Omit<Arc, "level">[], rows: number[]): Arc[] {
  const order = new Map(rows.map((row, i) => [row, i]));
  const levels = levelsOf(arcs.map(({ from, to }) => ({ from: order.get(from) ?? 0, to: order.get(to) ?? 0 })));
  const touching = (word: number): number =>
    arcs.reduce((most, arc, i) => (arc.from !== arc.to && (arc.from === word || arc.to === word) ? Math.max(most, levels[i] ?? 0) : most), 0);
  return arcs.map((arc, i) => ({ ...arc, level: arc.from === arc.to ? touching(arc.to) + 1 : (levels[i] ?? 1) }));
}

function highest(arcs: Arc[]): number {
  return arcs.reduce((most, { level }) => Math.max(most, level), 0);
}

/** How high a curve between words is that is no guess. */
function bow(distance: number): number {
  return 10 + 14 * distance ** 0.6;
}

/** The layout of all panels: the words are as wide apart as the labels of the annotation need. */
export function arcsLayout({ sentence, rows, panels, mirrored }: Pick<DrawingProps, "sentence" | "rows" | "mirrored"> & { panels: Panel[] }): ArcsLayout {
  const size = fontSize(rows.length);
  const widths = new Map(rows.map((row) => [row, textWidth(shortened(sentence.rows[row] ?? "", size, MOST), size, true)]));
  const annotation = annotationOf(panels, rows, sentence);
  const line = mirrored ? [...rows].reverse() : rows;
  const at = new Map(line.map((row, i) => [row, i]));
  const spans = annotation.map(({ from, to, name }): Span => ({ from: at.get(from) ?? 0, to: at.get(to) ?? 0, label: name ? textWidth(name, LABEL) : 0 }));
  const middles = spread(line.map((row) => widths.get(row) ?? 0), spans, SPACE);
  const along = new Map(line.map((row, i) => [row, 8 + (middles[i] ?? 0)]));
  const [last = 0] = line.slice(-1);
  const guessed = panels.map((panel) => STEP * highest(guessesOf(panel, rows)));
  const curves = panels.some((panel) => !panel.decisions.length) ? bow(rows.length) * 0.75 : 34;
  const below = Math.max(curves, ...guessed) + 8;
  return {
    width: Math.ceil((along.get(last) ?? 0) + (widths.get(last) ?? 0) / 2 + SPACE / 2 + 8),
    height: TITLE + WORDS / 2 + REACH + below,
    annotated: annotation.length ? STEP * highest(annotation) + LABEL + 8 : 0,
    ...{ size, along, widths },
  };
}

/** Above the words is −1, and below them 1. */
type Side = -1 | 1;

/** The path of an arc of a level, from the words at `base`: two legs and a line between them. */
function bracket(from: number, to: number, base: number, level: number, side: Side): string {
  const foot = base + side * REACH;
  const top = foot + side * STEP * level;
  if (from === to) return `M${from} ${top}V${foot}`;
  const turn = Math.sign(to - from) * Math.min(CORNER, Math.abs(to - from) / 2);
  const corner = top - side * CORNER;
  return `M${from} ${foot}V${corner}Q${from} ${top} ${from + turn} ${top}H${to - turn}Q${to} ${top} ${to} ${corner}V${foot}`;
}

/** The tip of an arrow that ends at a word. */
function tip(x: number, base: number, side: Side): string {
  const y = base + side * REACH;
  return `M${x} ${y}L${x - 3.5} ${y + side * 6}L${x + 3.5} ${y + side * 6}Z`;
}

function involvesWord(focus: DrawingProps["focus"], decision: Decision): boolean {
  return !focus || decision.rows.includes(focus.index) || decision.targets.includes(focus.index);
}

/** The ends of an arc along the line: it starts beside the middle of a word, where the arrow to that word ends. */
function ends({ from, to }: Arc, along: Map<number, number>): [number, number] {
  const [a, b] = [along.get(from) ?? 0, along.get(to) ?? 0];
  return [a + APART * Math.sign(b - a), b];
}

/** What the annotation says, above the words. */
function Annotation({ panel, sentence, rows, focus, layout, base }: Pick<DrawingProps, "panel" | "sentence" | "rows" | "focus"> & { layout: ArcsLayout; base: number }) {
  const { along } = layout;
  const arcs = useMemo(() => annotationOf([panel], rows, sentence), [panel, rows, sentence]);
  const shown = arcs.filter(({ decision }) => involvesWord(focus, decision));
  const label = (arc: Arc): { x: number; y: number } => {
    const [from, to] = ends(arc, along);
    const legs = shown.filter(({ level }) => level > arc.level).flatMap((other) => ends(other, along));
    const y = base - REACH - STEP * arc.level - 7; // its middle, above the line
    return arc.from === arc.to ? { x: to, y } : { x: widestPart(Math.min(from, to), Math.max(from, to), legs).middle, y };
  };
  return (
    <g>
      {shown.map((arc) => (
        <g key={`${arc.from} ${arc.to} ${arc.name}`} class={arc.from === arc.to ? "annotated root" : "annotated"}>
          <path class="gold" d={bracket(...ends(arc, along), base, arc.level, -1)} />
          <path class="tip" d={tip(along.get(arc.to) ?? 0, base, -1)} />
        </g>
      ))}
      {shown.map((arc) => arc.name && (
        <text key={`${arc.from} ${arc.to} ${arc.name}`} class="axis label" {...label(arc)} text-anchor="middle">
          {arc.name}
        </text>
      ))}
    </g>
  );
}

/** One head on the sentence; the annotation stands above the `first` one. */
export function Arcs(props: DrawingProps & { layout: ArcsLayout; first: boolean }) {
  const { panel, sentence, rows, focus, stop, layout, first } = props;
  const { along } = layout;
  const base = TITLE + (first ? layout.annotated : 0) + WORDS / 2;
  const order = useMemo(() => new Map(rows.map((row, i) => [row, i])), [rows]);
  const arcs = useMemo(() => guessesOf(panel, rows), [panel, rows]);
  const guessed = panel.every || panel.decisions.some((decision) => decision.verdict !== null);
  const lines = useMemo(() => {
    const room = layout.height - TITLE - WORDS / 2 - REACH;
    const curve = (row: number, column: number): string => {
      if (row === column) return "";
      const [a, b, foot] = [along.get(row) ?? 0, along.get(column) ?? 0, base + REACH];
      const bottom = foot + Math.min(bow(Math.abs((order.get(row) ?? 0) - (order.get(column) ?? 0))), room / 0.75);
      return `M${a} ${foot}C${a} ${bottom} ${b} ${bottom} ${b} ${foot}`;
    };
    if (focus) {
      const wanted = (row: number, column: number): boolean => (focus.side === "row" ? row : column) === focus.index;
      return strokes(panel.map, rows, rows, curve, { wanted });
    }
    if (guessed) return null;
    const asked = new Set(panel.decisions.flatMap((decision) => decision.rows));
    const wanted = (row: number, column: number): boolean => !asked.size || asked.has(panel.reversed ? column : row) || (panel.both && asked.has(column));
    return strokes(panel.map, rows, rows, curve, { wanted });
  }, [panel, rows, layout, base, focus?.side, focus?.index, guessed]);
  const values = focus && new Map(valuesOf(panel, focus, rows).filter(({ index }) => index !== focus.index).map((item) => [item.index, item]));
  const verdicts = useMemo(() => verdictsOf(panel.decisions), [panel]);
  return (
    <g>
      <text class="title" x={8} y={14}>
        {panel.title}
      </text>
      {first && <Annotation {...{ panel, sentence, rows, focus, layout, base }} />}
      {lines && (
        <g class="base arcs">
          {lines.paths.map(({ byte, path }) => (
            <path key={byte} d={path} stroke-opacity={(byte / 255).toFixed(4)} />
          ))}
        </g>
      )}
      {arcs
        .filter(({ decision }) => involvesWord(focus, decision))
        .map((arc) => {
          const share = strength(panel, arc.decision);
          const verdict = arc.decision.verdict ?? "unjudged";
          return (
            <g key={arc.to} class="guessed" opacity={0.35 + 0.65 * share}>
              <path class={`guess ${verdict}`} d={bracket(...ends(arc, along), base, arc.level, 1)}>
                <title>{`${isolated(sentence.rows[arc.to])}: guess ${isolated(sentence.rows[arc.from])}, ${shownValue(panel, share * panel.map.scale)}`}</title>
              </path>
              <path class={`tip ${verdict}`} d={tip(along.get(arc.to) ?? 0, base, 1)} />
            </g>
          );
        })}
      <Words
        {...{ label: `${panel.title}: words`, panel, sentence, side: "row", indices: rows, layout, most: MOST, stop: stop.index }}
        place={(row) => {
          const width = (layout.widths.get(row) ?? 0) + 8;
          const x = along.get(row) ?? 0;
          return { x, y: base, anchor: "middle", left: x - width / 2, width, height: 22 };
        }}
        state={(row) => (verdicts.has(row) && !many(panel) ? `asked ${verdicts.get(row) ?? ""}` : "")}
        marked={focus ? [focus.index] : []}
        markedSide={focus?.side ?? "row"}
        values={values}
      />
    </g>
  );
}
