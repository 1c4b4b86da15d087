// What the model predicts for each word of a sentence, as it is and without a head.

import type { View } from "./address";
import type { Explorer, Predicted, SampledSentence } from "./data";
import { headIndex, headName, rowsOf } from "./data";
import { percent, signed } from "./format";
import type { Go } from "./hooks";

interface Props {
  data: Explorer;
  view: View;
  go: Go;
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

export function Predictions({ data, view, go, sentence }: Props) {
  const stored = (data.predictions ?? []).filter((item) => item.sentence === sentence.id);
  const plain = stored.find((item) => item.head === "");
  if (!plain) return null;
  const [head = 0] = view.heads;
  const without: Predicted | undefined = stored.find((item) => item.head === headName(head, data));
  const { words, special } = rowsOf(sentence);
  const others = stored.filter((item) => item.head !== "" && item !== without);
  return (
    <details class="predictions" open>
      <summary>What the model predicts{without ? ` with and without head ${without.head}` : ""}</summary>
      <p class="note">
        {without ? "Without another head: " : "Kept without one of the heads "}
        {others.map((item) => (
          <button type="button" key={item.head} class="chip" onClick={() => go({ ...view, heads: [headIndex(item.head, data) ?? head] })}>
            {item.head}
          </button>
        ))}
      </p>
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
