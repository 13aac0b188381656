// A target's response whose headers have been received. Its body is in memory or still to be read.
import type { Clock } from "../base/clock.ts";
import type { GatehouseError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import type { ContentReader } from "../formats/content-reader.ts";
import type { Format } from "../formats/format.ts";
import type { ResponseDetails } from "../formats/response-details.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import type { FileTransport } from "../snapshot/rule-guards.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { OpeningOf } from "../formats/stream-opening.ts";
import type { TextReader } from "../formats/text-channels.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { parseContentEncoding } from "../http/content-encoding.ts";
import { isEventStreamType } from "../http/media-type.ts";
import { PacedReader } from "../http/paced-reader.ts";
import { decodeResponse } from "../upstream/decode-response.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import { estimateRelayed } from "../usage/json-body.ts";
import { usageOfBody, usageOfStart } from "../usage/usage-tap.ts";
import type { Usage } from "../usage/usage-accumulator.ts";
import { healthResultOf, type BalancerReport } from "./balancer-report.ts";
import type { ResponseTranslation } from "./response-translation.ts";
import { startOf, textFormOf, type BodyRule, type TextForm } from "./texts/text-form.ts";
import { parseJson } from "./translate-whole.ts";
import { HeldStream, type HoldLimits } from "./held-stream.ts";
import { startsEvents } from "./starts-events.ts";
import type { ResponseIds } from "./stored-ids/response-ids.ts";

/** The properties of the request that decide how its response is read. */
interface SentRequest {
  readonly model: string | null;
  readonly translation: ResponseTranslation | null;
  readonly ids: ResponseIds | null;
  readonly dropped: readonly string[];
  readonly readsResponse: boolean;
  readonly usageReader: UsageReader;
  readonly contentReader: ContentReader;
  readonly textReader: TextReader;
  readonly bodyRule: BodyRule;
  readonly openingOf: OpeningOf;
  readonly isFiltered: Format["isFiltered"];
  readonly readsWhole: boolean;
  readonly isChat: boolean;
}

/** Responses with these statuses are retried at another target. */
const FAILOVER_STATUSES: ReadonlySet<number> = new Set([429, 500, 502, 503, 504, 529]);

/** How the start of a stream is held. */
export interface Holding {
  readonly limits: HoldLimits;
  readonly clock: Clock;
  readonly onContent: () => void;
}

const PLAIN_TEXT = /^text\/plain\b/i;

export class TargetResponse {
  readonly target: CompiledTarget;
  /** The model in the request to the target. */
  readonly model: string | null;
  /** Milliseconds until the response headers were received. */
  readonly firstByteMs: number;
  readonly upstreamResponse: UpstreamResponse;
  readonly report: BalancerReport;
  /** Null if the response is relayed in the target's format. */
  readonly translation: ResponseTranslation | null;
  /** Seals the ids of stored objects in the response; null if it contains none. */
  readonly ids: ResponseIds | null;
  /** Fields of the request that the target's format cannot express. */
  readonly dropped: readonly string[];
  /** Reads the usage of the response in the format of the endpoint. */
  readonly usageReader: UsageReader;
  /** Recognizes events with content in the stream that the client gets. */
  readonly contentReader: ContentReader;
  /** Finds the texts in the response that the client gets. */
  readonly textReader: TextReader;
  readonly #bodyRule: BodyRule;
  readonly #openingOf: OpeningOf;
  readonly #isFilteredBody: Format["isFiltered"];
  readonly #readsWhole: boolean;
  /** The body is decoded, because the gateway reads it. */
  readonly isDecoded: boolean;
  /** The response to a chat completion request. */
  readonly isChat: boolean;
  /** Only the gateway requested the usage event of this stream, so it is not relayed to the client. */
  readonly hidesUsage: boolean;
  /** Call `open` before: the start of a body without a declared type decides. */
  isStream: boolean;
  readonly #mayBecomeStream: boolean;
  /** The whole body if it was small enough to wait for; null if `reader` has it or there is none. */
  body: Uint8Array | null = null;
  reader: BodyReader | null = null;
  /** Reads what spans report of the response; null if the request is not traced. */
  details: ResponseDetails | null = null;
  /** The first bytes of the body, or all of it. `body` or `reader` still has these bytes. */
  firstBytes: Uint8Array | null = null;

  /** The body in the format of the client; null if it was not translated yet. */
  translated: Uint8Array | string | null = null;
  /** Why a body with a successful status cannot be translated: its generation failed, or it is no response in the target's format. */
  failure: GatehouseError | null = null;

  /** A plugin rejected the rest of the stream, or failed on it: this says nothing about the target. */
  isCutByPlugin = false;

  /** The client was slower than the provider. */
  hasWaitedForClient = false;

  /** What has arrived of a body that is received as a whole. */
  readonly #received: Uint8Array[] = [];
  /** The start of the stream while it is held, and afterwards; null if it is not held. */
  #heldStream: HeldStream | null = null;

  constructor(
    target: CompiledTarget,
    response: UpstreamResponse,
    sent: SentRequest,
    report: BalancerReport,
    firstByteMs: number,
    hidesUsage: boolean,
  ) {
    const { model, translation, ids, dropped, readsResponse, usageReader, contentReader, isChat } = sent;
    this.target = target;
    this.model = model;
    this.firstByteMs = firstByteMs;
    this.upstreamResponse = response;
    this.report = report;
    this.translation = translation;
    this.ids = response.ok ? ids : null;
    this.dropped = dropped;
    this.usageReader = usageReader;
    this.contentReader = contentReader;
    this.textReader = sent.textReader;
    this.#bodyRule = sent.bodyRule;
    this.#openingOf = sent.openingOf;
    this.#isFilteredBody = sent.isFiltered;
    this.#readsWhole = sent.readsWhole || sent.translation !== null;
    this.isDecoded = readsResponse;
    this.isChat = isChat;
    this.hidesUsage = hidesUsage;
    // Some providers send errors that are no stream with the content type of one. The error is translated as a whole.
    const type = response.headers.get("content-type");
    const mayBeStream = response.ok || translation === null;
    this.isStream = mayBeStream && isEventStreamType(type);
    // Clients read a body as what they requested if the server declares no type, or that of text.
    this.#mayBecomeStream = mayBeStream && (type === null || PLAIN_TEXT.test(type));
  }

  /**
   * Receives as much of the body as possible before the client gets a byte, because until then a failure can be retried
   * at another target: the whole body if it is small or translated, otherwise the first chunk, or the chunks up to the first content
   * of a stream. Returns null if nothing has to be awaited.
   */
  open(idleMs: number, holding: Holding | null): Promise<void> | null {
    const { upstreamResponse: response, isDecoded, isStream } = this;
    // The frames of a WebSocket are read when the client has one, too.
    if (!response.hasBody || response.writer !== null)
      return holding !== null && isHeldWithoutBody(response, holding)
        ? Promise.reject(new UpstreamError("empty_stream"))
        : null;
    response.idleTimeoutMs = idleMs;
    const encoding = isDecoded ? parseContentEncoding(response.headers.get("content-encoding")) : "identity";
    // Most bodies have arrived together with the headers.
    const isTaken = !isStream && !this.#mayBecomeStream && encoding === "identity";
    const whole = isTaken ? response.takeWholeBody() : null;
    if (whole === null)
      return this.#read(encoding === "identity" ? response : decodeResponse(response, encoding), holding);
    this.body = this.firstBytes = whole;
    return null;
  }

  /** The form in which plugins read the texts of the body; null if there are none. Call `open` before. */
  get textForm(): TextForm {
    const { translation, firstBytes, upstreamResponse } = this;
    if (translation !== null) return this.isStream ? "events" : "whole";
    if (firstBytes === null) return null;
    const type = upstreamResponse.headers.get("content-type");
    const rule = upstreamResponse.ok ? this.#bodyRule : "any";
    return textFormOf(rule, firstBytes, { type, isStream: this.isStream });
  }

  /** Whether the body is one of the format, or rejected by plugins that read its texts. Errors may have any form. */
  get isStrict(): boolean {
    return this.translation !== null || (this.upstreamResponse.ok && this.#bodyRule === "format");
  }

  /** As which transport of the rule the body would pass; null if it is no file. */
  get transport(): FileTransport | null {
    const rule = this.#bodyRule;
    return this.upstreamResponse.ok && (rule === "files" || rule === "batches") ? rule : null;
  }

  /** Whether another target is tried if there is one. Every other response goes to the client. */
  get isRetried(): boolean {
    return this.failure !== null || FAILOVER_STATUSES.has(this.upstreamResponse.status);
  }

  /** Whether the provider's content filter has rejected the request or the response, which has no content. */
  isFiltered(): boolean {
    if (!this.upstreamResponse.ok) return false;
    const { body } = this;
    if (body === null) return this.#heldStream?.isFiltered === true;
    if (body.byteLength > MAX_FILTERED_BYTES) return false;
    const json = parseJson(body);
    return isJsonObject(json) && this.#isFilteredBody(json);
  }

  /** Reads on for a short time: a stream that the filter has ended reports its usage afterwards. */
  async readRest(clock: Clock): Promise<void> {
    await this.#heldStream?.holdRest(clock);
  }

  /** Returns what the response has reported so far, of which nothing was relayed. */
  usageSoFar(): Usage | null {
    if (this.body !== null) return usageOfBody(this);
    return this.upstreamResponse.ok && this.#heldStream !== null
      ? usageOfStart(this.usageReader, this.#heldStream.held)
      : null;
  }

  /** Returns what the response has reported if the client does not get it; null if that is nothing. */
  unusedUsage(): Usage | null {
    const usage = this.usageSoFar();
    return usage === null || usage.inputTokens + usage.outputTokens === 0 ? null : usage;
  }

  /** Whether it is a successful response that is no stream, and has not arrived completely. */
  get isIncompleteWhole(): boolean {
    const { ok, hasBody } = this.upstreamResponse;
    return ok && hasBody && !this.isStream && this.body === null;
  }

  /** Returns the output tokens that a body has about which was cut while it was received as a whole. */
  cutOutputTokens(): number {
    const received = this.#received;
    if (this.body !== null || !this.isChat || !this.upstreamResponse.ok || received.length === 0) return 0;
    const { length } = Buffer.concat(received);
    const header = this.isDecoded ? null : this.upstreamResponse.headers.get("content-encoding");
    const encoding = parseContentEncoding(header);
    return encoding === "unsupported" ? 0 : estimateRelayed(received, length, encoding);
  }

  /** Call if the client does not get the response. */
  discard(now: number): void {
    this.reader?.cancel();
    this.report.end(healthResultOf(this.upstreamResponse.status), now);
  }

  async #read(received: BodyReader, holding: Holding | null): Promise<void> {
    if (this.#mayBecomeStream) this.isStream = startsEvents(await received.peek());
    // Events are read one by one, however they are relayed.
    const reader = this.isStream ? new PacedReader(received) : received;
    if (!this.isStream && this.#isReadWhole) return this.#readWhole(reader);
    this.reader = holding !== null && this.isStream ? await this.#hold(reader, holding) : reader;
    this.firstBytes = await this.reader.peek();
    // Some servers ignore `stream`, and declare an event stream all the same. No field of one starts with a brace.
    if (!this.isStream || this.firstBytes === null || startOf(this.firstBytes, true) !== "json") return;
    this.isStream = false;
    if (this.#isReadWhole) await this.#readWhole(this.reader);
  }

  /** A decoded body can be much larger than its Content-Length, hence the second limit. */
  async #readWhole(reader: BodyReader): Promise<void> {
    this.reader = null;
    this.body = this.firstBytes = await readWholeBody(reader, MAX_READ_BYTES, this.#received);
  }

  get #isReadWhole(): boolean {
    const length = Number(this.upstreamResponse.headers.get("content-length") ?? Infinity);
    return this.#readsWhole || length <= SMALL_BODY_BYTES;
  }

  async #hold(reader: BodyReader, { limits, clock, onContent }: Holding): Promise<BodyReader> {
    const held = (this.#heldStream = new HeldStream(reader, this.#openingOf, onContent));
    await held.hold(limits, clock);
    return held;
  }
}

/** Bodies up to this size are received completely: a failure can be retried, and the client gets a Content-Length. */
const SMALL_BODY_BYTES = 256 * 1024;
/** A larger body has content. */
const MAX_FILTERED_BYTES = 64 * 1024;
const MAX_READ_BYTES = 32 * 1024 * 1024;

/** Whether the stream ends before its first event, as its Content-Length says. */
function isHeldWithoutBody({ headers }: UpstreamResponse, { limits }: Holding): boolean {
  return limits.max_ms > 0 && headers.get("content-length") === "0";
}
