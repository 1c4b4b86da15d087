// What a page asks of its server: to draw a text, or a sentence of a run with heads switched off. The newest request of a
// slot wins, and what was drawn before stays until its answer is there.

import { useLayoutEffect, useState } from "preact/hooks";
import type { LiveSentence } from "./data";

export interface DrawRequest {
  slot: "A" | "B";
  model: number;
  text?: string;
  run?: number;
  sentence?: string;
  kinds: string[];
  off: string[];
}

export const UNANSWERED = "The server does not answer. Start “attentionology serve” again, and open the address that it prints.";

/** What tells this page from others that are open, so that none gives up what another one has asked for. */
const PAGE = Math.random().toString(36).slice(2);

/** What the server has refused, with the sentence that says what to do, and all that it answered. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly answer: object,
  ) {
    super(message);
  }
}

/** Ask the server for something. It rejects with a sentence that says what to do. */
export async function send(address: string, body: object, signal: AbortSignal | null = null, method = "POST"): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ page: PAGE, ...body }), signal });
  } catch (error) {
    throw signal?.aborted ? error : new Error(UNANSWERED);
  }
  if (response.ok) return response;
  const answer = (await response.json().catch(() => null)) as { error?: string } | null;
  throw new Refused(answer?.error ?? `The server answered ${response.status}. Its terminal says why.`, response.status, answer ?? {});
}

/** What a server draws. */
export async function draw(request: DrawRequest, signal: AbortSignal): Promise<LiveSentence[]> {
  const answer = (await (await send("draw", request, signal)).json()) as { sentences?: LiveSentence[] };
  if (answer.sentences?.length) return answer.sentences;
  throw new Error("The server has drawn nothing. Its terminal says why.");
}

export interface Answer {
  /** The request that was answered, as JSON. */
  of: string;
  drawn: LiveSentence | null;
  error: string;
}

/** The latest answer to the requests of a slot, and whether the answer to the current one is not there yet. */
export function useLive(request: DrawRequest | null): { answer: Answer | null; waiting: boolean } {
  const key = request && JSON.stringify(request);
  const [answer, setAnswer] = useState<Answer | null>(null);
  useLayoutEffect(() => {
    if (!request || !key) {
      setAnswer(null);
      return undefined;
    }
    const controller = new AbortController();
    draw(request, controller.signal).then(
      ([drawn = null]) => !controller.signal.aborted && setAnswer({ of: key, drawn, error: "" }),
      (error: unknown) => !controller.signal.aborted && setAnswer((before) => ({ of: key, drawn: before?.drawn ?? null, error: (error as Error).message })),
    );
    return () => controller.abort();
  }, [key]);
  return { answer: key ? answer : null, waiting: key !== null && answer?.of !== key };
}
