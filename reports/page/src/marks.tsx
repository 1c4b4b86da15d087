// The accuracy of a head on one axis with what it is to be read beside: the best head held out, rules and random weights.

import type { Explorer, Mark, Measure, Reference } from "./data";
import { headName } from "./data";
import { percent, signed } from "./format";

type Role = Mark["role"] | "accuracy";

/** The shape of a mark, which tells it from the others without its color. */
export function Shape({ role }: { role: Role }) {
  const shapes = {
    accuracy: <circle cx={7} cy={7} r={5} />,
    heldout: <circle class="open" cx={7} cy={7} r={4.5} />,
    position: <rect x={5} y={1} width={4} height={12} />,
    rule: <path d="M7 0.5L13.5 7L7 13.5L0.5 7Z" />,
    random: <path class="open" d="M2.5 2.5L11.5 11.5M11.5 2.5L2.5 11.5" />,
  };
  return (
    <svg class={`mark ${role}`} viewBox="0 0 14 14" width={14} height={14} aria-hidden="true">
      {shapes[role]}
    </svg>
  );
}

interface Row {
  role: Role;
  label: string;
  value: number | null;
  low: number | null;
  high: number | null;
  note: string;
}

/** The rows of the axis: the head itself, and the marks. */
export function rowsOfMarks(data: Explorer, measure: Measure, reference: Reference, head: number): Row[] {
  const own: Row = {
    role: "accuracy",
    label: `head ${headName(head, data)}`,
    value: measure.values[head] ?? null,
    low: measure.low?.[head] ?? null,
    high: measure.high?.[head] ?? null,
    note: measure.note,
  };
  return [own, ...reference.marks];
}

function place(value: number): string {
  return `${(100 * Math.max(0, Math.min(1, value))).toFixed(2)}%`;
}

function bounds({ low, high }: Row): string {
  if (low === null || high === null || low === high) return "";
  return `[${(100 * low).toFixed(1)}, ${signed((100 * high).toFixed(1), false)}]`;
}

function AxisRow({ row }: { row: Row }) {
  const { role, label, value, low, high, note } = row;
  return (
    <li title={note}>
      <span class="name">
        <Shape role={role} /> {label}
      </span>
      {value === null ? (
        <span class="missing">{note}</span>
      ) : (
        <>
          <span class={`track ${role}`}>
            {bounds(row) && low !== null && high !== null && <i style={{ left: place(low), right: place(1 - high) }} />}
            <b style={{ left: place(value) }}>
              <Shape role={role} />
            </b>
          </span>
          <span class="value">
            {percent(value)} <small>{bounds(row)}</small>
          </span>
        </>
      )}
    </li>
  );
}

/** What a head finds for one question, beside the marks of this question. */
export function Marks({ data, measure, reference, head }: { data: Explorer; measure: Measure; reference: Reference; head: number }) {
  const rows = rowsOfMarks(data, measure, reference, head);
  return (
    <figure class="marks">
      <figcaption>
        {measure.label} <small>{measure.n !== null && `n = ${measure.n.toLocaleString("en")} · `}best head and rules held out</small>
      </figcaption>
      <ul>
        {rows.map((row) => (
          <AxisRow key={row.label} row={row} />
        ))}
      </ul>
      <div class="ticks" aria-hidden="true">
        <span class="track">
          {[0, 0.5, 1].map((tick) => (
            <span key={tick} style={{ left: place(tick) }}>
              {100 * tick}
            </span>
          ))}
        </span>
        <span class="value">%</span>
      </div>
      <details class="words">
        <summary>What the marks are</summary>
        <dl>
          {rows.map((row) => (
            <div key={row.label}>
              <dt>{row.label}</dt>
              <dd>{row.note}</dd>
            </div>
          ))}
        </dl>
      </details>
    </figure>
  );
}
