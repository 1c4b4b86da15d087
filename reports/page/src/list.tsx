// The list of example sentences.

import { useEffect, useRef } from "preact/hooks";
import type { SampledSentence } from "./data";
import { columnsOf, rowsOf, runningText } from "./data";
import { moved } from "./hooks";
import type { Example, Shown } from "./judging";
import { shows } from "./judging";
import { verdictsOf } from "./tasks";

const WORDS = 16;

interface Props {
  examples: Example[];
  show: Shown;
  chosen: SampledSentence | null;
  onChoose: (sentence: SampledSentence) => void;
}

/** The words of a sentence around a decision, with the words that are judged marked. */
export function Words({ example, show }: { example: Example; show: Shown }) {
  const { sentence, decisions } = example;
  const wanted = decisions.filter((decision) => shows(show, sentence, decision));
  const verdicts = verdictsOf(wanted);
  const words = sentence.rows.map((word, i) => ({ word, i })).filter(({ i }) => !sentence.special[i]);
  const middle = Math.max(0, words.findIndex(({ i }) => i === wanted[0]?.rows[0]));
  const start = words.length <= WORDS ? 0 : Math.max(0, Math.min(middle - WORDS / 2, words.length - WORDS));
  const { direction, joined } = rowsOf(sentence);
  const few = show.startsWith("wrong") || verdicts.size <= words.length / 2;
  return (
    <span class="words" dir={direction}>
      {start > 0 && "… "}
      {words.slice(start, start + WORDS).map(({ word, i }) => (
        <span key={i}>
          {few && verdicts.has(i) ? <b class={verdicts.get(i) ?? ""}>{word}</b> : <bdi>{word}</bdi>}
          {joined.includes(i) ? "" : " "}
        </span>
      ))}
      {start + WORDS < words.length && "…"}
    </span>
  );
}

/** The source words of a pair. */
function Source({ sentence }: { sentence: SampledSentence }) {
  const columns = columnsOf(sentence);
  return (
    <span class="words original" dir={columns.direction}>
      {runningText(columns, WORDS)}
    </span>
  );
}

export function ExampleList({ examples, show, chosen, onChoose }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const position = examples.findIndex((example) => example.sentence === chosen);
  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>(".current");
    if (!current || !list.current) return;
    const { offsetTop, offsetHeight } = current;
    const { scrollTop, clientHeight } = list.current;
    if (offsetTop < scrollTop || offsetTop + offsetHeight > scrollTop + clientHeight) list.current.scrollTop = offsetTop - clientHeight / 3;
  }, [chosen, examples]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(list.current?.querySelectorAll("button") ?? [])];
    const target = moved(event.key, buttons.indexOf(event.target as HTMLButtonElement), buttons.length);
    if (target === null || event.key === "ArrowLeft" || event.key === "ArrowRight") return;
    event.preventDefault();
    buttons[target]?.focus();
  };
  return (
    <div class="examples">
      <ul ref={list} onKeyDown={onKeyDown}>
        {examples.map((example, i) => (
          <li key={example.sentence.id}>
            <button
              type="button"
              class={example.sentence === chosen ? "example current" : "example"}
              aria-current={example.sentence === chosen ? "true" : undefined}
              tabIndex={(position >= 0 ? i === position : i === 0) ? 0 : -1}
              onClick={() => onChoose(example.sentence)}
            >
              <Words example={example} show={show} />
              {example.sentence.columns !== null && <Source sentence={example.sentence} />}
              <small>
                {example.judged > 0 && (
                  <span class={example.right === example.judged ? "right" : "wrong"}>
                    {example.right === example.judged ? "✓" : "✗"} {example.right} of {example.judged} right
                  </span>
                )}
                <bdi>{example.sentence.id}</bdi>
                {example.sentence.document !== null && <bdi>{example.sentence.document}</bdi>}
              </small>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
