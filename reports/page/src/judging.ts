// Which sentences of the sample a head gets right, and in which it is wrong.

import type { Ensemble, Explorer, SampledSentence } from "./data";
import { storedHead } from "./data";
import { mostAttended, together } from "./ensembles";
import type { Maps } from "./inflate";
import type { Pick } from "./picks";
import { pickOf } from "./picks";
import { isText } from "./running";
import type { Search } from "./search";
import type { Decision, Reach } from "./tasks";
import { ALIGNMENT, COREFERENCE, decide, ordered, tasks, wordTasks } from "./tasks";

/** Which sentences are listed: those that a head gets wrong, for example, or those in which it picks a sibling. */
export type Shown = "all" | "right" | "wrong" | `wrong:${Pick}`;

/** Directions in which the word that is looked for attends to the word that looks for it. */
const REVERSED = ["head->dep", "antecedent->mention", "source->target"];

export function reversed(direction: string | null): boolean {
  return direction !== null && REVERSED.includes(direction);
}

/** What a direction can see: everything, or in a causal model, whose words attend to no later ones, one side. */
export function reachOf(data: Explorer, direction: string | null): Reach {
  if (!data.causal || direction === "both") return () => true;
  return reversed(direction) ? (row, target) => target > row : (row, target) => target < row;
}

/** The directions in which the sample has guesses for a relation, for any kind of map. */
export function directionsOf(sentences: SampledSentence[], relation: string | null): string[] {
  const all = new Set<string>();
  const cases = sentences.flatMap((sentence) => sentence.cases ?? []);
  const own = cases.filter(({ name }) => name === relation).flatMap(({ guesses }) => guesses);
  if (own.length) return [...new Set(own)];
  const ofCases = new Set(cases.flatMap(({ guesses }) => guesses));
  for (const sentence of sentences) {
    for (const key of Object.keys(sentence.guesses)) all.add(key.slice(key.indexOf("/") + 1));
  }
  const coreference = (direction: string): boolean => direction.includes("mention");
  const dependency = (direction: string): boolean => direction.includes("dep") || direction === "both";
  return [...all].filter((direction) => {
    if (ofCases.has(direction)) return false;
    if (relation === COREFERENCE) return coreference(direction);
    if (relation === ALIGNMENT) return !coreference(direction) && !dependency(direction);
    return dependency(direction);
  });
}

/** A sentence with what a head decides in it. */
export interface Example {
  sentence: SampledSentence;
  decisions: Decision[];
  right: number;
  judged: number;
}

/** What is asked of a head, or of an ensemble of heads. */
export interface Question {
  head: number;
  kind: string;
  relation: string | null;
  direction: string | null;
  /** The type of mentions that are asked about; empty for all. */
  type?: string;
  ensemble?: Ensemble | undefined;
}

/** What a head or an ensemble decides in every sentence of the sample, for one relation. */
export async function examples(data: Explorer, maps: Maps, question: Question): Promise<Example[]> {
  const result: Example[] = [];
  for (const sentence of data.sample?.sentences ?? []) {
    const head = storedHead(question.head, question.kind, data);
    const { ensemble } = question;
    let asked = tasks(sentence, question.relation, question.type);
    let guesses = ensemble
      ? ((await together(data, maps, sentence, ensemble))?.guesses ?? null)
      : await maps.guess(sentence, `${question.kind}/${question.direction ?? ""}`, head);
    if (!asked.length && question.relation === null) {
      // Without gold, a head is asked about every word; without stored guesses, what it picks is read from its map.
      asked = wordTasks(sentence);
      const map = guesses || sentence.columns !== null ? null : await maps.head(sentence, question.kind, head);
      if (map) guesses = mostAttended(map, sentence.special);
    }
    // The heads of an ensemble may look in different directions, so that together they may see every word.
    const reach = reachOf(data, ensemble ? "both" : question.direction);
    // In windows that overlap, each mention has its guess in one of them.
    const decisions = decide(asked, guesses, reach).filter(({ guess }) => guess !== null || !isText(sentence));
    const right = decisions.filter((decision) => decision.verdict === "right").length;
    const judged = decisions.filter((decision) => decision.verdict !== null).length;
    if (decisions.length || question.relation === null) result.push({ sentence, decisions, right, judged });
  }
  return ordered(result);
}

/** The examples with a decision that is shown, such as a wrong one, about a word that a search finds. */
export function filtered(list: Example[], show: Shown, found: Search): Example[] {
  return list.filter(({ sentence, decisions }) =>
    decisions.length ? decisions.some((decision) => shows(show, sentence, decision) && found(sentence, decision.rows[0])) : show === "all" && found(sentence),
  );
}

/** Whether a decision is among those that are shown. */
export function shows(show: Shown, sentence: SampledSentence, decision: Decision): boolean {
  if (show === "all" || decision.verdict === show) return true;
  const pick = pickOf(sentence, decision);
  return pick !== null && show === `wrong:${pick}`;
}

/** The example to begin with: 8 to 14 words, a right guess and a wrong one, if there is such an example. */
export function first(list: Example[]): Example | undefined {
  const words = ({ sentence }: Example): number => sentence.special.filter((special) => !special).length;
  const good = list.filter((example) => example.right > 0 && example.right < example.judged);
  const fitting = good.find((example) => words(example) >= 8 && words(example) <= 14);
  const short = fitting ?? list.find((example) => words(example) >= 8 && words(example) <= 14);
  if (short || !list[0]) return short;
  // The windows of a document follow each other, so that it is read from its beginning.
  const { document } = list[0].sentence;
  const windows = list.filter(({ sentence }) => document !== null && sentence.document === document && typeof sentence.start === "number");
  return windows.sort((a, b) => (a.sentence.start ?? 0) - (b.sentence.start ?? 0))[0] ?? list[0];
}
