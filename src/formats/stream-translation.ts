// Translates one event stream from the format of a target to the format of a client while it arrives.
import { StopSink } from "./stop-sequences.ts";
import type {
  DecodeOptions,
  InboundTranslator,
  OutboundTranslator,
  ResponseContext,
  StreamDecoder,
  StreamEncoder,
  StreamEnding,
} from "./translator.ts";

const encoder = new TextEncoder();

export class StreamTranslation {
  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;

  constructor(
    from: OutboundTranslator,
    to: InboundTranslator,
    options: DecodeOptions,
    context: ResponseContext,
  ) {
    this.#encoder = to.encodeStream(context);
    const { emulatedStop } = context;
    const sink = emulatedStop === undefined ? this.#encoder : new StopSink(emulatedStop, this.#encoder);
    this.#decoder = from.decodeStream(options, sink);
  }

  /** Returns the translated events that `bytes` complete, or null if there are none. Throws if the stream is invalid. */
  push(bytes: Uint8Array): Uint8Array | null {
    this.#decoder.push(bytes);
    return this.#take();
  }

  /** Call at the end of the stream, and then `takeRest`. */
  ending(): StreamEnding {
    return this.#decoder.ending();
  }

  /** Returns the translated events that the end of the stream completes, or null if there are none. */
  takeRest(): Uint8Array | null {
    return this.#take();
  }

  #take(): Uint8Array | null {
    const text = this.#encoder.take();
    return text === "" ? null : encoder.encode(text);
  }
}
