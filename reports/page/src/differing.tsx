// What differs between A and B: the words for which the head picks different ones, and the heads of which this is so.

import type { Explorer, SampledSentence } from "./data";
import { columnsOf, headName, storedHead } from "./data";
import { count } from "./format";
import { usePromise } from "./hooks";
import type { Maps } from "./inflate";
import { NO_GUESS, UNSURE } from "./inflate";
import type { Links, Picked } from "./linking";
import { differing } from "./linking";
import type { View } from "./view";

/** What is drawn of a slot. */
export interface Compared {
  data: Explorer;
  maps: Maps;
  sentence: SampledSentence;
  kinds: string[];
  guesses: string;
  /** Whether it has heads of the same model as the other slot. */
  model: string;
}

const MOST = 8; // words that are named
const MOST_HEADS = 12;

/** The heads that pick different words in A and B, for one row of A or for all, those of most words first. */
export async function differingHeads(one: Compared, other: Compared, links: Links, row: number | null): Promise<{ head: number; words: number }[]> {
  const picksOf = async ({ maps, sentence, kinds: [kind = ""], guesses, data }: Compared, head: number): Promise<Picked[]> => {
    const found = await maps.guess(sentence, `${kind}/${guesses}`, storedHead(head, kind, data));
    return [...(found ?? [])].map((guess, at) => ({ rows: [at], guess: guess === NO_GUESS || guess === UNSURE ? null : guess }));
  };
  const result: { head: number; words: number }[] = [];
  for (let head = 0; head < one.data.layers * one.data.heads; head++) {
    const { rows } = differing(await picksOf(one, head), await picksOf(other, head), links);
    const words = row === null ? rows.length : rows.filter((each) => each.row === row).length;
    if (words) result.push({ head, words });
  }
  return result.sort((a, b) => b.words - a.words);
}

/** For which words A and B pick different ones. */
export function Picks({ one, other, picks: [first, second], links }: { one: Compared; other: Compared; picks: [Picked[], Picked[]]; links: Links }) {
  const { of, rows } = differing(first, second, links);
  if (!of) return null;
  const [ofA, ofB] = [columnsOf(one.sentence).words, columnsOf(other.sentence).words];
  return (
    <p class="picks" role="status">
      {rows.length ? `A and B pick different words for ${rows.length} of ${of}: ` : `A and B pick the same words for all ${of}.`}
      {rows.slice(0, MOST).map(({ row, picks: [own, theirs] }, i) => (
        <span key={row}>
          {i > 0 && "; "}
          <b>
            <bdi>{one.sentence.rows[row]}</bdi>
          </b>{" "}
          → <bdi>{ofA[own]}</bdi> in A, <bdi>{ofB[theirs]}</bdi> in B
        </span>
      ))}
      {rows.length > MOST && "; …"}
    </p>
  );
}

/** The heads that pick different words in A and B: for the word at hand, or for most words. Each opens as the chosen one. */
export function DifferingHeads({ one, other, links, view, onOpen }: { one: Compared; other: Compared; links: Links; view: View; onOpen: (head: number) => void }) {
  const same = one.model === other.model && one.kinds[0] === other.kinds[0] && view.slots[1]?.head === null;
  const row = view.word?.index ?? null;
  const heads = usePromise(
    () => (same ? differingHeads(one, other, links, row) : Promise.resolve(null)),
    [same, one.sentence, other.sentence, one.kinds[0], one.guesses, row],
  );
  if (!heads) return null;
  const word = row === null ? undefined : one.sentence.rows[row];
  return (
    <p class="nearest heads-differing">
      <span>
        {word === undefined ? "Heads that differ for most words" : <>Heads that pick another word for <b><bdi>{word}</bdi></b></>} ({heads.length} of {one.data.layers * one.data.heads}
        {word === undefined && "; click a word to see those that differ for it"}):
      </span>
      {heads.slice(0, MOST_HEADS).map(({ head, words }) => (
        <button key={head} type="button" class="chip" title={count(words, "word")} onClick={() => onOpen(head)}>
          {headName(head, one.data)}
        </button>
      ))}
      {heads.length > MOST_HEADS && "…"}
    </p>
  );
}
