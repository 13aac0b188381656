// A provider's answer whose headers have come: its body is in memory, or still to be read.
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import { AnswerReader, readWhole } from "../upstream/read-answer.ts";
import type { AttemptReport, Verdict } from "./attempt-report.ts";

export interface Answer {
  readonly target: CompiledTarget;
  readonly response: Response;
  /** The whole body where it was small enough to wait for; null where `reader` has it, or there is none. */
  readonly body: Uint8Array | null;
  readonly reader: AnswerReader | null;
  readonly report: AttemptReport;
  /** The answer is to be put into another wire format. */
  readonly isTranslated: boolean;
}

export interface AnswerOptions {
  /** False for HEAD, whose answer speaks of a body and has none. */
  readonly hasBody: boolean;
  readonly idleMs: number;
  readonly isTranslated: boolean;
}

/** A body up to this size is waited for: a break then still leads to another target, and the length stays known. */
const SMALL_ANSWER_BYTES = 256 * 1024;

export async function openAnswer(
  response: Response,
  target: CompiledTarget,
  report: AttemptReport,
  abort: AbortController,
  { hasBody, idleMs, isTranslated }: AnswerOptions,
): Promise<Answer> {
  if (response.body === null || !hasBody)
    return { target, response, body: null, reader: null, report, isTranslated };
  const reader = new AnswerReader(response.body as ReadableStream<Uint8Array>, idleMs, abort);
  const length = Number(response.headers.get("content-length") ?? Infinity);
  if (length > SMALL_ANSWER_BYTES || isEventStream(response)) {
    return { target, response, body: null, reader, report, isTranslated };
  }
  // Undoing an encoding can make it much larger than its declared length, but not larger than this.
  const body = await readWhole(reader, isTranslated ? SMALL_ANSWER_BYTES * 128 : SMALL_ANSWER_BYTES);
  return { target, response, body, reader: null, report, isTranslated };
}

export function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** What the health of a target makes of a complete answer with this status. */
export function verdictOf(status: number): Verdict {
  if (status >= 500) return "failed";
  return status >= 400 ? "neutral" : "succeeded";
}
