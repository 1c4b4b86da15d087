// What the colors of the matrix mean.

import type { Coloring } from "./color";
import { lightDark } from "./color";
import { bare, withUnit } from "./format";
import type { Measure } from "./data";

export function Legend({ measure, colors }: { measure: Measure; colors: Coloring }) {
  if (measure.categories) {
    return (
      <ul class="categories" aria-label="Colors">
        {measure.categories.map((name, i) => (
          <li key={name}>
            <span class="sample" style={{ background: colors.color(i, "light") }} /> {i + 1}: {name}
          </li>
        ))}
      </ul>
    );
  }
  const [low, high] = colors.domain;
  const stops = Array.from({ length: 11 }, (_, i) => 
    lightDark((scheme) => colors.color(low + ((high - low) * i) / 10, scheme)),
  );
  const facts = [
    measure.n === null ? "" : `n = ${measure.n.toLocaleString("en")}`,
    measure.baseline === null ? "" : `baseline ${withUnit(measure.baseline, measure)}`,
  ].filter(Boolean);
  const mark = measure.baseline !== null && high > low ? (measure.baseline - low) / (high - low) : null;
  return (
    <p class="scale">
      <span>{bare(low, measure)}</span>
      <span class="ramp" style={{ background: `linear-gradient(90deg, ${stops.join(",")})` }}>
        {mark !== null && mark >= 0 && mark <= 1 && <i style={{ left: `${100 * mark}%` }} />}
      </span>
      <span>{withUnit(high, measure)}</span>
      {facts.length > 0 && <span class="facts">{facts.join(" · ")}</span>}
    </p>
  );
}
