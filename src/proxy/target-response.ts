// A provider's answer whose headers have come: its body is in memory, or still to be read.
import type { Translator } from "../formats/format.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { parseContentEncoding } from "../http/content-encoding.ts";
import { decodeResponse } from "../upstream/decode-response.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import type { AttemptReport, Verdict } from "./attempt-report.ts";

/** Of the request that was sent, what decides how its answer is read. */
interface WhatWasAsked {
  readonly model: string | null;
  readonly translator: Translator | null;
  readonly readsResponse: boolean;
  readonly usageReader: UsageReader;
  readonly isChat: boolean;
}

export class TargetResponse {
  readonly target: CompiledTarget;
  /** What was sent to the target. */
  readonly model: string | null;
  /** Milliseconds until the headers had come. */
  readonly firstByteMs: number;
  readonly response: UpstreamResponse;
  readonly report: AttemptReport;
  /** Translates the response to another format; null if it is relayed in the target's format. */
  readonly translator: Translator | null;
  /** Reads the usage of the response in the format of the endpoint. */
  readonly usageReader: UsageReader;
  /** Its encoding, if it has one, is undone, because something here reads it. */
  readonly isDecoded: boolean;
  /** It answers a chat completion. */
  readonly isChat: boolean;
  /** A stream's usage is told for the gateway only: the client did not ask for it. */
  readonly hidesUsage: boolean;
  readonly isStream: boolean;
  /** The whole body where it was small enough to wait for; null where `reader` has it, or there is none. */
  body: Uint8Array | null = null;
  reader: BodyReader | null = null;
  /** The first bytes of the body, or all of it; what is here is still to be read from the two above. */
  opening: Uint8Array | null = null;

  constructor(
    target: CompiledTarget,
    response: UpstreamResponse,
    { model, translator, readsResponse, usageReader, isChat }: WhatWasAsked,
    report: AttemptReport,
    firstByteMs: number,
    hidesUsage: boolean,
  ) {
    this.target = target;
    this.model = model;
    this.firstByteMs = firstByteMs;
    this.response = response;
    this.report = report;
    this.translator = translator;
    this.usageReader = usageReader;
    this.isDecoded = readsResponse;
    this.isChat = isChat;
    this.hidesUsage = hidesUsage;
    this.isStream = isEventStream(response);
  }

  /**
   * Takes the answer as far as it can be taken before the client sees a byte: small ones and those that must be read
   * here whole, others until their first chunk. What breaks until then can be asked of another target. Null: that
   * took no waiting.
   */
  open(idleMs: number): Promise<void> | null {
    const { response, isDecoded, isStream } = this;
    if (!response.hasBody) return null;
    response.idleTimeoutMs = idleMs;
    const encoding = isDecoded ? parseContentEncoding(response.headers.get("content-encoding")) : "identity";
    // What came along with its head is all there without any waiting.
    const whole = isStream || encoding !== "identity" ? null : response.takeWholeBody();
    if (whole === null)
      return this.#read(encoding === "identity" ? response : decodeResponse(response, encoding));
    this.body = this.opening = whole;
    return null;
  }

  async #read(reader: BodyReader): Promise<void> {
    const length = Number(this.response.headers.get("content-length") ?? Infinity);
    // Undoing an encoding can make it much larger than its declared length, but not larger than this.
    if (!this.isStream && (this.translator !== null || length <= SMALL_ANSWER_BYTES)) {
      this.body = this.opening = await readWholeBody(reader, MAX_READ_BYTES);
    } else {
      this.opening = await reader.peek();
      this.reader = reader;
    }
  }
}

/** A body up to this size is waited for: a break then still leads to another target, and the length stays known. */
const SMALL_ANSWER_BYTES = 256 * 1024;
const MAX_READ_BYTES = 32 * 1024 * 1024;

function isEventStream(response: UpstreamResponse): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** What the health of a target makes of a complete answer with this status. */
export function verdictOf(status: number): Verdict {
  if (status >= 500) return "failed";
  return status >= 400 ? "neutral" : "succeeded";
}
