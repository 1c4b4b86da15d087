// Numbers as the tables of the report show them.

import type { Measure } from "./data";

const MINUS = "−";

export function signed(text: string, sign: boolean): string {
  const plain = text.replace("-", MINUS);
  return sign && !text.startsWith("-") ? `+${plain}` : plain;
}

/** A value in the unit of its measure, without the unit: percentages with one decimal, other numbers with three. */
export function bare(value: number, measure: Pick<Measure, "unit" | "center" | "categories">): string {
  if (measure.categories) return measure.categories[value] ?? String(value);
  const difference = measure.center !== null;
  if (measure.unit === "%") return signed((100 * value).toFixed(1), difference);
  if (Number.isInteger(value) && Math.abs(value) >= 1000) return signed(value.toLocaleString("en"), difference);
  return signed(value.toFixed(3), difference);
}

/** A value with its unit, or a dash if it is undefined. */
export function withUnit(value: number | null | undefined, measure: Measure): string {
  if (value === null || value === undefined) return "–";
  const text = bare(value, measure);
  return measure.categories || !measure.unit ? text : `${text} ${measure.unit}`;
}

/** The interval of a head, such as " [88.3, 94.9]"; empty if it has none. */
export function interval(measure: Measure, head: number): string {
  const low = measure.low?.[head] ?? null;
  const high = measure.high?.[head] ?? null;
  if (low === null || high === null || low === high) return "";
  return ` [${bare(low, measure)}, ${bare(high, measure)}]`;
}

/** A short form for a cell of the matrix: whole percentages, or two significant digits, or three decimals. */
export function short(value: number | null, measure: Measure): string {
  if (value === null) return "–";
  if (measure.categories) return String(value + 1);
  if (measure.unit === "%") return String(Math.round(100 * value)).replace("-", MINUS);
  const size = Math.abs(value);
  if (size >= 10000) return value.toExponential(0).replace("e+", "e");
  // Where all values are small, two decimals would make them equal. Without the zero, decimals have more room.
  const largest = Math.max(...measure.values.map((each) => Math.abs(each ?? 0)));
  if (largest < 1) return value.toFixed(largest < 0.1 ? 3 : 2).replace("0.", ".").replace("-", MINUS);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 || size === 0 ? 1 : 2).replace("-", MINUS);
}

export function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

/** A direction such as "dep->head" as people read it. */
export function arrow(direction: string): string {
  return direction.replaceAll("->", "→");
}

export function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
