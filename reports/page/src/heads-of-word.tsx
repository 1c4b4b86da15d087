// Which heads pick which word for the word at hand, the words that most heads pick first.

import { columnsOf, headName, storedHead } from "./data";
import type { Compared } from "./differing";
import { count } from "./format";
import { usePromise } from "./hooks";
import { NO_GUESS, UNSURE } from "./inflate";
import type { Word } from "./view";

const MOST = 6; // words that are named
const MOST_HEADS = 8; // of each

/** The heads that pick each word for a row. */
export async function headsOfWord({ maps, sentence, kinds: [kind = ""], guesses, data }: Pick<Compared, "maps" | "sentence" | "kinds" | "guesses" | "data">, row: number): Promise<{ picked: number; heads: number[] }[]> {
  const heads = new Map<number, number[]>();
  for (let head = 0; head < data.layers * data.heads; head++) {
    const guess = (await maps.guess(sentence, `${kind}/${guesses}`, storedHead(head, kind, data)))?.[row] ?? NO_GUESS;
    if (guess !== NO_GUESS && guess !== UNSURE) heads.set(guess, [...(heads.get(guess) ?? []), head]);
  }
  return [...heads].map(([picked, of]) => ({ picked, heads: of })).sort((a, b) => b.heads.length - a.heads.length || a.picked - b.picked);
}

interface Props {
  drawn: Pick<Compared, "maps" | "sentence" | "kinds" | "guesses" | "data">;
  word: Word | null;
  head: number;
  onOpen: (head: number) => void;
}

export function HeadsOfWord({ drawn, word, head, onOpen }: Props) {
  const { sentence, data } = drawn;
  const row = word && (word.side === "row" || sentence.columns === null) ? word.index : null;
  const groups = usePromise(
    () => (row === null ? Promise.resolve([]) : headsOfWord(drawn, row)),
    [sentence, data, drawn.kinds[0], drawn.guesses, row],
  );
  if (row === null || !groups?.length) return null;
  const words = columnsOf(sentence).words;
  return (
    <div class="heads-of-word" role="group" aria-label={`Heads by what they pick for ${sentence.rows[row]}`}>
      <p>
        What heads pick for <b><bdi>{sentence.rows[row]}</bdi></b>
      </p>
      <ul>
        {groups.slice(0, MOST).map(({ picked, heads }) => (
          <li key={picked}>
            <b><bdi>{words[picked]}</bdi></b> <small>{heads.length}</small>
            {heads.slice(0, MOST_HEADS).map((each) => (
              <button key={each} type="button" class="chip" aria-current={each === head} onClick={() => onOpen(each)}>
                {headName(each, data)}
              </button>
            ))}
            {heads.length > MOST_HEADS && "…"}
          </li>
        ))}
      </ul>
      {groups.length > MOST && <p class="note">Other words: {count(groups.slice(MOST).reduce((sum, { heads }) => sum + heads.length, 0), "head")}.</p>}
    </div>
  );
}
