// Estimates the output tokens of a stream from the text that was relayed, for streams that end before their usage is reported.
// While the stream runs, its bytes are counted and a few of them are copied; only an estimate parses these samples.
import { copyBytes } from "../base/byte-search.ts";
import { isJsonObject } from "../base/json.ts";
import { tokensOfText } from "../formats/text-tokens.ts";
import type { UsageReader } from "../formats/usage-reader.ts";

/** The first sample is the start of the stream, so that the estimate of a short stream reads all of it. */
const START_BYTES = 2048;
/** Later samples start at chunks whose numbers double, so that a stream of any length has few of them. */
const SAMPLE_BYTES = 1024;
/** A sample grows from this size on: many streams are short. */
const FIRST_BYTES = 512;
const EVENT_END = /\r\n\r\n|\n\n|\r\r/;
const DATA_LINE = /^data: ?(.*)$/m;

/** What complete events of a stream contain. */
interface Measured {
  readonly tokens: number;
  /** Bytes of these events. */
  readonly bytes: number;
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

  estimateTokens(reader: UsageReader): number {
    const [first = new Uint8Array(0), ...others] = this.#samples.map(({ bytes }) => bytes);
    const start = measure(first, reader, 0);
    // A later sample starts with a part of an event.
    const later = sumOf(others.map((sample) => measure(sample, reader, 1)));
    const { tokens, bytes } = later.bytes === 0 ? start : later;
    if (bytes > 0) return Math.ceil(start.tokens + ((this.#bytes - start.bytes) * tokens) / bytes);
    // No event is complete. If none has ended in all these bytes, they are the text of a very large one.
    if (first.byteLength < START_BYTES) return 0;
    return Math.ceil((tokensOfText(Buffer.from(first).toString()) * this.#bytes) / first.byteLength);
  }
}

function sumOf(parts: readonly Measured[]): Measured {
  let [tokens, bytes] = [0, 0];
  for (const part of parts) {
    tokens += part.tokens;
    bytes += part.bytes;
  }
  return { tokens, bytes };
}

/** Reads the events from the number `from` to the last complete one. */
function measure(sample: Uint8Array, reader: UsageReader, from: number): Measured {
  const events = Buffer.from(sample).toString().split(EVENT_END).slice(from, -1);
  let bytes = 0;
  let text = "";
  for (const event of events) {
    text += textOfEvent(event, reader);
    bytes += Buffer.byteLength(event) + 2;
  }
  return { tokens: tokensOfText(text), bytes };
}

function textOfEvent(text: string, reader: UsageReader): string {
  try {
    const event: unknown = JSON.parse(DATA_LINE.exec(text)?.[1] ?? "null");
    return isJsonObject(event) ? reader.textOf(event) : "";
  } catch {
    return "";
  }
}
