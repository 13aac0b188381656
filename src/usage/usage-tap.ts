// Reads the usage of one response while its bytes are relayed, and removes the usage event of a stream if only the gateway
// requested it.
import type { FirstContent } from "../formats/first-content.ts";
import type { ResponseDetails } from "../formats/response-details.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import type { BodyReader } from "../http/body-reader.ts";
import { parseContentEncoding, type ContentEncoding } from "../http/content-encoding.ts";
import { readInPieces } from "../http/paced-reader.ts";
import { StreamRecoder } from "../http/stream-recoder.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { decodeJson, lastObjectIn, startsJson, textTokensOf } from "./json-body.ts";
import { JsonUsage } from "./json-usage.ts";
import { RelayedParts } from "./relayed-parts.ts";
import { StreamUsageFilter } from "./stream-usage-filter.ts";
import { needsText, UsageAccumulator, usageOf, withTextOutput, type Usage } from "./usage-accumulator.ts";

/** The properties of a target's response that decide how its usage is read. */
interface TappedResponse {
  readonly upstreamResponse: UpstreamResponse;
  readonly body: Uint8Array | null;
  readonly reader: BodyReader | null;
  readonly isStream: boolean;
  readonly isDecoded: boolean;
  readonly isChat: boolean;
  readonly hidesUsage: boolean;
  readonly usageReader: UsageReader;
  /** Null if the request is not traced. */
  readonly details: ResponseDetails | null;
}

/** Bytes to relay. Only encoded streams need a promise. */
type RelayedBytes = Uint8Array | Promise<Uint8Array>;

const NO_BYTES = new Uint8Array(0);

/** Used directly for responses that cannot be decoded: relays all bytes and reads no usage. */
export class UsageTap {
  /** The tap returns encoded bytes, so that only the tap itself can search them for content. */
  readonly returnsEncodedBytes: boolean = false;
  /** Searched by the tap if it returns encoded bytes. */
  firstContent: FirstContent | null = null;
  protected readonly usage: UsageAccumulator;
  protected readonly details: ResponseDetails | null;
  readonly #isChat: boolean;

  constructor({ usageReader, isChat, details }: Pick<TappedResponse, "usageReader" | "isChat" | "details">) {
    this.usage = new UsageAccumulator(usageReader);
    this.details = details;
    this.#isChat = isChat;
  }

  push(chunk: Uint8Array): RelayedBytes {
    return chunk;
  }

  /** Call at the end of the response. Returns the held back bytes to relay. */
  end(): RelayedBytes {
    return NO_BYTES;
  }

  /** Call instead of `push` and `end` for a body that was read at once. Returns the bytes to relay. */
  pushWhole(body: Uint8Array): RelayedBytes {
    return body;
  }

  /** Call instead of `end` if the response was cut. Returns the held back bytes to relay. */
  abort(): Uint8Array {
    return NO_BYTES;
  }

  /** Call last, once. */
  result(isComplete: boolean): Usage | null {
    return this.usage.result(isComplete, this.#isChat);
  }
}

/** Returns the usage of a response whose body is in memory. */
export function usageOfBody({
  upstreamResponse: response,
  body,
  isDecoded,
  isChat,
  usageReader,
  details,
}: TappedResponse): Usage | null {
  if (body === null || !response.ok) return null;
  const json = isDecoded || startsJson(body) ? body : decodeJson(body, response);
  if (details !== null && json !== null) details.readBody(json);
  if (json === null) return null;
  const usage = usageOf(usageReader, usageReader.readBody(lastObjectIn(json)));
  if (usage === null || !needsText(usage)) return usage;
  return withTextOutput(usage, textTokensOf(json, usageReader, isChat), false);
}

/** Returns the usage that the first events of a stream report; null if they report none. */
export function usageOfStart(usageReader: UsageReader, chunks: readonly Uint8Array[]): Usage | null {
  const usage = new UsageAccumulator(usageReader);
  const filter = new StreamUsageFilter(usageReader, usage, false);
  for (const chunk of chunks) filter.push(chunk);
  return usage.result(false, false);
}

/** Returns null if there is no usage to read while relaying: the body is in memory or absent, or the status is an error. */
export function tapResponse(tapped: TappedResponse): UsageTap | null {
  const { upstreamResponse: response, isStream, isDecoded, reader } = tapped;
  if (reader === null || !response.ok) return null;
  const encoding = isDecoded ? "identity" : parseContentEncoding(response.headers.get("content-encoding"));
  if (encoding === "unsupported") return new UsageTap(tapped);
  if (!isStream) return new JsonTap(tapped, encoding);
  return encoding === "identity" ? new StreamTap(tapped) : new EncodedStreamTap(tapped, encoding);
}

class JsonTap extends UsageTap {
  readonly #body: JsonUsage;

  constructor(tapped: TappedResponse, encoding: ContentEncoding | "identity") {
    super(tapped);
    this.#body = new JsonUsage(tapped, this.usage, encoding);
  }

  override push(chunk: Uint8Array): Uint8Array {
    this.#body.push(chunk);
    return chunk;
  }

  override pushWhole(body: Uint8Array): Uint8Array {
    // Now, because the body may be moved to another thread.
    this.#body.pushWhole(body);
    return body;
  }

  override result(isComplete: boolean): Usage | null {
    this.#body.end(isComplete);
    const usage = super.result(isComplete);
    if (usage === null) return null;
    // A client may disconnect before the last byte, when it has all of the text.
    return withTextOutput(usage, this.#body.textTokens, false);
  }
}

class StreamTap extends UsageTap {
  readonly #reader: UsageReader;
  readonly #filter: StreamUsageFilter;
  readonly #relayed = new RelayedParts(this.usage);

  constructor(tapped: TappedResponse) {
    super(tapped);
    this.#reader = tapped.usageReader;
    this.#filter = new StreamUsageFilter(tapped.usageReader, this.usage, tapped.hidesUsage);
  }

  override push(chunk: Uint8Array): RelayedBytes {
    this.details?.push(chunk);
    const relayed = this.#filter.push(chunk);
    this.#relayed.push(chunk);
    return relayed;
  }

  override end(): RelayedBytes {
    return this.#filter.end();
  }

  override async pushWhole(body: Uint8Array): Promise<Uint8Array> {
    const relayed: Uint8Array[] = [];
    await readInPieces(body, (piece) => {
      this.details?.push(piece);
      relayed.push(this.#filter.push(piece));
      this.#relayed.push(piece);
    });
    return Buffer.concat([...relayed, this.#filter.end()]);
  }

  override abort(): Uint8Array {
    return this.#filter.abort();
  }

  override result(isComplete: boolean): Usage | null {
    return this.#relayed.withEstimate(super.result(isComplete), this.#reader);
  }
}

/** Decodes a copy of the stream. The client gets the original bytes unless the usage event must be removed from them. */
class EncodedStreamTap extends UsageTap {
  override readonly returnsEncodedBytes = true;
  readonly #recoder: StreamRecoder;
  readonly #reader: UsageReader;
  readonly #filter: StreamUsageFilter;
  readonly #relayed = new RelayedParts(this.usage);
  #isRecoding: boolean;
  #isReadable = true;
  #hasStarted = false;

  constructor(tapped: TappedResponse, encoding: ContentEncoding) {
    super(tapped);
    this.#recoder = new StreamRecoder(encoding, tapped.hidesUsage);
    this.#reader = tapped.usageReader;
    this.#filter = new StreamUsageFilter(tapped.usageReader, this.usage, tapped.hidesUsage);
    this.#isRecoding = tapped.hidesUsage;
  }

  override async push(chunk: Uint8Array): Promise<Uint8Array> {
    if (!this.#isReadable) return chunk;
    try {
      const decoded = await this.#recoder.decode(chunk);
      const relayed: Uint8Array[] = [];
      await readInPieces(decoded, (piece) => {
        this.details?.push(piece);
        const bytes = this.#filter.push(piece);
        this.#relayed.push(piece);
        if (this.firstContent?.isSearching === true) this.firstContent.push(bytes);
        if (this.#isRecoding) relayed.push(bytes);
      });
      return this.#isRecoding ? await this.#recoder.encode(Buffer.concat(relayed)) : chunk;
    } catch (error) {
      // A stream that has been relayed re-encoded cannot continue with the original bytes.
      if (this.#isRecoding && this.#hasStarted) throw error;
      this.#isRecoding = false;
      this.#isReadable = false;
      return chunk;
    } finally {
      this.#hasStarted = true;
    }
  }

  override async end(): Promise<Uint8Array> {
    const heldBack = this.#filter.end();
    if (!this.#isRecoding) return NO_BYTES;
    return Buffer.concat([await this.#recoder.encode(heldBack), await this.#recoder.end()]);
  }

  override result(isComplete: boolean): Usage | null {
    this.#recoder.destroy();
    return this.#relayed.withEstimate(super.result(isComplete), this.#reader);
  }
}
