// What all drawings of one head on one sentence share.

import { isolated } from "./text";
import type { SampledSentence } from "../data";
import { columnsOf } from "../data";
import type { HeadMap } from "../inflate";
import { shadeAt, valueAt } from "../inflate";
import type { Decision } from "../tasks";
import { decisionOf } from "../tasks";
import type { Word } from "../view";

/** So many decisions can be told apart. */
export const FEW = 24;

/** One head, with one kind of map. */
export interface Panel {
  key: string;
  title: string;
  head: number;
  kind: string;
  map: HeadMap;
  /** What a difference has below 0, as numbers above 0; the map then has what is above 0. */
  below?: HeadMap;
  /** Of a difference: the rows and columns that the other text does not have. */
  absent?: { rows: Set<number>; columns: Set<number> };
  decisions: Decision[];
  /** Whether the decisions are those of all words. */
  every: boolean;
  /** Whether the word that is looked for attends to the word that looks for it. */
  reversed: boolean;
  /** Whether the attention of both words to each other is added up. */
  both: boolean;
  /** Whether values are shares of attention. */
  shares: boolean;
}

export interface DrawingProps {
  panel: Panel;
  sentence: SampledSentence;
  /** The indices of the rows and columns that are drawn. */
  rows: number[];
  columns: number[];
  focus: Word | null;
  stop: Word;
  width: number;
  /** Whether the sentence is read from right to left. */
  mirrored: boolean;
}

/** Whether so many decisions are drawn that each must be drawn more faintly. */
export function many(panel: Panel): boolean {
  return panel.every || panel.decisions.length > FEW;
}

/** The cell of the map that a decision looks at: from the dependent, or from its head if the direction is reversed.
 *  Of two cells that are added up, it is the larger one. */
export function cell(panel: Panel, decision: Decision, answer: number): [number, number] {
  const [row = 0] = decision.rows;
  const turned = panel.both ? valueAt(panel.map, answer, row) > valueAt(panel.map, row, answer) : panel.reversed;
  return turned ? [answer, row] : [row, answer];
}

/** How strong the value is on which a guess is based, from 0 to 1. */
export function strength(panel: Panel, decision: Decision): number {
  if (decision.guess === null) return 0;
  const [row, column] = cell(panel, decision, decision.guess);
  return shadeAt(panel.map, row, column) / 255;
}

/** The opacity of a guess: it follows the weight, but a guess that rests on almost nothing can still be seen. */
export function visible(panel: Panel, decision: Decision): number {
  return 0.2 + 0.8 * strength(panel, decision);
}

/** A value of the row or column at hand, with the index of the word of the other side. */
export interface WordValue {
  index: number;
  value: number;
  byte: number;
}

/** The values of one row or column of a map. */
export function valuesOf(panel: Panel, word: Word, others: number[]): WordValue[] {
  return others.map((index) => {
    const [row, column] = word.side === "row" ? [word.index, index] : [index, word.index];
    return { index, value: valueAt(panel.map, row, column), byte: shadeAt(panel.map, row, column) };
  });
}

/** A value of a map as text: shares of attention as percentages, others as numbers. */
export function shownValue(panel: Pick<Panel, "shares">, value: number): string {
  if (panel.shares) return `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
  return value.toPrecision(2).includes("e") ? value.toExponential(1) : value.toPrecision(2);
}

/** What is said about the word at hand: what it attends to most, or what attends to it most. */
export function sentenceAbout(panel: Panel, sentence: SampledSentence, word: Word, others: number[]): string {
  const columns = columnsOf(sentence).words;
  const [near, far] = word.side === "row" ? [sentence.rows, columns] : [columns, sentence.rows];
  const values = valuesOf(panel, word, others).sort((a, b) => b.value - a.value);
  const list = values.slice(0, 4).map(({ index, value }) => `“${isolated(far[index])}” ${shownValue(panel, value)}`);
  const verb = word.side === "row" ? "attends to" : "is attended to by";
  const right = sentence.columns === null ? annotated(panel, sentence, word) : goldLinks(sentence, word, far);
  return `${panel.title}: “${isolated(near[word.index])}” ${verb} ${list.join(", ")}.${right}`;
}

/** What the annotation says about a word: its head, or its antecedent. */
function annotated(panel: Panel, sentence: SampledSentence, word: Word): string {
  const decision = decisionOf(panel.decisions, word.index);
  const gold = decision?.gold.map((index) => `“${isolated(sentence.rows[index])}”`).join(", ");
  return gold ? ` By the annotation${decision?.relation ? ` (${decision.relation})` : ""}: ${gold}.` : "";
}

/** The gold links of a word of a pair, whose other side has the words `far`. */
function goldLinks(sentence: SampledSentence, word: Word, far: string[]): string {
  const links = sentence.links.filter((link) => link[word.side] === word.index);
  const names = links.map((link) => `“${isolated(far[word.side === "row" ? link.column : link.row])}”${link.sure ? "" : " (possible)"}`);
  if (names.length) return ` Gold links: ${names.join(", ")}.`;
  return sentence.links.length ? " It has no gold link." : "";
}

/** Whether a decision is about the word at hand, or names it; every decision is if there is none. */
export function involves(decision: Decision, sentence: SampledSentence, focus: Word | null): boolean {
  if (!focus) return true;
  const asked = decision.rows.includes(focus.index);
  const named = decision.targets.includes(focus.index) || decision.guess === focus.index;
  if (sentence.columns !== null) return focus.side === "row" ? asked : named;
  return asked || decision.targets.includes(focus.index);
}
