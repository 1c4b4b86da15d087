// The words of a drawing, which can be pointed at, focused and pinned. Events are handled by the drawing (`wordOf`).

import { useMemo } from "preact/hooks";
import type { Panel, WordValue } from "./panel";
import { shortened } from "./text";
import type { SampledSentence } from "../data";
import { columnsOf } from "../data";
import { mentionOf } from "../tasks";
import type { Word } from "../view";

/** Where a word stands, with its box, whose middle is at `y`; `transform` moves and turns both. */
export interface Place {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  left: number;
  width: number;
  height: number;
  transform?: string;
}

interface Props {
  label: string;
  panel: Panel;
  sentence: SampledSentence;
  side: Word["side"];
  indices: number[];
  /** `place` and `state` depend on this, on the panel, and on what is drawn of the sentence. */
  layout: { size: number };
  place: (index: number) => Place;
  /** Classes of a word that do not depend on the word at hand. */
  state: (index: number) => string;
  /** The widest that a word is drawn. */
  most: number;
  /** The words at hand, which are on the side `markedSide`, and the one in the order of the Tab key. */
  marked: number[];
  markedSide?: Word["side"];
  stop: number | null;
  /** How strongly words take part in the row or column at hand. */
  values: Map<number, WordValue> | null;
}

/**
 * Words, behind which bars show how strongly they take part in the row or column at hand. When the pointer moves, all
 * bars of a long sentence change but few words do, so the others keep the element that they had, which Preact skips.
 */
export function Words({ label, panel, sentence, side, indices, layout, place, state, most, marked, markedSide = side, stop, values }: Props) {
  const shared = { sentence, panel: panel.key, size: layout.size, most };
  const unmarked = useMemo(
    () => indices.map((index) => <DrawnWord key={index} {...shared} side={side} index={index} place={place(index)} state={state(index)} />),
    [panel, sentence, side, indices, layout],
  );
  return (
    <>
      {values && (
        <g>
          {indices.map((index) => {
            const share = (values.get(index)?.byte ?? 0) / 255;
            if (!share) return null;
            const { left, y, width, height, transform } = place(index);
            return <rect key={index} class="share" data-of={`${side}-${index}`} {...{ x: left, y: y - height / 2 + 1, width, height: height - 2, transform }} rx={2} fill-opacity={share} />;
          })}
        </g>
      )}
      <g role="group" aria-label={label}>
        {indices.map((index, i) => {
          const isMarked = marked.includes(index);
          if (!isMarked && index !== stop) return unmarked[i];
          return <DrawnWord key={index} {...shared} side={isMarked ? markedSide : side} index={index} place={place(index)} state={state(index)} marked={isMarked} stop={index === stop} />;
        })}
      </g>
    </>
  );
}

interface WordProps {
  sentence: SampledSentence;
  panel: string;
  size: number;
  most: number;
  side: Word["side"];
  index: number;
  place: Place;
  state: string;
  marked?: boolean;
  stop?: boolean;
}

function DrawnWord({ sentence, panel, size, most, side, index, place, state, marked = false, stop = false }: WordProps) {
  const { x, y, anchor, left, width, height, transform } = place;
  const text = (side === "row" ? sentence.rows : columnsOf(sentence).words)[index] ?? "";
  const short = shortened(text, size, most);
  const relation = side === "row" && sentence.columns === null ? sentence.relations[index] : null;
  const mention = sentence.columns === null && mentionOf(sentence, index);
  const label = `${side === "row" ? "from" : "to"} ${text}${relation ? `, ${relation}` : ""}${mention ? `, mention of ${mention.entity}` : ""}`;
  return (
    <g
      role="button"
      class={`word ${marked ? "focus" : ""} ${state}`}
      data-panel={panel}
      data-word={`${side}-${index}`}
      tabindex={stop ? 0 : -1}
      aria-label={label}
      aria-pressed={marked}
      transform={transform}
    >
      <rect class="hit" x={left} y={y - height / 2} width={width} height={height} rx={2} />
      {mention && <rect class="mention" x={anchor === "end" ? left + width - 1 : left - 1} y={y - height / 2 + 2} width={2.5} height={height - 4} />}
      <text x={x} y={y} text-anchor={anchor} font-size={size}>
        {short}
        {text !== short && <title>{text}</title>}
      </text>
    </g>
  );
}

/** The word that an event is about, and the key of its panel; null if it is about none. */
export function wordOf(event: Event): { word: Word; panel: string } | null {
  const element = (event.target as Element).closest<SVGElement>("[data-word]");
  const [side, index] = element?.dataset.word?.split("-") ?? [];
  return side === "row" || side === "column" ? { word: { side, index: Number(index) }, panel: element?.dataset.panel ?? "" } : null;
}
