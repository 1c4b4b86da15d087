// A word of a drawing, which can be pointed at, focused and pinned.

import { memo } from "preact/compat";
import type { Word } from "../address";
import type { SampledSentence } from "../data";
import { columnsOf } from "../data";
import type { WordHandlers } from "./panel";
import { shortened } from "./text";

interface Props {
  sentence: SampledSentence;
  side: Word["side"];
  index: number;
  panel: string;
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  size: number;
  most: number;
  stop: boolean;
  state: string;
  /** The box of the word, whose middle is at `y`. */
  left: number;
  width: number;
  height: number;
  handlers: WordHandlers;
}

/** A word, behind which a bar shows how strongly it takes part in the row or column at hand: its share, from 0 to 1. */
export function DrawnWord({ share, ...word }: Props & { share: number }) {
  const { left, y, width, height } = word;
  return (
    <>
      {share > 0 && <rect class="share" x={left} y={y - height / 2 + 1} width={width} height={height - 2} rx={2} style={{ fillOpacity: share }} />}
      <Still {...word} />
    </>
  );
}

/** The word itself. Only few words change when the pointer moves; the shares of a long sentence all do. */
const Still = memo(function Still({ sentence, side, index, panel, x, y, anchor, size, most, stop, state, left, width, height, handlers }: Props) {
  const word: Word = { side, index };
  const text = (side === "row" ? sentence.rows : columnsOf(sentence).words)[index] ?? "";
  const short = shortened(text, size, most);
  const relation = side === "row" && sentence.columns === null ? sentence.relations[index] : null;
  const mention = sentence.columns === null && sentence.mentions.find((item) => item.start <= index && index <= item.end);
  const label = `${side === "row" ? "from" : "to"} ${text}${relation ? `, ${relation}` : ""}${mention ? `, mention of ${mention.entity}` : ""}`;
  return (
    <g
      role="button"
      class={`word ${state}`}
      data-panel={panel}
      data-word={`${side}-${index}`}
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
      <rect class="hit" x={left} y={y - height / 2} width={width} height={height} rx={2} />
      {mention && <rect class="mention" x={anchor === "end" ? left + width - 1 : left - 1} y={y - height / 2 + 2} width={2.5} height={height - 4} />}
      <text x={x} y={y} text-anchor={anchor} font-size={size}>
        {short}
        {text !== short && <title>{text}</title>}
      </text>
    </g>
  );
});
