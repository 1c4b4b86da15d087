// Colors of cells, for light and dark pages, and text on them that is always legible.

import { interpolateLab, piecewise } from "d3-interpolate";
import { scaleDiverging, scaleSequential } from "d3-scale";
import type { Measure } from "./data";

export type Scheme = "light" | "dark";

// More is darker on a light page, and brighter on a dark one.
const SEQUENTIAL: Record<Scheme, string[]> = {
  light: ["#f3f6f9", "#c4d9ec", "#7eb1d8", "#3480b9", "#0b4f8a", "#062c54"],
  dark: ["#1d242c", "#1c3f5e", "#20629a", "#3f8fd0", "#86bff0", "#d8edff"],
};
const DIVERGING: Record<Scheme, string[]> = {
  light: ["#8c3a00", "#d98647", "#f6dfcb", "#f4f5f6", "#cfe0ef", "#5b9bcc", "#0b4f8a"],
  dark: ["#ffb27a", "#b4602a", "#4d3527", "#252a30", "#24405a", "#3a7db4", "#9ccdf5"],
};
const MISSING: Record<Scheme, string> = { light: "#ffffff", dark: "#14171b" };
// The palette of Okabe and Ito, and lighter or darker forms of it.
const CATEGORIES = [
  ..."#0072b2 #e69f00 #009e73 #cc79a7 #56b4e9 #d55e00 #f0e442 #999999".split(" "),
  ..."#004a73 #8a5f00 #005e45 #8a4a6d #b5dcf3 #8f3f00 #f8f2a1 #555555".split(" "),
];

type Paint = (value: number) => string;

export interface Coloring {
  domain: [number, number];
  color: (value: number | null, scheme: Scheme) => string;
}

/** The colors of a measure: by category, around its center, or from 0 (or its least value) to its largest. */
export function coloring(measure: Measure): Coloring {
  const defined = measure.values.filter((value) => value !== null);
  const least = Math.min(...defined);
  const largest = Math.max(...defined);
  let domain: [number, number] = [Math.min(0, least), largest > Math.min(0, least) ? largest : 1];
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
    paint = (scheme) => scaleSequential(domain, piecewise(interpolateLab, SEQUENTIAL[scheme]));
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
