// Colors of cells, for light and dark pages, and text on them that is always legible.

import { interpolateLab, piecewise } from "d3-interpolate";
import { scaleDiverging, scaleSequential } from "d3-scale";
import palette from "../../palette.json";
import type { Measure } from "./data";

export type Scheme = "light" | "dark";

// More is darker on a light page, and brighter on a dark one.
const { sequential: SEQUENTIAL, diverging: DIVERGING, categories: CATEGORIES } = palette;
const MISSING: Record<Scheme, string> = { light: "#ffffff", dark: "#14171b" };
type Paint = (value: number) => string;

export interface Coloring {
  domain: [number, number];
  color: (value: number | null, scheme: Scheme) => string;
}

/**
 * The colors of a measure: by category, around its center, or from 0 (or its least value) to its largest. Shares go from
 * 0 to 100 %, so that two measures can be compared. The best values are darkest, also where the smallest are best.
 */
export function coloring(measure: Measure): Coloring {
  const defined = measure.values.filter((value) => value !== null);
  const least = Math.min(...defined);
  const largest = Math.max(...defined);
  let domain: [number, number] = [Math.min(0, least), largest > Math.min(0, least) ? largest : 1];
  if (measure.unit === "%" && least >= 0 && largest <= 1) domain = [0, 1];
  let paint: (scheme: Scheme) => Paint;
  if (measure.categories) {
    domain = [0, measure.categories.length - 1];
    paint = () => (value) => CATEGORIES[value % CATEGORIES.length] ?? "#999999";
  } else if (!defined.length) {
    domain = [0, 1];
    paint = (scheme) => () => MISSING[scheme];
  } else if (measure.center !== null) {
    const { center } = measure;
    const reach = Math.max(Math.abs(least - center), Math.abs(largest - center)) || 1;
    domain = [center - reach, center + reach];
    paint = (scheme) => scaleDiverging([domain[0], center, domain[1]], piecewise(interpolateLab, DIVERGING[scheme]));
  } else {
    const ends: [number, number] = measure.low_is_best ? [domain[1], domain[0]] : domain;
    paint = (scheme) => scaleSequential(ends, piecewise(interpolateLab, SEQUENTIAL[scheme]));
  }
  const paints = { light: paint("light"), dark: paint("dark") };
  return { domain, color: (value, scheme) => (value === null ? MISSING[scheme] : paints[scheme](value)) };
}

/** One color for a light page and another for a dark one, as CSS. */
export function lightDark(make: (scheme: Scheme) => string): string {
  return `light-dark(${make("light")}, ${make("dark")})`;
}

function channels(color: string): number[] {
  if (color.startsWith("#")) return [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

/** The relative luminance of WCAG 2. */
export function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever is more legible. Its contrast is at least 4.58, more than the 4.5 of WCAG AA. */
export function inkOn(color: string): string {
  const light = luminance(color);
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}
