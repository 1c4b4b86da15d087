// What the model predicts for each word of a sentence, as it is and without a head.

import type { Explorer, LiveSentence, Predicted, SampledSentence } from "./data";
import { headIndex, headName, rowsOf } from "./data";
import { percent, signed } from "./format";

interface Props {
  data: Explorer;
  /** What is predicted, with all heads and without some of them. */
  stored: Predicted[];
  head: number;
  onOpen: (head: number) => void;
  sentence: SampledSentence;
}

/** The likeliest pieces, with their probabilities. */
function Likeliest({ of, gold }: { of: [string, number][]; gold: string }) {
  return (
    <>
      {of.map(([piece, p], i) => (
        <span key={i}>
          {i > 0 && ", "}
          <bdi class={piece.toLowerCase() === gold.toLowerCase() ? "right" : ""}>{piece}</bdi> {percent(p)}
        </span>
      ))}
    </>
  );
}

function shown(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : signed(value.toFixed(2), false);
}

export function Predictions({ data, stored, head, onOpen, sentence }: Props) {
  const plain = stored.find((item) => item.head === "");
  if (!plain) return null;
  const without: Predicted | undefined = stored.find((item) => item.head === headName(head, data));
  const { words, special } = rowsOf(sentence);
  const others = stored.filter((item) => item.head !== "" && item !== without);
  return (
    <details class="predictions" open>
      <summary>What the model predicts{without ? ` with and without head ${without.head}` : ""}</summary>
      {others.length > 0 && <p class="note">
        {without ? "Without another head: " : "Kept without one of the heads "}
        {others.map((item) => (
          <button type="button" key={item.head} class="chip" onClick={() => onOpen(headIndex(item.head, data) ?? head)}>
            {item.head}
          </button>
        ))}
      </p>}
      <div class="frame scrolled" role="region" aria-label="Predictions" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">word</th>
              <th scope="col">log p</th>
              {without && <th scope="col">without {without.head}</th>}
              {without && <th scope="col">change</th>}
              <th scope="col" class="likeliest">likeliest</th>
              {without && <th scope="col" class="likeliest">likeliest without {without.head}</th>}
            </tr>
          </thead>
          <tbody>
            {words
              .filter((_, row) => !special[row])
              .map((word, i) => {
                const [before, after] = [plain.log_p[i] ?? null, without?.log_p[i] ?? null];
                const change = before === null || after === null ? null : after - before;
                return (
                  <tr key={i}>
                    <th scope="row">
                      <bdi>{word}</bdi>
                    </th>
                    <td>{shown(before)}</td>
                    {without && <td>{shown(after)}</td>}
                    {without && <td class={change !== null && Math.abs(change) >= 0.5 ? "large" : ""}>{change === null ? "–" : signed(change.toFixed(2), true)}</td>}
                    <td class="likeliest">
                      <Likeliest of={plain.likeliest[i] ?? []} gold={word} />
                    </td>
                    {without && (
                      <td class="likeliest">
                        <Likeliest of={without.likeliest[i] ?? []} gold={word} />
                      </td>
                    )}
                  </tr>
                );
              })}
          </tbody>
        </table>
      </div>
      <p class="note">
        log p of a word is the sum over its pieces, in nats. A masked-LM sees the sentence without the word, a causal model what precedes it. The likeliest pieces are those
        in the place of the first piece. Changes of at least 0.5 are bold.
      </p>
    </details>
  );
}

/** What a model that is at hand predicts for the words that are masked, or for all words if none is. */
export function LivePredictions({ live: { sentence, predictions, masked }, data, name }: { live: LiveSentence; data: Explorer; name: string }) {
  if (!predictions) return masked.length ? <p class="note">{name} has no language-model head, which would predict what is masked.</p> : null;
  const { words, special } = rowsOf(sentence);
  const ofRow = (row: number): [string, number][] => {
    const word = special.slice(0, row).filter((value) => !value).length; // predictions are those of the words
    return predictions.likeliest[predictions.likeliest.length === words.length ? row : word] ?? [];
  };
  if (!masked.length) return predictions.likeliest.some((list) => list.length) ? <Predictions data={data} stored={[{ ...predictions, head: "" }]} head={0} onOpen={() => undefined} sentence={sentence} /> : null;
  return (
    <dl class="masked" aria-label="What the model predicts">
      {masked.map((row) => (
        <div key={row}>
          <dt>
            <bdi>{words[row]}</bdi>
          </dt>
          {ofRow(row).map(([piece, p]) => (
            <dd key={piece}>
              <span class="bar">
                <i style={{ width: `${(100 * p).toFixed(1)}%` }} />
              </span>
              <bdi>{piece}</bdi> {percent(p)}
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}
