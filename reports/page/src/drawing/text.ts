// The size of words, and where they are drawn.

let context: CanvasRenderingContext2D | null | undefined;

/** The width of a text in pixels. */
export function textWidth(text: string, size: number, bold = false): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * size * 0.6;
  context.font = `${bold ? "600 " : ""}${size}px system-ui, -apple-system, "Segoe UI", sans-serif`;
  return context.measureText(text).width;
}

/** A word for a line of English: one that is read from right to left would otherwise change the order of the others. */
export function isolated(word = ""): string {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802\ud803\ud83a\ud83b]/.test(word) ? `\u2068${word}\u2069` : word;
}

/** A word that is at most `width` pixels wide; what is too long ends with "…". */
export function shortened(word: string, size: number, width: number): string {
  if (textWidth(word, size) <= width) return word;
  const characters = [...word];
  while (characters.length > 1 && textWidth(`${characters.join("")}…`, size) > width) characters.pop();
  return `${characters.join("")}…`;
}

/** The size of words in a column or row of `n`: long sentences have smaller ones. */
export function fontSize(n: number): number {
  return n > 60 ? 11 : n > 32 ? 12 : n > 16 ? 13.5 : 15;
}
