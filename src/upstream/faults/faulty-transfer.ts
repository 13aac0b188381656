// Passes the response of a provider on to the attempt, and injects a fault while it arrives.
import { EventBlocks } from "../../formats/event-blocks.ts";
import { bodyWithoutUsage, eventWithoutUsage } from "../../formats/remove-usage.ts";
import { providerErrorEvent } from "../../formats/provider-errors.ts";
import type { BodyReader } from "../../http/body-reader.ts";
import { parseContentEncoding } from "../../http/content-encoding.ts";
import { isEventStreamType } from "../../http/media-type.ts";
import { decodeResponse } from "../decode-response.ts";
import type { OutgoingRequest } from "../outgoing-request.ts";
import { readWholeBody } from "../read-whole-body.ts";
import type { SendTimeouts } from "../upstream-client.ts";
import { UpstreamError } from "../upstream-error.ts";
import type { ResponseSource, UpstreamResponse } from "../upstream-response.ts";
import type { FaultyClientParts } from "./faulty-client-parts.ts";

const MAX_WHOLE_BYTES = 32 * 1024 * 1024;

export class FaultyTransfer implements ResponseSource {
  readonly #parts: FaultyClientParts;
  readonly #request: OutgoingRequest;
  readonly #timeouts: SendTimeouts;
  readonly #response: UpstreamResponse;
  /** The response of the provider; null until the request is sent. */
  #source: UpstreamResponse | null = null;
  #isCanceled = false;
  /** Resolves when the reader of the response wants more; null if it does. */
  #paused: PromiseWithResolvers<undefined> | null = null;
  /** Ends the wait in progress. */
  #wake: (() => void) | null = null;
  #sentEvents = 0;

  constructor(
    parts: FaultyClientParts,
    request: OutgoingRequest,
    timeouts: SendTimeouts,
    response: UpstreamResponse,
  ) {
    this.#parts = parts;
    // What is counted or changed has to be readable.
    this.#request =
      parts.fault.type === "delay"
        ? request
        : { ...request, headers: { ...request.headers, "accept-encoding": "identity" } };
    this.#timeouts = timeouts;
    this.#response = response;
    response.onSent(this);
  }

  get holdsBody(): boolean {
    return this.#source?.holdsBody !== false;
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers<undefined>();
  }

  resume(): void {
    this.#paused?.resolve(undefined);
    this.#paused = null;
  }

  cancel(): void {
    this.#isCanceled = true;
    this.#source?.cancel();
    this.#wake?.();
    this.resume();
  }

  /** Never rejects: errors are those of the response. */
  async run(): Promise<void> {
    try {
      await this.#transfer();
    } catch (error) {
      this.#response.onError(error instanceof UpstreamError ? error : new UpstreamError("cut", error));
    }
  }

  async #transfer(): Promise<void> {
    const { client, fault, deadlines } = this.#parts;
    const startedAt = deadlines.clock.now();
    if (fault.type === "delay") await this.#wait(fault.ms ?? 0);
    if (this.#isCanceled) return;
    const now = deadlines.clock.now();
    const first_byte = Math.max(1, this.#timeouts.first_byte - (now - startedAt));
    const source = client.send(this.#request, { ...this.#timeouts, first_byte }, now);
    this.#source = source;
    // From now on the timeouts are those of the provider's response.
    this.#response.suspendTimeouts();
    await source.headersReceived;
    this.#response.queueMs = source.queueMs;
    this.#response.credentialHeaders = source.credentialHeaders;
    if (source.writer !== null) this.#response.onSwitch(source.writer);
    const isStream = isEventStreamType(source.headers.get("content-type"));
    if (fault.type === "delay" || !source.ok) await this.#passOn(source);
    else if (isStream) await this.#transferEvents(this.#readerOf(source));
    else await this.#transferBody(this.#readerOf(source));
  }

  /** Returns a reader of the decoded body. */
  #readerOf(source: UpstreamResponse): BodyReader {
    const encoding = parseContentEncoding(source.headers.get("content-encoding"));
    if (encoding === "identity") return source;
    source.headers.delete("content-encoding");
    source.headers.delete("content-length");
    return decodeResponse(source, encoding);
  }

  async #passOn(source: UpstreamResponse): Promise<void> {
    this.#begin();
    for (let chunk = await source.next(); chunk !== null; chunk = await source.next())
      await this.#send(chunk);
    this.#response.onEnd();
  }

  async #transferEvents(reader: BodyReader): Promise<void> {
    const blocks = new EventBlocks();
    this.#begin();
    if (this.#isDue() && (await this.#inject())) return;
    for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next())
      for (const event of blocks.push(chunk)) if (await this.#transferEvent(event)) return;
    const rest = blocks.end();
    if (rest.byteLength > 0) await this.#send(rest);
    this.#response.onEnd();
  }

  /** Resolves to whether the response has ended. */
  async #transferEvent(event: Uint8Array): Promise<boolean> {
    const { fault } = this.#parts;
    if (this.#isStopped) {
      await this.#send(event);
      return false;
    }
    if (fault.type === "slow" && this.#sentEvents > 0) await this.#wait(fault.ms ?? 0);
    this.#sentEvents++;
    if (fault.type === "truncated_json") {
      await this.#send(truncatedEvent(event));
      this.#stopSource();
      this.#response.onEnd();
      return true;
    }
    if (fault.type === "missing_usage") {
      const text = eventWithoutUsage(Buffer.from(event).toString("utf8"));
      if (text !== "") await this.#send(Buffer.from(text));
    } else await this.#send(event);
    return this.#isDue() && (await this.#inject());
  }

  /** A response that is no stream is one event. */
  async #transferBody(reader: BodyReader): Promise<void> {
    const { fault } = this.#parts;
    const source = this.#source;
    if (source === null) return;
    if (fault.type === "truncated_json" || fault.type === "missing_usage") {
      const body = Buffer.from(await readWholeBody(reader, MAX_WHOLE_BYTES));
      const changed =
        fault.type === "truncated_json"
          ? body.subarray(0, Math.floor(body.byteLength / 2))
          : Buffer.from(bodyWithoutUsage(body.toString("utf8")));
      source.headers.set("content-length", String(changed.byteLength));
      this.#begin();
      await this.#send(changed);
      this.#response.onEnd();
      return;
    }
    this.#begin();
    if (fault.type === "slow") await this.#wait(fault.ms ?? 0);
    if (this.#isDue() && (await this.#inject())) return;
    for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next())
      await this.#send(chunk);
    this.#sentEvents++;
    this.#response.onEnd();
  }

  /** Whether the fault follows the events that were sent. */
  #isDue(): boolean {
    const { type, after_events } = this.#parts.fault;
    const isPlaced = type === "cut" || type === "stall" || type === "error_event";
    return isPlaced && after_events === this.#sentEvents && !this.#isStopped;
  }

  /** Resolves to whether the response has ended. */
  async #inject(): Promise<boolean> {
    const { fault, format } = this.#parts;
    if (fault.type === "stall") {
      await this.#wait(Infinity);
      return this.#isCanceled;
    }
    this.#stopSource();
    if (fault.type === "cut") {
      this.#response.onError(new UpstreamError("cut", new Error("cut by a game day")));
      return true;
    }
    await this.#send(Buffer.from(providerErrorEvent(format, this.#sentEvents)));
    this.#response.onEnd();
    return true;
  }

  #begin(): void {
    const source = this.#source;
    if (source === null) return;
    const { status, headers, hasBody } = source;
    this.#response.onHeaders({ status, headers, framing: hasBody ? "chunked" : 0, isKeepAlive: true });
  }

  async #send(bytes: Uint8Array): Promise<void> {
    this.#response.onBody(bytes);
    this.#response.onBodyBatch();
    if (this.#paused !== null) await this.#paused.promise;
  }

  /** The rest of the provider's response is not needed. */
  #stopSource(): void {
    this.#source?.cancel();
  }

  get #isStopped(): boolean {
    return this.#parts.stopped.aborted;
  }

  /** Resolves after this time, or when the game day stops, or when the response is canceled. */
  async #wait(milliseconds: number): Promise<void> {
    const { stopped, deadlines } = this.#parts;
    if (stopped.aborted || this.#isCanceled) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const wake = () => resolve(undefined);
    this.#wake = wake;
    stopped.addEventListener("abort", wake);
    const timer = milliseconds === Infinity ? null : deadlines.clock.setTimeout(wake, milliseconds);
    await promise;
    timer?.close();
    stopped.removeEventListener("abort", wake);
    this.#wake = null;
  }
}

/** Returns an event whose data ends in the middle. */
function truncatedEvent(event: Uint8Array): Uint8Array {
  const text = Buffer.from(event).toString("utf8").trimEnd();
  const data = text.indexOf("data:");
  const half = data + Math.floor((text.length - data) / 2);
  return Buffer.from(`${text.slice(0, half)}\n\n`);
}
