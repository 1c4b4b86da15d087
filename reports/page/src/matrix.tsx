// The matrix: layers × heads, colored by a measure.

import { memo } from "preact/compat";
import { useMemo, useRef, useState } from "preact/hooks";
import { Buttons } from "./buttons";
import { captionOf } from "./caption";
import type { Coloring } from "./color";
import { coloring, inkOn, lightDark } from "./color";
import { OneOf } from "./controls";
import { Curve } from "./curve";
import type { Explorer, HeadName, Measure } from "./data";
import { headName } from "./data";
import { interval, short, withUnit } from "./format";
import { useWidth } from "./hooks";
import { ofLayer } from "./layers";
import { Legend } from "./legend";
import { namedAs } from "./names";
import { bestOf, withMeasure } from "./question";
import { rank } from "./rank";
import { shortName, siblings } from "./references";
import type { Go, View } from "./view";
import { headsOf, ignored, toggled, withHead } from "./view";

const LABELS = 30; // the width of the names of the layers
const MARGIN = 78; // the width of the mean and the best of each layer

interface Props {
  data: Explorer;
  view: View;
  go: Go;
  measure: Measure;
  names: HeadName[];
}

/** What the page says about one cell; who speaks to the page can also say what is seen in the cell, which is rounded. */
export function describe(data: Explorer, measure: Measure, head: number, names: HeadName[] = [], seen = ""): string {
  const value = measure.values[head] ?? null;
  const ranked = measure.categories ? null : rank(measure, head);
  const name = headName(head, data);
  const named = namedAs(names, name);
  const whole = `Head ${name}${named ? ` (${named.name})` : ""}: ${withUnit(value, measure)}${interval(measure, head)}`;
  const text = seen && !whole.includes(seen) ? `${whole}, shown as ${seen}` : whole;
  if (value === null) return `${text}, undefined`;
  return ranked ? `${text}, rank ${ranked.position}${ranked.equal > 1 ? " (equal)" : ""} of ${ranked.of}` : text;
}

interface CellsProps extends Omit<Props, "go" | "view"> {
  colors: Coloring;
  heads: number[];
  stop: number;
  size: { width: number; height: number };
}

function Layer({ data, measure, layer, x, y }: { data: Explorer; measure: Measure; layer: number; x: number; y: number }) {
  const found = ofLayer(measure, data.heads, layer);
  return (
    found && (
      <g class="of-layer" role="gridcell">
        <title>{`Layer ${layer + 1}: mean ${withUnit(found.mean, measure)}, best ${withUnit(found.best, measure)}`}</title>
        <text class="axis" x={x + 38} y={y} text-anchor="end">
          {short(found.mean, measure)}
        </text>
        <text class="axis" x={x + MARGIN - 4} y={y} text-anchor="end">
          {short(found.best, measure)}
        </text>
      </g>
    )
  );
}

const Cells = memo(function Cells({ data, measure, names, colors, heads, stop, size }: CellsProps) {
  const rows = [];
  const best = measure.categories ? -1 : bestOf(measure);
  const longest = Math.max(...measure.values.map((value) => short(value, measure).length));
  const font = Math.min(12.5, size.width / 2.4, (size.width - 3) / (0.6 * longest)); // numbers stay within their cells
  for (let layer = 0; layer < data.layers; layer++) {
    const y = 18 + layer * size.height;
    const cells = [];
    for (let head = 0; head < data.heads; head++) {
      const index = layer * data.heads + head;
      const value = measure.values[index] ?? null;
      const light = colors.color(value, "light");
      const fill = lightDark((scheme) => colors.color(value, scheme));
      const ink = lightDark((scheme) => inkOn(colors.color(value, scheme)));
      const chosen = heads.indexOf(index);
      const named = namedAs(names, headName(index, data));
      cells.push(
        <g
          key={head}
          role="gridcell"
          data-head={index}
          class={chosen === 0 ? "cell chosen" : chosen > 0 ? "cell compared" : "cell"}
          tabindex={index === stop ? 0 : -1}
          aria-selected={chosen >= 0}
          aria-label={describe(data, measure, index, names, font >= 7 ? short(value, measure) : "")}
          transform={`translate(${LABELS + head * size.width} ${y})`}
        >
          {named && <title>{[named.name, named.note].filter(Boolean).join(": ")}</title>}
          <rect class="swatch" x={0.75} y={0.75} width={size.width - 1.5} height={size.height - 1.5} rx={2} fill={light} style={{ fill }} />
          {value !== null && index === best && (
            <rect class="best" x={2.5} y={2.5} width={size.width - 5} height={size.height - 5} rx={1} style={{ stroke: ink }} />
          )}
          {font >= 7 && (
            <text x={size.width / 2} y={size.height / 2} font-size={font} style={{ fill: ink }} aria-hidden="true">
              {short(value, measure)}
            </text>
          )}
          {named && (
            <text class="named" x={size.width - 2} y={6} font-size={9} style={{ fill: ink }} aria-hidden="true">
              ★
            </text>
          )}
          <rect class="ring" x={0.75} y={0.75} width={size.width - 1.5} height={size.height - 1.5} rx={2} />
        </g>,
      );
    }
    rows.push(
      <g key={layer} role="row">
        <text role="rowheader" class="axis" x={LABELS - 6} y={y + size.height / 2} text-anchor="end">
          {layer + 1}
        </text>
        {cells}
        <Layer data={data} measure={measure} layer={layer} x={LABELS + data.heads * size.width} y={y + size.height / 2} />
      </g>,
    );
  }
  return <>{rows}</>;
});

export function Matrix({ data, view, go, measure, names }: Props) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [focused, setFocused] = useState<number | null>(null);
  const colors = useMemo(() => coloring(measure), [measure]);
  const cell = Math.max(13, Math.min(56, ((width || 560) - LABELS - MARGIN) / data.heads));
  const size = useMemo(() => ({ width: cell, height: Math.max(20, Math.min(data.layers > 12 ? 30 : 34, cell)) }), [cell]);
  const { head: first } = view;
  const heads = useMemo(() => headsOf(view), [view.head, view.slots]);
  const shown = pointed ?? focused ?? first;

  const indexAt = (event: Event): number | null => {
    const element = (event.target as Element).closest("[data-head]");
    return element ? Number(element.getAttribute("data-head")) : null;
  };
  const open = (index: number, compare: boolean): void => {
    if (!compare) {
      go(withHead(view, index));
      return;
    }
    go(toggled(view, index));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const index = indexAt(event);
    if (index === null) return;
    const { heads, layers } = data;
    const column = index % heads;
    const targets: Record<string, number> = {
      ArrowRight: column + 1 < heads ? index + 1 : index,
      ArrowLeft: column > 0 ? index - 1 : index,
      ArrowDown: index + heads < heads * layers ? index + heads : index,
      ArrowUp: index >= heads ? index - heads : index,
      Home: event.ctrlKey ? 0 : index - column,
      End: event.ctrlKey ? heads * layers - 1 : index - column + heads - 1,
      PageUp: column,
      PageDown: heads * (layers - 1) + column,
    };
    const target = targets[event.key];
    if (target !== undefined) {
      event.preventDefault();
      setFocused(target);
      svg.current?.querySelector<SVGElement>(`[data-head="${target}"]`)?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(index, event.shiftKey || event.ctrlKey || event.metaKey);
    }
  };
  const every = Math.ceil(22 / cell); // names of heads must not overlap
  const headings = [];
  for (let head = 0; head < data.heads; head += every) {
    headings.push(
      <text key={head} role="columnheader" class="axis" x={LABELS + (head + 0.5) * cell} y={10} text-anchor="middle">
        {head + 1}
      </text>,
    );
  }
  const margin = measure.categories ? [] : ["mean", "best"];
  const total = { width: LABELS + cell * data.heads + MARGIN, height: 18 + size.height * data.layers };
  const of = siblings(data, measure);
  return (
    <div>
      {of.length > 1 && (
        <OneOf
          label="Value of each head"
          options={of.map((item) => ({ value: item.id, text: shortName(item) }))}
          value={measure.id}
          onChange={(id) => go(withMeasure(view, id, data))}
        />
      )}
      <div ref={frame} class="frame">
        <svg
          ref={svg}
          class="matrix"
          role="grid"
          aria-label={`${measure.group}: ${measure.label}. Rows are layers, columns are heads.`}
          width={total.width}
          height={total.height}
          viewBox={`0 0 ${total.width} ${total.height}`}
          onKeyDown={onKeyDown}
          onClick={(event) => {
            const index = indexAt(event);
            if (index !== null) open(index, event.shiftKey || event.ctrlKey || event.metaKey);
          }}
          onPointerMove={(event) => event.pointerType !== "touch" && setPointed(indexAt(event))}
          onPointerLeave={() => setPointed(null)}
          onFocusIn={(event) => setFocused(indexAt(event))}
          onFocusOut={() => setFocused(null)}
        >
          <g role="row">
            <text class="axis" x={LABELS - 6} y={10} text-anchor="end" aria-hidden="true">
              L \ H
            </text>
            {headings}
            {margin.map((name, i) => (
              <text key={name} class="axis" x={LABELS + cell * data.heads + (i ? MARGIN - 4 : 38)} y={10} text-anchor="end" aria-hidden="true">
                {name}
              </text>
            ))}
          </g>
          <Cells {...{ data, measure, names, colors, size }} heads={heads} stop={focused ?? first} />
        </svg>
      </div>
      <p class="readout" aria-live="polite">
        {describe(data, measure, shown, names)}
      </p>
      <Legend measure={measure} colors={colors} />
      <Buttons
        again={() => <Matrix data={data} view={view} go={ignored} {...{ measure, names }} />}
        name={`heads-${measure.id}`}
        title={`${measure.group}: ${measure.label}`}
        caption={captionOf(data, [measure.kind && `map “${measure.kind}”`, measure.n !== null && `n = ${measure.n.toLocaleString("en")}`, measure.note])}
        rows={() => [
          ["layer", "head", "value", "low", "high", "n"],
          ...measure.values.map((value, i) => [
            Math.floor(i / data.heads) + 1,
            (i % data.heads) + 1,
            measure.categories && value !== null ? (measure.categories[value] ?? value) : value,
            measure.low?.[i] ?? null,
            measure.high?.[i] ?? null,
            measure.n,
          ]),
        ]}
      />
      <Curve data={data} measure={measure} />
    </div>
  );
}
