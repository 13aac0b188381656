// Estimates the output tokens of a stream from the text that was relayed, for streams that end before their usage is reported.
// While the stream runs, its bytes are counted and a few of them are copied; only an estimate parses these samples.
import { parseBounded } from "../base/bounded-json.ts";
import { copyBytes } from "../base/byte-search.ts";
import { isJsonObject } from "../base/json.ts";
import { containsMedia } from "../formats/media.ts";
import { tokensOfText } from "../formats/text-tokens.ts";
import type { UsageReader } from "../formats/usage-reader.ts";
import { parseCutJson, type CutPlace } from "./cut-json.ts";

/** The first sample is the start of the stream, so that the estimate of a short stream reads all of it. */
const START_BYTES = 2048;
/** Later samples start at chunks whose numbers double, so that a stream of any length has few of them. */
const SAMPLE_BYTES = 1024;
/** A sample grows from this size on: many streams are short. */
const FIRST_BYTES = 512;
/** An event that is cut off at the end of a sample counts if the sample has this much of it. Most of smaller ones has no text. */
const MIN_CUT_BYTES = 512;
const EVENT_START = /^(?:data|event|id):/;
const EVENT_END = /\r\n\r\n|\n\n|\r\r/;
/** Only CR and LF end a line of a stream: text of the model may have other line separators. */
const DATA_LINES = /(?<=^|[\r\n])data: ?([^\r\n]*)/g;
/** What events of a stream contain. */
interface Measured {
  readonly tokens: number;
  /** Bytes of these events. */
  readonly bytes: number;
  readonly hasMedia: boolean;
}

interface RelayedTokens {
  readonly tokens: number;
  /** The output contains audio or images, whose tokens are not estimated. */
  readonly hasMedia: boolean;
}

/** A part of a stream, in one array: one for each chunk would take several times the memory of the bytes. */
class Sample {
  #bytes: Uint8Array;
  readonly #limit: number;
  #length = 0;

  constructor(limit: number) {
    this.#bytes = new Uint8Array(FIRST_BYTES);
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#length === this.#limit;
  }

  /** Copies as much of the chunk as there is room for. */
  push(chunk: Uint8Array): void {
    const copied = Math.min(chunk.byteLength, this.#limit - this.#length);
    const length = this.#length + copied;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.min(this.#limit, Math.max(length, 2 * this.#bytes.length)));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    copyBytes(chunk, this.#bytes, this.#length, 0, copied);
    this.#length = length;
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

export class RelayedText {
  #bytes = 0;
  #chunks = 0;
  /** The number of the chunk with which the next sample starts. */
  #nextSample = 2;
  #sample = new Sample(START_BYTES);
  readonly #samples = [this.#sample];

  /** Call with the next bytes of the stream, decoded. */
  push(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (++this.#chunks < this.#nextSample && this.#sample.isFull) return;
    if (this.#sample.isFull) this.#samples.push((this.#sample = new Sample(SAMPLE_BYTES)));
    this.#sample.push(chunk);
    this.#nextSample = this.#chunks * 2;
  }

  estimate(reader: UsageReader): RelayedTokens {
    const found = this.#estimate(reader, "text");
    // Large events with much else after a short text, such as log probabilities, may all be cut off there.
    return found.tokens > 0 ? found : this.#estimate(reader, "anywhere");
  }

  #estimate(reader: UsageReader, place: CutPlace): RelayedTokens {
    const [first = new Uint8Array(0), ...others] = this.#samples.map(({ bytes }) => bytes);
    const start = measure(first, reader, place, true);
    const later = sumOf(others.map((sample) => measure(sample, reader, place, false)));
    const all = sumOf([start, later]);
    const { hasMedia } = all;
    // A few bytes at the end of a stream say nothing about large events before them.
    const { tokens, bytes } = later.bytes < SAMPLE_BYTES / 2 ? all : later;
    if (bytes > 0)
      return { tokens: Math.ceil(start.tokens + ((this.#bytes - start.bytes) * tokens) / bytes), hasMedia };
    // No event can be read. If none has ended in all these bytes, they are the text of a very large one.
    if (first.byteLength < START_BYTES) return { tokens: 0, hasMedia };
    const ofFirst = tokensOfText(Buffer.from(first).toString());
    return { tokens: Math.ceil((ofFirst * this.#bytes) / first.byteLength), hasMedia };
  }
}

function sumOf(parts: readonly Measured[]): Measured {
  let [tokens, bytes, hasMedia] = [0, 0, false];
  for (const part of parts) {
    tokens += part.tokens;
    bytes += part.bytes;
    hasMedia ||= part.hasMedia;
  }
  return { tokens, bytes, hasMedia };
}

/** Reads the complete events of a sample, and a large one that is cut off at its end. */
function measure(sample: Uint8Array, reader: UsageReader, place: CutPlace, isStart: boolean): Measured {
  // Skips the byte order mark of a stream.
  const events = new TextDecoder().decode(sample).split(EVENT_END);
  const cut = events.pop() ?? "";
  // A later sample may start with a part of an event.
  if (!isStart && events[0] !== undefined && !EVENT_START.test(events[0])) events.shift();
  let [bytes, text, hasMedia] = [0, "", false];
  const add = (event: string, value: unknown) => {
    const content = isJsonObject(value) ? reader.textOf(value) : "";
    text += content;
    bytes += Buffer.byteLength(event);
    hasMedia ||= content === "" && containsMedia(event);
  };
  for (const event of events) {
    add(event, parseJson(dataOf(event)));
    bytes += 2;
  }
  const cutValue =
    cut.length >= MIN_CUT_BYTES && EVENT_START.test(cut) ? parseCutJson(dataOf(cut), place) : undefined;
  if (cutValue !== undefined) add(cut, cutValue);
  return { tokens: tokensOfText(text), bytes, hasMedia };
}

function dataOf(event: string): string {
  return Array.from(event.matchAll(DATA_LINES), ([, line]) => line).join("\n");
}

function parseJson(json: string): unknown {
  try {
    return parseBounded(json);
  } catch {
    return undefined;
  }
}
