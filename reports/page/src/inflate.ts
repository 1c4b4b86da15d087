// Maps and guesses are stored deflated, and are inflated by the browser when a sentence is shown.

import type { SampledSentence } from "./data";

export const NO_GUESS = 65535;
/** Stands for a guess that the stored values, which are rounded, do not decide. */
export const UNSURE = 65534;

export async function inflate(text: string): Promise<Uint8Array> {
  const characters = atob(text);
  const compressed = new Uint8Array(characters.length);
  // A function for each character would take several times as long, and a page of a large model has millions.
  for (let i = 0; i < characters.length; i++) compressed[i] = characters.charCodeAt(i);
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** One head's map of a sentence. */
export interface HeadMap {
  values: Float32Array;
  rows: number;
  columns: number;
  /** The value that is drawn at full strength. */
  scale: number;
  /** What two values differ by at least if they were not stored as equals: they are rounded to 255 levels. */
  step: number;
}

export function valueAt(map: HeadMap, row: number, column: number): number {
  return map.values[row * map.columns + column] ?? 0;
}

const SHADES = new WeakMap<HeadMap, Uint8ClampedArray>(); // a long sentence asks for the same ones with every word at hand

/** How strongly each value is drawn, from 0 to 255. */
export function shadesOf(map: HeadMap): Uint8ClampedArray {
  let shades = SHADES.get(map);
  if (!shades) {
    shades = Uint8ClampedArray.from(map.values, (value) => (map.scale > 0 ? (255 * value) / map.scale : 0));
    SHADES.set(map, shades);
  }
  return shades;
}

export function shadeAt(map: HeadMap, row: number, column: number): number {
  return shadesOf(map)[row * map.columns + column] ?? 0;
}

/** The position of a head among the heads of a sentence that are stored, or −1. */
function positionOf(sentence: SampledSentence, kind: string, head: number): number {
  return sentence.maps[kind]?.heads?.indexOf(head) ?? head;
}

const NUMBERS = new WeakMap<SampledSentence, number>();
let sentences = 0;

/** A number that no other sentence has, also if two runs, or two answers of a server, have it under the same id. */
function numberOf(sentence: SampledSentence): number {
  const number = NUMBERS.get(sentence) ?? ++sentences;
  NUMBERS.set(sentence, number);
  return number;
}

/** Inflates on demand, and keeps the maps of the last few sentences and all guesses. */
export class Maps {
  private maps = new Map<string, Promise<Uint8Array>>();
  private guesses = new Map<string, Promise<Uint16Array>>();

  /** The map of one head, or null if the sentence has no maps of this kind. */
  async head(sentence: SampledSentence, kind: string, head: number): Promise<HeadMap | null> {
    const stored = sentence.maps[kind];
    if (!stored) return null;
    const rows = sentence.rows.length;
    const columns = sentence.columns?.length ?? rows;
    const position = positionOf(sentence, kind, head);
    if (position < 0) return null;
    const all = await this.cached(`${kind} ${numberOf(sentence)}`, stored.data);
    const bytes = all.subarray(position * rows * columns, (position + 1) * rows * columns);
    const scale = stored.scales[position] ?? 1;
    return { values: Float32Array.from(bytes, (byte) => (byte / 255) * scale), rows, columns, scale, step: scale / 255 };
  }

  private cached(key: string, text: string): Promise<Uint8Array> {
    const result = this.maps.get(key) ?? inflate(text);
    this.maps.delete(key); // the last key is the most recently used one
    this.maps.set(key, result);
    for (const oldest of this.maps.keys()) {
      if (this.maps.size <= 6) break;
      this.maps.delete(oldest);
    }
    return result;
  }

  /** What one head guesses for every row of a sentence, or null if no guesses are stored under this key. */
  async guess(sentence: SampledSentence, key: string, head: number): Promise<Uint16Array | null> {
    const text = sentence.guesses[key];
    if (text === undefined) return null;
    const name = `${key} ${numberOf(sentence)}`;
    let all = this.guesses.get(name);
    if (!all) {
      all = inflate(text).then((bytes) => new Uint16Array(bytes.buffer)); // little-endian, as all machines with browsers are
      this.guesses.set(name, all);
    }
    const rows = sentence.rows.length;
    const position = positionOf(sentence, key.slice(0, key.indexOf("/")), head);
    return position < 0 ? null : (await all).subarray(position * rows, (position + 1) * rows);
  }
}

const READ = new WeakMap<object, Maps>();

/** The maps of a run, which are read once, whatever shows them. */
export function mapsOf(data: object): Maps {
  const maps = READ.get(data) ?? new Maps();
  READ.set(data, maps);
  return maps;
}

/** Whether this browser can inflate; all current ones can. */
export const canInflate = typeof DecompressionStream === "function";
