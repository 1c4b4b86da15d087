// Uses from a server, which reads the whole corpus: lines of JSON, of which some are rows and some say how much was read.

import type { Question } from "./judging";
import type { Give, Progress, Use, UseSource } from "./uses";

/** What is sent to ask for uses. */
export interface Asked {
  slot: "A" | "B";
  run: number;
  head: string;
  kind: string;
  relation: string | null;
  direction: string | null;
}

/** The uses that a server has for a run. `nameOf` is the name of a head, such as "3-1", and `base` ends in a slash. */
export function servedUses(base: string, slot: "A" | "B", run: number, nameOf: (head: number) => string): UseSource {
  return {
    async read({ head, kind, relation, direction }: Question, give: Give, signal: AbortSignal) {
      const asked: Asked = { slot, run, head: nameOf(head), kind, relation, direction };
      const answer = await fetch(`${base}concordance`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(asked),
        signal,
      });
      if (!answer.ok || !answer.body) throw new Error(await saidBy(answer));
      await readLines(answer.body, give);
    },
  };
}

/** What a server says is wrong. */
async function saidBy(answer: Response): Promise<string> {
  try {
    const { error } = (await answer.json()) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // The answer is no JSON, so its status has to do.
  }
  return `The server answered with ${answer.status}.`;
}

/** Give the rows of a stream as they come, those before each line about progress together. */
export async function readLines(body: ReadableStream<Uint8Array>, give: Give): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  let rows: Use[] = [];
  let progress: Progress = { read: 0, of: 0 };
  const take = (line: string): void => {
    if (!line.trim()) return;
    const item = JSON.parse(line) as Use | Progress | { error: string };
    if ("error" in item) throw new Error(item.error);
    if ("read" in item) {
      progress = item;
      give(rows, progress);
      rows = [];
    } else rows.push(item);
  };
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) take(line);
    if (done) break;
  }
  if (rows.length || !progress.of) give(rows, progress);
}
