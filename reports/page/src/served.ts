// Uses from a server, which reads the whole corpus: lines of JSON, of which some are rows and some say how much was read.

import type { Explorer, Sample } from "./data";
import { headName } from "./data";
import type { Question } from "./judging";
import { send } from "./live";
import { ALIGNMENT, COREFERENCE } from "./tasks";
import type { Give, Progress, Use, UseSource } from "./uses";

/** What is sent to ask for uses. */
export interface Asked {
  slot: "A" | "B";
  run: number;
  head: string;
  kind: string;
  relation: string | null;
  direction: string;
}

/** Whether a server can be asked about a relation: it knows syntactic heads and mentions, in sentences that are no pairs. */
export function answers({ sentences }: Sample, relation: string | null): boolean {
  if (relation === ALIGNMENT) return false;
  if (relation === COREFERENCE) return sentences.some(({ mentions }) => mentions.length > 0);
  return sentences.every(({ columns, cases }) => columns === null && !cases?.some(({ name }) => name === relation));
}

/**
 * The uses in the whole corpus of a run, which a server reads. Where it cannot, those in the stored sentences are given,
 * and the source fails with a sentence that says why.
 */
export function wholeUses(slot: "A" | "B", run: number, data: Explorer, stored: UseSource): UseSource {
  return {
    async read(question: Question, give: Give, signal: AbortSignal) {
      const { head, kind, relation, direction } = question;
      const asked: Asked = { slot, run, head: headName(head, data), kind, relation, direction: direction ?? "dep->head" };
      let given = false;
      const giveOn: Give = (rows, progress) => {
        given ||= rows.length > 0;
        give(rows, progress);
      };
      try {
        const answer = await send("concordance", asked, signal);
        if (!answer.body) throw new Error("The server has sent nothing.");
        await readLines(answer.body, giveOn);
      } catch (error) {
        if (signal.aborted || given) throw error; // a part of the corpus is not mixed with sentences that it may have
        await stored.read(question, give, signal);
        throw new Error(`${(error as Error).message} These are the uses in the stored sentences.`);
      }
    },
  };
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
