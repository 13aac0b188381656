// The tap on one answer: bytes pass, their usage is read, and the extra chunk of a stream is taken out where the
// gateway asked for it.
import type { BodyReader } from "../http/body-reader.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { UsageAccumulator, toUsage, type TokenCounts, type Usage } from "./usage.ts";
import { decodeBody, parseContentEncoding, type ContentEncoding } from "../http/content-encoding.ts";
import { StreamRecoder } from "../http/stream-recoder.ts";
import { usageInJson } from "./usage-in-json.ts";
import { StreamUsage } from "./stream-usage.ts";

/** Of a plain answer its end is enough, and small ones are kept whole; an encoded one must be all there. */
const MAX_PLAIN_BYTES = 256 * 1024;
const MAX_ENCODED_BYTES = 1024 * 1024;

/** The parts of a target's response that decide how its usage is read. */
interface TappedResponse {
  readonly response: UpstreamResponse;
  readonly body: Uint8Array | null;
  readonly reader: BodyReader | null;
  readonly isStream: boolean;
  readonly isDecoded: boolean;
  readonly isChat: boolean;
  readonly hidesUsage: boolean;
}

/** What passes on of some bytes. Only a stream that is encoded must be waited for. */
type Passing = Uint8Array | Promise<Uint8Array>;

const NOTHING = new Uint8Array(0);

/** A tap on an answer that cannot be read here: all of it passes, and nothing is told. */
export class UsageTap {
  protected readonly told = new UsageAccumulator();
  readonly #isChat: boolean;

  constructor(isChat: boolean) {
    this.#isChat = isChat;
  }

  push(chunk: Uint8Array): Passing {
    return chunk;
  }

  /** What was held back and passes on at the end of the answer. */
  end(): Passing {
    return NOTHING;
  }

  /** Instead of all of that, for an answer that is there whole: what passes on of it. */
  whole(body: Uint8Array): Uint8Array {
    return body;
  }

  /** What was held back and passes on where the answer broke off. */
  broken(): Uint8Array {
    return NOTHING;
  }

  /** Nothing more will come. */
  result(isComplete: boolean): Usage | null {
    return this.told.result(isComplete, this.#isChat);
  }
}

/** The usage of an answer that is in memory, read at once. */
export function usageOfWhole({ response, body, isDecoded }: TappedResponse): Usage | null {
  if (body === null || !response.ok) return null;
  const usage = isDecoded || isObject(body) ? usageInJson(body) : usageInEncoded(body, response);
  return usage === null ? null : toUsage(usage);
}

function usageInEncoded(body: Uint8Array, response: UpstreamResponse): TokenCounts | null {
  const encoding = parseContentEncoding(response.headers.get("content-encoding"));
  const decoded = typeof encoding === "string" ? null : decodeBody(body, encoding);
  return decoded !== null && isObject(decoded) ? usageInJson(decoded) : null;
}

/** Null where there is nothing to tap: an answer that is in memory or has no body, or is not a good one. */
export function tapResponse(answer: TappedResponse): UsageTap | null {
  const { response, isStream, isDecoded, isChat, hidesUsage, reader } = answer;
  if (reader === null || !response.ok) return null;
  const encoding = isDecoded ? "identity" : parseContentEncoding(response.headers.get("content-encoding"));
  if (encoding === "unsupported") return new UsageTap(isChat);
  if (!isStream) return new JsonTap(encoding, isChat);
  return encoding === "identity"
    ? new StreamTap(hidesUsage, isChat)
    : new EncodedStreamTap(encoding, hidesUsage, isChat);
}

class JsonTap extends UsageTap {
  readonly #encoding: ContentEncoding | "identity";
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isWhole = true;

  constructor(encoding: ContentEncoding | "identity", isChat: boolean) {
    super(isChat);
    this.#encoding = encoding;
  }

  override push(chunk: Uint8Array): Uint8Array {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    const most = this.#encoding === "identity" ? MAX_PLAIN_BYTES : MAX_ENCODED_BYTES;
    while (this.#bytes - (this.#chunks[0]?.byteLength ?? 0) >= most) {
      this.#bytes -= this.#chunks.shift()?.byteLength ?? 0;
      this.#isWhole = false;
    }
    return chunk;
  }

  override whole(body: Uint8Array): Uint8Array {
    this.push(body);
    return body;
  }

  override result(isComplete: boolean): Usage | null {
    const [only = NOTHING] = this.#chunks;
    const bytes = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : only;
    this.#chunks = [];
    // An answer that broke off does not end with its outermost object, and tells nothing.
    this.told.add(this.#read(bytes), true);
    return super.result(isComplete);
  }

  #read(bytes: Uint8Array): unknown {
    if (this.#encoding === "identity") return !this.#isWhole || isObject(bytes) ? usageInJson(bytes) : null;
    const decoded = this.#isWhole ? decodeBody(bytes, this.#encoding) : null;
    return decoded !== null && isObject(decoded) ? usageInJson(decoded) : null;
  }
}

/** Whether the first byte that is no blank opens a JSON object. */
function isObject(bytes: Uint8Array): boolean {
  let at = 0;
  while ((bytes[at] ?? 0x7b) <= 0x20) at++;
  return bytes[at] === 0x7b;
}

class StreamTap extends UsageTap {
  readonly #stream: StreamUsage;

  constructor(hidesUsage: boolean, isChat: boolean) {
    super(isChat);
    this.#stream = new StreamUsage(this.told, hidesUsage);
  }

  override push(chunk: Uint8Array): Passing {
    return this.#stream.push(chunk);
  }

  override end(): Passing {
    return this.#stream.rest();
  }

  override whole(body: Uint8Array): Uint8Array {
    return Buffer.concat([this.#stream.push(body), this.#stream.rest()]);
  }

  override broken(): Uint8Array {
    return this.#stream.broken();
  }
}

/** Decodes the stream aside. Only where a chunk is to be taken out does the client get it encoded anew. */
class EncodedStreamTap extends UsageTap {
  readonly #recoder: StreamRecoder;
  readonly #stream: StreamUsage;
  #changes: boolean;
  #isReadable = true;
  #hasBegun = false;

  constructor(encoding: ContentEncoding, hidesUsage: boolean, isChat: boolean) {
    super(isChat);
    this.#recoder = new StreamRecoder(encoding, hidesUsage);
    this.#stream = new StreamUsage(this.told, hidesUsage);
    this.#changes = hidesUsage;
  }

  override async push(chunk: Uint8Array): Promise<Uint8Array> {
    if (!this.#isReadable) return chunk;
    try {
      const passing = this.#stream.push(await this.#recoder.decode(chunk));
      return this.#changes ? await this.#recoder.encode(passing) : chunk;
    } catch (error) {
      // What has begun in one encoding cannot go on in another; what has not begun passes as it is.
      if (this.#changes && this.#hasBegun) throw error;
      this.#changes = false;
      this.#isReadable = false;
      return chunk;
    } finally {
      this.#hasBegun = true;
    }
  }

  override async end(): Promise<Uint8Array> {
    const rest = this.#stream.rest();
    if (!this.#changes) return NOTHING;
    return Buffer.concat([await this.#recoder.encode(rest), await this.#recoder.end()]);
  }

  override result(isComplete: boolean): Usage | null {
    this.#recoder.destroy();
    return super.result(isComplete);
  }
}
