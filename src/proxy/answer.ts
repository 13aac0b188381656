// A provider's answer whose headers have come: its body is in memory, or still to be read.
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import { AnswerReader, readDeclared, readWhole } from "../upstream/read-answer.ts";
import type { AttemptReport, Verdict } from "./attempt-report.ts";

export interface Answer {
  readonly target: CompiledTarget;
  /** What was sent to the target. */
  readonly model: string | null;
  /** Milliseconds until the headers had come. */
  readonly firstByteMs: number;
  readonly response: Response;
  /** The whole body where it was small enough to wait for; null where `reader` has it, or there is none. */
  readonly body: Uint8Array | null;
  readonly reader: AnswerReader | null;
  readonly report: AttemptReport;
  /** The answer is to be put into another wire format. */
  readonly isTranslated: boolean;
  /** Its encoding was undone, because something here reads it. */
  readonly isDecoded: boolean;
}

/** An answer before its body is looked at. */
export type AnswerHead = Omit<Answer, "body" | "reader">;

/** A body up to this size is waited for: a break then still leads to another target, and the length stays known. */
const SMALL_ANSWER_BYTES = 256 * 1024;
const MAX_READ_BYTES = 32 * 1024 * 1024;

/**
 * Takes an answer as far as it can be taken before the client sees a byte: small ones and those that must be read here
 * whole, others until their first chunk. What breaks until then can be asked of another target.
 */
export async function openAnswer(
  head: AnswerHead,
  method: string,
  idleMs: number,
  abort: AbortController,
): Promise<Answer> {
  const { response, isTranslated, isDecoded } = head;
  // The answer to a HEAD speaks of a body and has none.
  if (response.body === null || method === "HEAD") return { ...head, body: null, reader: null };
  const isStream = isEventStream(response);
  const length = Number(response.headers.get("content-length") ?? Infinity);
  const isSmall = length <= SMALL_ANSWER_BYTES;
  if (!isStream && !isDecoded && isSmall) {
    return { ...head, body: await readDeclared(response, idleMs, abort), reader: null };
  }
  const reader = new AnswerReader(response.body as ReadableStream<Uint8Array>, idleMs, abort);
  // Undoing an encoding can make it much larger than its declared length, but not larger than this.
  if (!isStream && (isTranslated || isSmall)) {
    return { ...head, body: await readWhole(reader, MAX_READ_BYTES), reader: null };
  }
  await reader.peek();
  return { ...head, body: null, reader };
}

export function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** What the health of a target makes of a complete answer with this status. */
export function verdictOf(status: number): Verdict {
  if (status >= 500) return "failed";
  return status >= 400 ? "neutral" : "succeeded";
}
