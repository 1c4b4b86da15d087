// What one head does, in one place.

import type { Explorer, HeadName } from "./data";
import { headIndex, headName } from "./data";
import { percent } from "./format";
import { Marks } from "./marks";
import type { Keep } from "./names";
import { Heading } from "./names";
import { withMeasure } from "./question";
import { askedAccuracy, referenceOf } from "./references";
import type { Strength } from "./strengths";
import { barOf, beside, strengths } from "./strengths";
import type { Go, View } from "./view";
import { kindsIn, withSlot } from "./view";

interface Props {
  data: Explorer;
  view: View;
  go: Go;
}

/** Where a head attends by offset: one bar for each distance to the left and right. */
function Profile({ offsets, values }: { offsets: number[]; values: number[] }) {
  const largest = Math.max(...values, 1e-9);
  const step = 300 / offsets.length;
  const label = offsets.map((offset, i) => `${offset > 0 ? "+" : ""}${offset}: ${percent(values[i] ?? 0)}`).join(", ");
  return (
    <figure class="profile">
      <figcaption>Attention by distance in words (largest: {percent(largest)})</figcaption>
      <svg role="img" aria-label={label} viewBox="0 0 300 78" width="300" height="78">
        {offsets.map((offset, i) => {
          const height = ((values[i] ?? 0) / largest) * 58;
          return (
            <g key={offset}>
              <rect class="column" x={i * step + 1} y={60 - height} width={Math.max(1, step - 2)} height={height}>
                <title>{`${offset > 0 ? "+" : ""}${offset}: ${percent(values[i] ?? 0)}`}</title>
              </rect>
              {(offsets.length <= 13 || offset % 5 === 0) && (
                <text class="axis" x={(i + 0.5) * step} y={74} text-anchor="middle">
                  {offset > 0 ? `+${offset}` : String(offset).replace("-", "−")}
                </text>
              )}
            </g>
          );
        })}
        <line class="base" x1={0} x2={300} y1={60.5} y2={60.5} />
      </svg>
    </figure>
  );
}

/** One measure of a head: its value, which leads to the matrix of the measure, and what it is to be read beside. */
function Line({ data, view, go, strength, head }: Props & { strength: Strength; head: number }) {
  const { label, measure, text, words } = strength;
  if (!measure) {
    return (
      <div>
        <dt>{label}</dt>
        <dd>{text}</dd>
      </div>
    );
  }
  const bar = barOf(measure, head);
  return (
    <div>
      <dt>
        {label} {kindsIn(view).length > 1 && measure.kind && <small class="tag">{measure.kind}</small>}
        {bar && (
          <span class="bar">
            <i style={{ width: bar.length }} />
            {bar.mark !== null && <b style={{ left: bar.mark }} />}
          </span>
        )}
      </dt>
      <dd>
        <button
          type="button"
          class={measure.id === view.measure ? "link current" : "link"}
          title={words}
          onClick={() => go({ ...withMeasure(view, measure.id, data), word: null })}
        >
          {text}
        </button>
        <small>{beside(measure, head)}</small>
      </dd>
    </div>
  );
}

export function HeadCard({ data, view, go, names, keep }: Props & { names: HeadName[]; keep: Keep | null }) {
  const { head } = view;
  const card = data.cards[head];
  const open = (name: string): void => {
    const index = headIndex(name, data);
    if (index !== null) go({ ...withSlot(view, 0, { head: null }), head: index, word: null });
  };
  const compare = (name: string): void => {
    const index = headIndex(name, data);
    if (index !== null) go(withSlot(view, 1, { head: index }));
  };
  const name = headName(head, data);
  const accuracy = askedAccuracy(data, view);
  const reference = referenceOf(data, accuracy);
  return (
    <>
      <section class="card" aria-label={`Head ${name}`}>
        <Heading key={name} head={name} {...{ names, keep }} />
        {accuracy && reference && <Marks {...{ data, reference, head }} measure={accuracy} />}
        {card && (
          <dl>
            {strengths(data, card, head, view)
              .filter(({ measure }) => !reference || !measure || measure !== accuracy || measure.id !== view.measure)
              .map((strength) => (
                <Line key={`${strength.label} ${strength.measure?.id}`} {...{ data, view, go, strength, head }} />
              ))}
          </dl>
        )}
        {card && (
          <details class="words">
            <summary>In words</summary>
            <p class="summary">{card.summary}</p>
          </details>
        )}
      </section>
      {card && (card.profile !== null || card.nearest.length > 0) && (
        <section class="card habits" aria-label={`Distances and nearest heads of head ${name}`}>
          {card.profile && <Profile {...card.profile} />}
          {card.nearest.length > 0 && (
            <p class="nearest">
              <span>Nearest heads:</span>
              {card.nearest.map((other) => (
                <span key={other} class="pair">
                  <button type="button" class="chip" onClick={() => open(other)} aria-label={`Open head ${other}`}>
                    {other}
                  </button>
                  {data.sample && (
                    <button type="button" class="chip" onClick={() => compare(other)} aria-label={`Draw head ${other} beside`} title="Draw beside">
                      +
                    </button>
                  )}
                </span>
              ))}
            </p>
          )}
        </section>
      )}
    </>
  );
}
