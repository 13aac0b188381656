// Reads the usage of a body that is JSON and no stream of events, while it is relayed.
import type { ResponseDetails } from "../formats/response-details.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import { decodeBody, type ContentEncoding } from "../http/content-encoding.ts";
import { estimateRelayed, lastObjectIn, startsArray, startsJson, textTokensOf } from "./json-body.ts";
import { JsonOutline } from "./json-outline.ts";
import { needsText, type UsageAccumulator } from "./usage-accumulator.ts";

/** Usage is usually at the end of a body, so the last bytes of a plain body are kept. An encoded body is needed whole. */
const MAX_PLAIN_BYTES = 256 * 1024;
const MAX_ENCODED_BYTES = 1024 * 1024;
/** More is not decoded or parsed if a body was read at once: this would keep other requests waiting. */
const MAX_WHOLE_BYTES = 1024 * 1024;

interface JsonResponse {
  readonly usageReader: UsageReader;
  readonly isChat: boolean;
  readonly details: ResponseDetails | null;
}

export class JsonUsage {
  /** The estimated tokens of the text, if the reported usage does not say more; call `end` before. */
  textTokens = 0;
  readonly #response: JsonResponse;
  readonly #usage: UsageAccumulator;
  readonly #encoding: ContentEncoding | "identity";
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #totalBytes = 0;
  /** What is no longer kept of a plain body. Some servers report usage before the rest. */
  #outline: JsonOutline | null = null;
  /** As `#outline`, of a body that was read at once. */
  #unread: Uint8Array | null = null;
  #isWhole = true;
  /** Each object of an array is an event that reports the usage so far. */
  #isArray = false;

  constructor(response: JsonResponse, usage: UsageAccumulator, encoding: ContentEncoding | "identity") {
    this.#response = response;
    this.#usage = usage;
    this.#encoding = encoding;
  }

  push(chunk: Uint8Array): void {
    if (this.#totalBytes === 0) this.#isArray = startsArray(chunk);
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    this.#totalBytes += chunk.byteLength;
    const maxBytes = this.#encoding === "identity" ? MAX_PLAIN_BYTES : MAX_ENCODED_BYTES;
    while (this.#bytes - (this.#chunks[0]?.byteLength ?? 0) >= maxBytes) {
      const dropped = this.#chunks.shift();
      this.#bytes -= dropped?.byteLength ?? 0;
      this.#isWhole = false;
      if (dropped !== undefined && this.#encoding === "identity" && !this.#isArray)
        (this.#outline ??= new JsonOutline()).push(dropped);
    }
  }

  /** Call instead of `push` and `end` for a body that was read at once. */
  pushWhole(body: Uint8Array): void {
    this.#isWhole = body.byteLength <= MAX_WHOLE_BYTES;
    if (this.#isWhole) this.push(body);
    else if (this.#encoding === "identity") {
      this.push(body.subarray(-MAX_PLAIN_BYTES));
      this.#isArray = startsArray(body);
      this.#unread = body.subarray(0, -MAX_PLAIN_BYTES);
      this.#totalBytes = body.byteLength;
    }
    this.end(true);
  }

  /** Call when the last byte was received, or the response was cut. Forgets the chunks. */
  end(isComplete: boolean): void {
    const chunks = this.#chunks;
    const [first] = chunks;
    if (first === undefined) return;
    this.#chunks = [];
    const bytes = chunks.length > 1 ? Buffer.concat(chunks) : first;
    const json = this.#decode(bytes);
    const { usageReader, isChat, details } = this.#response;
    // A cut response does not end with its outermost object, so no usage is found in it.
    const last = json === null ? null : lastObjectIn(json);
    const counters = last === null ? null : (usageReader.readBody(last) ?? this.#countersBefore(bytes));
    if (this.#isWhole && json !== null) details?.readBody(json);
    // An array that is cut between two events lacks its closing bracket.
    if (counters !== null) this.#usage.add(counters, this.#isArray && last === json ? "running" : "final");
    const isTextRead = this.#isWhole && json !== null && (isComplete || counters !== null);
    if (isTextRead)
      this.textTokens = this.#needsText(isComplete) ? textTokensOf(json, usageReader, isChat) : 0;
    else if (isChat || !(isComplete || counters !== null))
      this.textTokens = estimateRelayed(chunks, this.#totalBytes, this.#encoding);
  }

  #needsText(isComplete: boolean): boolean {
    const usage = this.#usage.result(isComplete, this.#response.isChat);
    return usage !== null && needsText(usage);
  }

  /** Returns the counters in a body of which `end` are the last bytes; null if it has none, or they are not the end of it. */
  #countersBefore(end: Uint8Array): ReturnType<UsageReader["readBody"]> {
    const unread = this.#isArray ? null : this.#unread;
    this.#unread = null;
    if (unread !== null) (this.#outline = new JsonOutline()).push(unread);
    this.#outline?.push(end);
    const outline = this.#outline?.take() ?? null;
    return outline === null ? null : this.#response.usageReader.readBody(Buffer.from(outline));
  }

  /** Returns the end of a JSON object or array, or null. */
  #decode(bytes: Uint8Array): Uint8Array | null {
    if (this.#encoding === "identity") return !this.#isWhole || startsJson(bytes) ? bytes : null;
    const decoded = this.#isWhole ? decodeBody(bytes, this.#encoding) : null;
    return decoded !== null && startsJson(decoded) ? decoded : null;
  }
}
