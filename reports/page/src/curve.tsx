// The curve over layers: the best head of each layer, chosen on one half of the text and scored on the other.

import { Buttons } from "./buttons";
import { captionOf } from "./caption";
import type { Explorer, LayerCurve, Measure, Reference } from "./data";
import { apart } from "./drawing/labels";
import { percent } from "./format";
import { referenceOf } from "./references";

const WIDTH = 410;
const HEIGHT = 132;
const LEFT = 38;
const RIGHT = 122; // the width of the names of the lines
const TOP = 8;
const BOTTOM = 18;

interface Series {
  class: string;
  name: string;
  values: (number | null)[];
}

/** The line through the values of the layers that have one. */
export function path(values: (number | null)[], x: (layer: number) => number, y: (value: number) => number): string {
  let joins = false;
  return values
    .map((value, layer) => {
      const step = value === null ? "" : `${joins ? "L" : "M"}${x(layer).toFixed(1)} ${y(value).toFixed(1)}`;
      joins = value !== null;
      return step;
    })
    .join("");
}

/** The lines of a curve: those of the question, of the mean over questions, of the rules, and of random weights. */
export function series(reference: Reference, layers: LayerCurve, mean: Reference | undefined): Series[] {
  const level = (role: string): Series[] =>
    reference.marks
      .filter((mark) => mark.role === role && mark.value !== null)
      .map((mark) => ({ class: role, name: mark.label, values: layers.values.map(() => mark.value) }));
  return [
    ...(layers.random ? [{ class: "random", name: "random weights", values: layers.random }] : []),
    ...level("position"),
    ...level("rule"),
    ...(mean?.layers ? [{ class: "mean", name: mean.label, values: mean.layers.values }] : []),
    { class: "heldout", name: reference.label, values: layers.values },
  ];
}

export function Curve({ data, measure }: { data: Explorer; measure: Measure }) {
  const reference = referenceOf(data, measure);
  const layers = reference?.layers;
  if (!reference || !layers || layers.values.every((value) => value === null)) return null;
  const mean = data.references?.find((item) => item.id === reference.beside);
  const lines = series(reference, layers, mean);
  const n = layers.values.length;
  const x = (layer: number): number => LEFT + ((layer + 0.5) * (WIDTH - LEFT - RIGHT)) / n;
  const y = (value: number): number => TOP + (1 - value) * (HEIGHT - TOP - BOTTOM);
  const last = (values: (number | null)[]): number => values.filter((value) => value !== null).at(-1) ?? 0;
  // Names stand beside the ends of their lines, and none on another one.
  const names = apart(lines.map(({ values }) => ({ x: 0, y: y(last(values)), width: RIGHT, height: 12 })));
  const excess = Math.max(0, ...names.map((box) => box.y + 6 - HEIGHT + BOTTOM / 2));
  const label = `The best head of each layer for ${reference.label}, held out: ${layers.values.map((value, i) => `layer ${i + 1} ${value === null ? "undefined" : percent(value)}`).join(", ")}`;
  const every = Math.ceil(n / 12);
  return (
    <figure class="curve">
      <figcaption>Best head of each layer, held out: {reference.label}</figcaption>
      <svg class="curves" role="img" aria-label={label} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT}>
        {[0, 0.5, 1].map((tick) => (
          <g key={tick}>
            <line class="rule-line" x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text class="axis" x={LEFT - 5} y={y(tick)} text-anchor="end">
              {100 * tick}
              {tick === 1 ? " %" : ""}
            </text>
          </g>
        ))}
        {layers.values.map((_, layer) =>
          layer % every === 0 ? (
            <text key={layer} class="axis" x={x(layer)} y={HEIGHT - 6} text-anchor="middle">
              {layer + 1}
            </text>
          ) : null,
        )}
        {lines.map((line) => (
          <path key={line.class} class={`series ${line.class}`} d={path(line.values, x, y)} />
        ))}
        {layers.values.map((value, layer) => {
          const [low, high] = [layers.low?.[layer] ?? null, layers.high?.[layer] ?? null];
          return (
            value !== null && (
              <g key={layer} class="point">
                {low !== null && high !== null && <line x1={x(layer)} x2={x(layer)} y1={y(low)} y2={y(high)} />}
                <circle cx={x(layer)} cy={y(value)} r={3.2}>
                  <title>{`Layer ${layer + 1}: ${percent(value)}${low !== null && high !== null ? ` [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]` : ""}`}</title>
                </circle>
              </g>
            )
          );
        })}
        {lines.map((line, i) => (
          <text key={line.class} class={`series-name ${line.class}`} x={WIDTH - RIGHT + 6} y={(names[i]?.y ?? 0) - excess}>
            {line.name}
          </text>
        ))}
      </svg>
      <Buttons
        again={() => <Curve data={data} measure={measure} />}
        name={`layers-${reference.id}`}
        title={`Best head of each layer, held out: ${reference.label}`}
        caption={captionOf(data, [measure.kind && `map “${measure.kind}”`, measure.n !== null && `n = ${measure.n.toLocaleString("en")}`])}
        rows={() => [
          ["layer", "heldout", "low", "high", ...(layers.random ? ["random"] : [])],
          ...layers.values.map((value, i) => [i + 1, value, layers.low?.[i] ?? null, layers.high?.[i] ?? null, ...(layers.random ? [layers.random[i] ?? null] : [])]),
        ]}
      />
    </figure>
  );
}
