// A word of a drawing, which can be pointed at, focused and pinned.

import type { Word } from "../address";
import type { SampledSentence } from "../data";
import { columnsOf } from "../data";
import type { WordHandlers } from "./panel";
import { shortened } from "./text";

interface Props {
  sentence: SampledSentence;
  word: Word;
  panel: string;
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  size: number;
  most: number;
  stop: boolean;
  state: string;
  /** How strongly the word takes part in the row or column that is shown, from 0 to 1. */
  share: number;
  box: { x: number; width: number; height: number };
  handlers: WordHandlers;
}

export function DrawnWord({ sentence, word, panel, x, y, anchor, size, most, stop, state, share, box, handlers }: Props) {
  const text = (word.side === "row" ? sentence.rows : columnsOf(sentence).words)[word.index] ?? "";
  const relation = word.side === "row" && sentence.columns === null ? sentence.relations[word.index] : null;
  const mention = sentence.columns === null && sentence.mentions.find((item) => item.start <= word.index && word.index <= item.end);
  const label = `${word.side === "row" ? "from" : "to"} ${text}${relation ? `, ${relation}` : ""}${mention ? `, mention of ${mention.entity}` : ""}`;
  return (
    <g
      role="button"
      class={`word ${state}`}
      data-panel={panel}
      data-word={`${word.side}-${word.index}`}
      tabindex={stop ? 0 : -1}
      aria-label={label}
      aria-pressed={state.includes("focus")}
      onPointerEnter={(event) => event.pointerType !== "touch" && handlers.onPoint(word)}
      onPointerLeave={() => handlers.onPoint(null)}
      onFocus={() => handlers.onFocus(word)}
      onBlur={() => handlers.onFocus(null)}
      onClick={() => handlers.onPin(word)}
      onKeyDown={(event) => handlers.onMove(event, word, panel)}
    >
      <rect class="hit" x={box.x} y={y - box.height / 2} width={box.width} height={box.height} rx={2} />
      {share > 0 && (
        <rect class="share" x={box.x} y={y - box.height / 2 + 1} width={box.width} height={box.height - 2} rx={2} style={{ fillOpacity: share }} />
      )}
      {mention && <rect class="mention" x={anchor === "end" ? box.x + box.width - 1 : box.x - 1} y={y - box.height / 2 + 2} width={2.5} height={box.height - 4} />}
      <text x={x} y={y} text-anchor={anchor} font-size={size}>
        {shortened(text, size, most)}
        {text !== shortened(text, size, most) && <title>{text}</title>}
      </text>
    </g>
  );
}
