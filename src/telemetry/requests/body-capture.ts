// Captures the bodies of one request for gateways with `log_bodies`: decoded, truncated and redacted.
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import { parseContentEncoding } from "../../http/content-encoding.ts";
import { decodePrefix } from "../../http/decode-prefix.ts";
import { redact } from "../log/redact.ts";

export const MAX_BODY_CHARACTERS = 16 * 1024;
/** More is captured than is shown, because a secret that the cut divides would not be recognized. */
const MAX_CAPTURED_BYTES = MAX_BODY_CHARACTERS + 8 * 1024;
const CUT_MARK = "…";
/** Shorter values occur in too many texts by chance. */
const SHORTEST_SECRET = 8;

export interface BodyTexts {
  readonly request: string;
  readonly response: string;
}

export class BodyCapture {
  readonly #request = new CapturedBody();
  readonly #response = new CapturedBody();
  readonly #secrets: string[] = [];
  #hasRequest = false;
  /** The request is captured after the plugins: they mask values that must not be logged. */
  isRequestWithheld = false;

  constructor(requestEncoding: string | null) {
    this.#request.encoding = requestEncoding;
  }

  /** Only the first call counts: the body as the client sent it, before plugins change it, unless it is withheld until then. */
  takeRequest(bytes: Uint8Array | null): void {
    if (this.#hasRequest || this.isRequestWithheld || bytes === null) return;
    this.#hasRequest = true;
    this.#request.take(bytes);
  }

  /** Captures the body as it is sent to the client, whole or chunk by chunk. */
  takeResponse(bytes: Uint8Array | string | null): void {
    if (bytes !== null) this.#response.take(typeof bytes === "string" ? Buffer.from(bytes) : bytes);
  }

  /** Content encoding of the response to the client; null if it has none. */
  set responseEncoding(encoding: string | null) {
    this.#response.encoding = encoding;
  }

  /** Removes a credential of this request from the texts: a provider may repeat it in its response. */
  hide(secret: string): void {
    if (secret.length >= SHORTEST_SECRET) this.#secrets.push(secret);
  }

  /** Creates the texts of bodies that need no decoding and releases their bytes. */
  redactPlain(): void {
    const isRequestShown = this.#request.redactPlain(this.#secrets);
    if (this.#response.redactPlain(this.#secrets) && isRequestShown) this.#secrets.length = 0;
  }

  /** Decodes encoded bodies on the first call: most records of a log are never read. */
  texts(): ValueOrPromise<BodyTexts> {
    this.redactPlain();
    const { text: request } = this.#request;
    const { text: response } = this.#response;
    return request === null || response === null ? this.#decode() : { request, response };
  }

  async #decode(): Promise<BodyTexts> {
    const [request, response] = await Promise.all([
      this.#request.decode(this.#secrets),
      this.#response.decode(this.#secrets),
    ]);
    this.#secrets.length = 0;
    return { request, response };
  }
}

class CapturedBody {
  encoding: string | null = null;
  /** Null before the body is decoded, if it is encoded, and redacted. */
  text: string | null = null;
  #chunks: Uint8Array[] = [];
  #held = 0;
  #total = 0;
  #decoding: Promise<string> | null = null;

  take(bytes: Uint8Array): void {
    this.#total += bytes.byteLength;
    const room = MAX_CAPTURED_BYTES - this.#held;
    if (room <= 0) return;
    // A copy: the source buffer may be large and may be reused. Not slice(), which is a view of a Buffer.
    const part = new Uint8Array(bytes.subarray(0, room));
    this.#held += part.byteLength;
    this.#chunks.push(part);
  }

  /** Returns whether there is a text: the body is not encoded, was decoded before, or cannot be decoded. */
  redactPlain(secrets: readonly string[]): boolean {
    if (this.text !== null) return true;
    const encoding = this.#total === 0 ? "identity" : parseContentEncoding(this.encoding);
    if (encoding === "identity") this.text = clean(this.#release(), secrets, this.#total > this.#held);
    else if (encoding === "unsupported") {
      this.#release();
      this.text = this.#sizeText();
    }
    return this.text !== null;
  }

  async decode(secrets: readonly string[]): Promise<string> {
    if (this.text !== null) return this.text;
    this.#decoding ??= this.#decodeOnce(secrets);
    return (this.text = await this.#decoding);
  }

  async #decodeOnce(secrets: readonly string[]): Promise<string> {
    const encoding = parseContentEncoding(this.encoding);
    if (typeof encoding === "string") return this.#sizeText();
    const { bytes, end } = await decodePrefix(this.#release(), encoding, {
      isWhole: this.#total === this.#held,
      maxBytes: MAX_CAPTURED_BYTES,
    });
    if (bytes.length === 0 && end !== "complete") return this.#sizeText(end);
    const text = clean(bytes, secrets, end !== "complete");
    return end === "invalid" ? `${text} (the rest of ${this.#size} cannot be decoded)` : text;
  }

  /** A decoder may need more than the captured bytes to return anything. */
  #sizeText(end: "cut" | "invalid" = "cut"): string {
    return end === "cut" ? `(${this.#size})` : `(${this.#size} that cannot be decoded)`;
  }

  get #size(): string {
    return `${this.#total} bytes in ${this.encoding}`;
  }

  #release(): Buffer {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return bytes;
  }
}

function clean(bytes: Buffer, secrets: readonly string[], isCut: boolean): string {
  let text = bytes.toString();
  for (const secret of secrets) {
    text = text.replaceAll(secret, "***");
    // In its JSON-escaped form, where that differs.
    text = text.replaceAll(JSON.stringify(secret).slice(1, -1), "***");
  }
  const redacted = redact(text);
  return isCut || redacted.length > MAX_BODY_CHARACTERS
    ? redacted.slice(0, MAX_BODY_CHARACTERS) + CUT_MARK
    : redacted;
}
