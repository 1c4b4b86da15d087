// The data that Python writes into the page. The names are those of the dataclasses of reports/explorer.

/** The page: runs, of which it shows one or compares two, and what a server that has models can draw. */
export interface Bench {
  runs: Explorer[];
  /** Null in a page that is a file. */
  live: Live | null;
}

export interface Live {
  models: LiveModel[];
  /** The longest text in pieces. */
  most_pieces: number;
}

export interface LiveModel {
  name: string;
  layers: number;
  heads: number;
  causal: boolean;
  kinds: string[];
  /** Whether it has a language-model head, which predicts masked words. */
  predicts: boolean;
  /** The run that was made with it, by its position among the runs. */
  run: number | null;
}

/** What a server draws of one text: its maps, what the model predicts, and the rows of the words that are masked. */
export interface LiveSentence {
  sentence: SampledSentence;
  predictions: Predicted | null;
  masked: number[];
}

/** A head that people gave a name. */
export interface HeadName {
  head: string;
  name: string;
  note: string;
}

export interface Explorer {
  /** What tells the run from the others of the page; empty if there are none. */
  label?: string;
  /** The names of heads that are kept with the run. */
  names?: HeadName[];
  model: string;
  corpus: string;
  unit: string;
  layers: number;
  heads: number;
  /** Whether words see only the words before them; runs of earlier versions do not say it. */
  causal?: boolean;
  measures: Measure[];
  /** What measures are read beside; runs of earlier versions have none. */
  references?: Reference[];
  cards: Card[];
  findings: Finding[];
  /** Runs of earlier versions have none. */
  ensembles?: Ensemble[];
  predictions?: Predicted[];
  sample: Sample | null;
  /** Why there is no sample, where a reader expects one; runs of earlier versions do not say it. */
  undrawn?: string;
}

export interface Measure {
  id: string;
  group: string;
  label: string;
  kind: string | null;
  unit: string;
  values: (number | null)[];
  low: (number | null)[] | null;
  high: (number | null)[] | null;
  n: number | null;
  baseline: number | null;
  center: number | null;
  categories: string[] | null;
  relation: string | null;
  direction: string | null;
  /** The type of mentions that the measure is about; null or absent for all. */
  tag?: string | null;
  note: string;
  /** Whether the head with the smallest value is the best one. */
  low_is_best?: boolean;
  /** The id of what the values are read beside; empty or absent for nothing. */
  reference?: string;
}

/** A value to compare the accuracy of a head with; null if it was not counted, which its note says. */
export interface Mark {
  role: "heldout" | "position" | "rule" | "random";
  label: string;
  value: number | null;
  low: number | null;
  high: number | null;
  note: string;
}

/** The best head of each layer, chosen on one half of the text and scored on the other. */
export interface LayerCurve {
  values: (number | null)[];
  low: (number | null)[] | null;
  high: (number | null)[] | null;
  random: (number | null)[] | null;
}

export interface Reference {
  id: string;
  label: string;
  marks: Mark[];
  layers: LayerCurve | null;
  /** The id of a reference whose layers are drawn beside these; empty for none. */
  beside: string;
}

export interface Fact {
  label: string;
  text: string;
  measure: string | null;
}

export interface Card {
  head: string;
  summary: string;
  facts: Fact[];
  nearest: string[];
  profile: { offsets: number[]; values: number[] } | null;
}

/** Heads that find a relation together: their maps are averaged, each as it is read. */
export interface Ensemble {
  relation: string;
  kind: string;
  heads: { head: string; direction: string }[];
  /** Whether each row of a map is divided by its sum over words before. Runs of earlier versions do not say it. */
  divided?: boolean;
}

/** What the model predicts for the words of a sentence, without a head; `head` is empty for the model as it is. */
export interface Predicted {
  sentence: string;
  head: string;
  log_p: (number | null)[];
  likeliest: [string, number][][];
}

export interface Finding {
  text: string;
  address: string;
  /** Further sentences, which are shown with all findings. */
  more?: string;
}

export interface Sample {
  kinds: string[];
  /** The kinds of maps that all heads of a layer share, which are stored as those of the first head of the layer. */
  layer_kinds?: string[];
  /** The kinds of maps whose values are shares of attention, which are shown in percent. */
  share_kinds?: string[];
  note: string;
  sentences: SampledSentence[];
}

export interface Mention {
  start: number;
  end: number;
  entity: string;
  type: string;
  /** The row of its head word, to which decisions are reduced. */
  head?: number;
}

/** How the words of one side of an input are written; `joined` are the words without a space before the next one. */
export interface Writing {
  direction: "ltr" | "rtl";
  joined: number[];
}

export interface SampledSentence {
  id: string;
  document: string | null;
  file: string;
  line: number | null;
  rows: string[];
  columns: string[] | null;
  special: boolean[];
  special_columns: boolean[] | null;
  heads: (number | null)[];
  relations: (string | null)[];
  /** The parts of speech; runs of earlier versions have none. */
  tags?: (string | null)[];
  /** Which rows are punctuation, where their relations do not say it; empty or absent where they do. */
  punctuation?: boolean[];
  mentions: Mention[];
  /** The gold links of an alignment, from target words (rows) to source words (columns). */
  links: { row: number; column: number; sure: boolean }[];
  /** What analyses judge by gold of their own: the rows that are right for a row, and the guesses that this judges. */
  cases?: { row: number; right: number[]; name: string; guesses: string[] }[];
  /** The maps by kind; none of an input that is too long for them, which has guesses alone. `heads` are the heads that are stored; null for all. */
  maps: Record<string, { data: string; scales: number[]; heads?: number[] | null }>;
  guesses: Record<string, string>;
  /** How many words of its document come before a window; absent for other inputs, and in runs of earlier versions. */
  start?: number | null;
  /** The writing of the rows, and of the columns of a pair. */
  writing?: Writing[];
}

/** The index of a head that people write as "3-9", or null if the model has no such head. */
export function headIndex(name: string, data: Explorer): number | null {
  const match = /^(\d+)-(\d+)$/.exec(name.trim());
  if (!match) return null;
  const layer = Number(match[1]) - 1;
  const head = Number(match[2]) - 1;
  const exists = layer >= 0 && head >= 0 && layer < data.layers && head < data.heads;
  return exists ? layer * data.heads + head : null;
}

/** The name of a head as people write it: layer and head, counted from 1. */
export function headName(index: number, data: Explorer): string {
  return `${Math.floor(index / data.heads) + 1}-${(index % data.heads) + 1}`;
}

/** The head under which a map is stored: itself, or the first head of its layer if all heads of the layer share the map. */
export function storedHead(head: number, kind: string, data: Explorer): number {
  return data.sample?.layer_kinds?.includes(kind) ? head - (head % data.heads) : head;
}

/** What the inputs of a sample are: sentences, or pairs of a sentence and its translation. */
export function inputName(sample: Sample): string {
  return sample.sentences.every((sentence) => sentence.columns !== null) ? "sentence pair" : "sentence";
}

/** The words of one side of a sentence's maps, and how they are written. */
export interface Side extends Writing {
  words: string[];
  special: boolean[];
}

const USUAL: Writing = { direction: "ltr", joined: [] };

/** The rows of a sentence's maps: its words. */
export function rowsOf(sentence: SampledSentence): Side {
  return { words: sentence.rows, special: sentence.special, ...(sentence.writing?.[0] ?? USUAL) };
}

/** The columns of a sentence's maps: its own words, or those of its translation. */
export function columnsOf(sentence: SampledSentence): Side {
  if (sentence.columns === null) return rowsOf(sentence);
  const special = sentence.special_columns ?? sentence.columns.map(() => false);
  return { words: sentence.columns, special, ...(sentence.writing?.[1] ?? USUAL) };
}

/** Words as running text, without special tokens, and without spaces where there are none. `most` words are written. */
export function runningText({ words, special, joined }: Side, most = Infinity): string {
  const own = words.map((word, i) => (joined.includes(i) ? word : `${word} `)).filter((_, i) => !special[i]);
  return own.slice(0, most).join("").trimEnd() + (own.length > most ? " …" : "");
}
