// A small copy of a request body that is released while its response streams: the input of the request can still be estimated
// if the stream ends before its usage is reported.
import { isJsonObject } from "../base/json.ts";
import { tokensOfText } from "../formats/text-tokens.ts";
import { estimateRequestTokens } from "../formats/token-estimate.ts";

/** Bodies up to this size are kept whole. */
const MAX_WHOLE_BYTES = 2048;
/** Parts of a larger body that are kept, at equal distances. */
const PARTS = 8;
const PART_BYTES = 256;
/** Files in base64 are not read as text. All of them together count as one image. */
const BASE64_RUN = /[\w+/=-]{64,}/g;
const FILE_TOKENS = 800;

export class RequestSample {
  readonly #byteLength: number;
  readonly #parts: readonly Uint8Array[];

  constructor(bytes: Uint8Array) {
    this.#byteLength = bytes.byteLength;
    // Copies: the memory of the body is reused.
    this.#parts =
      bytes.byteLength <= MAX_WHOLE_BYTES
        ? [new Uint8Array(bytes)]
        : Array.from({ length: PARTS }, (_, index) => {
            const start = Math.floor(((bytes.byteLength - PART_BYTES) * index) / (PARTS - 1));
            return new Uint8Array(bytes.subarray(start, start + PART_BYTES));
          });
  }

  /** Returns the estimated input tokens of the request, whose body is a JSON object. */
  estimateTokens(): number {
    const texts = this.#parts.map((part) => Buffer.from(part).toString());
    return this.#byteLength <= MAX_WHOLE_BYTES ? tokensOfWhole(texts[0] ?? "") : this.#extrapolate(texts);
  }

  /** The first and the last part represent only themselves: the structure of a request is there, and files are not. */
  #extrapolate(texts: readonly string[]): number {
    const readable = texts.map((text) => text.replaceAll(BASE64_RUN, ""));
    const hasFile = readable.some((text, index) => text.length < (texts[index]?.length ?? 0));
    const [first = 0, ...others] = readable.map(tokensOfText);
    const last = others.pop() ?? 0;
    const inner = others.reduce((sum, tokens) => sum + tokens, 0);
    const innerShare = (this.#byteLength - 2 * PART_BYTES) / ((PARTS - 2) * PART_BYTES);
    return Math.ceil(first + last + inner * innerShare) + (hasFile ? FILE_TOKENS : 0);
  }
}

function tokensOfWhole(text: string): number {
  try {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) ? estimateRequestTokens(body) : 0;
  } catch {
    return 0;
  }
}
