// A document as running text: mentions in the colors of their entities, and arrows to what a head picks for one of them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Drawable } from "./figure";
import { isolated, textWidth } from "./text";
import { Buttons } from "../buttons";
import { captionOf } from "../caption";
import type { SampledSentence } from "../data";
import { headName, rowsOf, storedHead } from "../data";
import type { Cell } from "../export";
import { moved, usePromise, useWidth } from "../hooks";
import { reachOf } from "../judging";
import { typeIn } from "../question";
import type { Box, Running, RunningDecision, RunningLayout } from "../running";
import { decisionsIn, ENTITY_COLORS, isText, runningLayout, runningOf, windowsOf } from "../running";
import { decide, decisionOf, tasks } from "../tasks";
import type { Word } from "../view";

interface Props extends Drawable {
  /** The name of the slot, if there are two. */
  name?: string;
  /** Keeps a word of a sentence at hand, or none. */
  onKeep: (sentence: SampledSentence, word: Word | null) => void;
}

const SIZE = 15;
const SMALL = 11;
const LINE = 34;
const TOP = 30; // room for the arrows of the first line

function classOf(number: number | null): string {
  return number === null ? "entity single" : `entity entity-${(number - 1) % ENTITY_COLORS}`;
}

/** The middle of the line of a box, from the top. */
function yOf({ line }: { line: number }): number {
  return TOP + line * LINE + SIZE / 2;
}

/** The parts of a stretch of words that are in one line each. */
function inLines(words: Box[], start: number, end: number): Box[] {
  const found: Box[] = [];
  for (const { x, width, line } of words.slice(start, end + 1)) {
    const last = found.at(-1);
    if (last?.line === line) last.width = x + width - last.x;
    else found.push({ x, width, line });
  }
  return found;
}

/** An arrow from one word to another: above the words in one line, and from line to line otherwise. */
function Arrow({ from, to, kind }: { from: Box; to: Box; kind: string }) {
  const [x1, x2] = [from.x + from.width / 2, to.x + to.width / 2];
  const [above, below] = [-SIZE / 2 - 3, SIZE / 2 + 8];
  const same = from.line === to.line;
  const down = to.line > from.line;
  const y1 = yOf(from) + (down ? below : above);
  const y2 = yOf(to) + (same || down ? above : below);
  const height = same ? Math.min(22, 8 + Math.abs(x2 - x1) / 8) : 0;
  const path = same
    ? `M${x1} ${y1}C${x1} ${y1 - height} ${x2} ${y2 - height} ${x2} ${y2 - 4}`
    : `M${x1} ${y1}C${x1} ${y1 + (down ? 24 : -24)} ${x2} ${y2 + (down ? -30 : 30)} ${x2} ${y2 + (down ? -4 : 4)}`;
  const tip = same || down ? -6 : 6;
  return (
    <g>
      <path class="halo" d={path} fill="none" />
      <path class={kind} d={path} fill="none" />
      <path class={`tip ${kind.replace("guess ", "")}`} d={`M${x2} ${y2}l-4 ${tip}h8z`} />
    </g>
  );
}

/** Where text, mentions and words are drawn; what does not change with the word at hand. */
function Words({ running, layout, decisions, stop }: { running: Running; layout: RunningLayout; decisions: RunningDecision[]; stop: number }) {
  const asked = new Map(decisions.map((decision) => [decision.rows[0], decision]));
  return (
    <g>
      {running.spans.map(({ start, end, entity, depth }, s) => {
        const number = layout.numbers[s];
        return (
          <g key={`${start} ${end} ${entity.name}`} class={classOf(entity.number)}>
            {inLines(layout.words, start, end).map((box) => {
              const y = yOf(box) + SIZE / 2 + 3 + 3 * Math.min(depth, 3);
              return <line key={box.line} class="under" x1={box.x} x2={box.x + box.width} y1={y} y2={y} />;
            })}
            {number && (
              <text class="number" x={number.x} y={yOf(number) - 4} font-size={SMALL}>
                {entity.number}
              </text>
            )}
          </g>
        );
      })}
      {running.tokens.map(({ word, gap }, i) => {
        const box = layout.words[i];
        if (!box) return null;
        const decision = asked.get(i);
        const text = (
          <>
            {gap && <text x={box.x - 18} y={yOf(box)} font-size={SIZE}>…</text>}
            <rect class="hit" x={box.x - 1} y={yOf(box) - SIZE / 2 - 3} width={box.width + 2} height={SIZE + 6} rx={2} />
            <text x={box.x} y={yOf(box)} font-size={SIZE}>
              {word}
            </text>
          </>
        );
        if (!decision) {
          return (
            <g key={i} data-token={i}>
              {text}
            </g>
          );
        }
        const words = [...decision.rows].sort((a, b) => a - b).map((row) => running.tokens[row]?.word).join(" ");
        return (
          <g key={i} data-token={i} role="button" class="word asked" tabindex={i === stop ? 0 : -1} aria-label={`${words}, ${decision.relation}`}>
            {text}
          </g>
        );
      })}
    </g>
  );
}

function tokenOf(event: Event): number | null {
  const at = (event.target as Element).closest<SVGElement>("[data-token]")?.dataset.token;
  return at === undefined ? null : Number(at);
}

export function RunningText(props: Props) {
  const { data, view, maps, sentence, heads, kinds, guesses, title, name = "", onKeep } = props;
  const [chosen = 0] = heads;
  const [kind = ""] = kinds;
  const head = storedHead(chosen, kind, data);
  const [frame, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [focused, setFocused] = useState<number | null>(null);
  const windows = useMemo(() => windowsOf(sentence, data.sample?.sentences ?? []), [sentence, data]);
  const running = useMemo(() => runningOf(windows, view.special), [windows, view.special]);
  const found = usePromise(async () => {
    const reach = reachOf(data, guesses);
    const list = windows.map(async (each) => {
      return { sentence: each, decisions: decide(tasks(each, view.relation, typeIn(view)), await maps.guess(each, `${kind}/${guesses}`, head), reach) };
    });
    return decisionsIn(running, await Promise.all(list));
  }, [running, head, kind, guesses, view.relation, typeIn(view)]);
  const decisions = found ?? [];
  const room = Math.max(200, width - 4);
  const layout = useMemo(() => runningLayout(running, room, (text, small) => textWidth(text, small ? SMALL : SIZE, small)), [running, room]);
  const { direction } = rowsOf(sentence);
  const mirrored = useMemo(() => {
    if (direction !== "rtl") return layout;
    const turned = <B extends Box | null>(box: B): B => (box ? { ...box, x: room - box.x - box.width } : box);
    return { ...layout, words: layout.words.map(turned), numbers: layout.numbers.map(turned) };
  }, [layout, direction, room]);

  const place = running.places.get(sentence) ?? [];
  const pinned = view.word ? (place[view.word.index] ?? -1) : -1;
  const first = place.find((token) => token >= 0) ?? 0;
  const target = pinned >= 0 ? pinned : first;
  // A document may be longer than the frame, which is scrolled to the word at hand, or to the sentence that was chosen.
  useEffect(() => {
    const box = layout.words[target];
    if (frame.current && box) frame.current.scrollTop = target === first && !first ? 0 : Math.max(0, yOf(box) - 3 * LINE);
  }, [target, layout]);

  const asked = decisions.flatMap(({ rows: [row] }) => (row === undefined ? [] : [row]));
  const at = [pointed, focused, pinned].map((token) => (token === null || token < 0 ? undefined : decisionOf(decisions, token))).find((each) => each);
  const stop = decisionOf(decisions, focused ?? pinned)?.rows[0] ?? asked.find((row) => row >= first) ?? asked[0] ?? -1;
  const keep = (token: number): void => {
    const decision = decisionOf(decisions, token);
    const [row = token] = decision?.rows ?? [];
    const owner = decision?.sentence ?? running.tokens[row]?.sentence;
    const index = owner ? (running.places.get(owner)?.indexOf(row) ?? -1) : -1;
    setPointed(null);
    if (owner && index >= 0) onKeep(owner, pinned === row ? null : { side: "row", index });
  };
  const move = (event: KeyboardEvent): void => {
    const token = tokenOf(event);
    if (token === null) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      keep(token);
      return;
    }
    if (event.key === "Escape" && view.word) onKeep(sentence, null);
    const next = moved(event.key, asked.indexOf(token), asked.length);
    if (next === null) return;
    event.preventDefault();
    svg.current?.querySelector<SVGElement>(`[data-token="${asked[next]}"]`)?.focus();
  };
  const text = useMemo(() => <Words running={running} layout={mirrored} decisions={decisions} stop={stop} />, [running, mirrored, found, stop]);
  const own = `${name}${headName(chosen, data)} · ${kind}`;
  const said = (rows: number[]): string => rows.map((row) => `“${isolated(running.tokens[row]?.word)}”`).join(", ");
  const words = (decision: RunningDecision): string => [...decision.rows].sort((a, b) => a - b).map((row) => running.tokens[row]?.word).join(" ");
  const entities = new Map(running.spans.map(({ entity }) => [entity.name, entity.number]));
  const judged = decisions.filter(({ verdict }) => verdict !== null);
  const right = judged.filter(({ verdict }) => verdict === "right").length;
  const cells = (): Cell[][] => [
    ["word", "text", "pick", "picked", "gold", "antecedent", "verdict"],
    ...decisions.map((decision): Cell[] => {
      const [row = 0] = decision.rows;
      const [gold = null] = decision.gold;
      const named = (token: number | null): Cell[] => (token === null ? [null, null] : [token + 1, running.tokens[token]?.word ?? ""]);
      return [row + 1, words(decision), ...named(decision.guess), ...named(gold), decision.verdict];
    }),
  ];
  const boxOf = (token: number | null | undefined): Box | undefined => (typeof token === "number" ? mirrored.words[token] : undefined);
  const [from, picked] = [boxOf(at?.rows[0]), boxOf(at?.guess)];
  const spanAt = at && running.spans.filter(({ start, end }) => at.rows.every((row) => start <= row && row <= end)).at(-1);
  const height = TOP + mirrored.lines * LINE;
  return (
    <div class="running" aria-busy={found === null || width === 0}>
      <div ref={frame} class="frame scrolled" dir={direction}>
        {width > 0 && (
          <svg
            ref={svg}
            class="drawing"
            role="group"
            aria-label={`Text: ${sentence.document ?? sentence.id}`}
            width={room}
            height={height}
            viewBox={`0 0 ${room} ${height}`}
            onPointerOver={(event) => event.pointerType !== "touch" && setPointed(tokenOf(event))}
            onPointerLeave={() => setPointed(null)}
            onFocusIn={(event) => setFocused(tokenOf(event))}
            onFocusOut={() => setFocused(null)}
            onClick={(event) => {
              const token = tokenOf(event);
              if (token !== null && decisionOf(decisions, token)) keep(token);
            }}
            onKeyDown={move}
          >
            {spanAt &&
              running.spans
                .filter(({ entity }) => entity === spanAt.entity)
                .flatMap(({ start, end, entity }) =>
                  inLines(mirrored.words, start, end).map((box) => (
                    <rect key={`${start} ${end} ${box.line}`} class={`same ${classOf(entity.number)}`} x={box.x - 2} y={yOf(box) - SIZE / 2 - 3} width={box.width + 4} height={SIZE + 6} rx={3} />
                  )),
                )}
            {from && <rect class="at" x={from.x - 2} y={yOf(from) - SIZE / 2 - 4} width={from.width + 4} height={SIZE + 8} rx={3} />}
            {text}
            <g class="arrows">
              {at && from && at.gold.filter((row) => row !== at.guess).map((row) => {
                const box = boxOf(row);
                return box && <Arrow key={`gold ${row}`} from={from} to={box} kind="gold" />;
              })}
              {at && from && picked && <Arrow from={from} to={picked} kind={`guess ${at.verdict ?? "unjudged"}`} />}
            </g>
          </svg>
        )}
      </div>
      <p class={at ? "readout" : "readout hint"} aria-live="polite">
        {at
          ? `${own}: “${isolated(words(at))}” ${at.guess === null ? "has no pick" : `picks ${said([at.guess])}`}${at.verdict ? `, ${at.verdict}` : ""}.${at.gold.length ? ` By the annotation: ${said(at.gold)}.` : ""}`
          : asked.length
            ? "Point at a mention, or move to it with Tab and the arrow keys, to see what the head picks for it. Click or Enter keeps it."
            : "The annotation of this text asks nothing of a head here."}
      </p>
      <p class="key">
        {judged.length > 0 && <span class="plain">{`${right} of ${judged.length} right in this text`}</span>}
        {right > 0 && <span class="right">pick, right</span>}
        {right < judged.length && <span class="wrong">pick, wrong</span>}
        {asked.length > 0 && <span class="gold">annotation</span>}
        {entities.size > 0 && <span class="plain">{`Numbers and colors: ${[...entities.values()].filter((number) => number !== null).length} entities with two mentions or more`}</span>}
      </p>
      {isText(sentence) && <p class="note">Only inputs of at most 128 words are stored with their maps. Of this text, what heads pick is stored, exactly.</p>}
      <Buttons
        again={() => <RunningText {...props} onKeep={() => undefined} />}
        name={`${sentence.document ?? sentence.id}-${headName(chosen, data)}-text`}
        title={title}
        caption={captionOf(data, [`text ${sentence.document ?? sentence.id}`, `head ${own}`, judged.length ? `${right} of ${judged.length} right` : ""])}
        rows={cells}
      />
    </div>
  );
}
