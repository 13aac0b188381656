// Captures the bodies of one request for gateways with `log_bodies`: truncated and redacted.
import { redact } from "../log/redact.ts";

export const MAX_BODY_CHARACTERS = 16 * 1024;
/** More is captured than is shown, because a secret that the cut divides would not be recognized. */
const MAX_CAPTURED_BYTES = MAX_BODY_CHARACTERS + 8 * 1024;
const CUT_MARK = "…";
/** Shorter values occur in too many texts by chance. */
const SHORTEST_SECRET = 8;

interface BodyTexts {
  readonly request: string;
  readonly response: string;
}

export class BodyCapture {
  readonly #request = new CapturedBody();
  readonly #response = new CapturedBody();
  readonly #secrets: string[] = [];
  #hasRequest = false;
  #texts: BodyTexts | null = null;

  constructor(requestEncoding: string | null) {
    this.#request.encoding = requestEncoding;
  }

  /** Only the first call counts: the body as the client sent it, before plugins change it. */
  takeRequest(bytes: Uint8Array | null): void {
    if (this.#hasRequest || bytes === null) return;
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

  /** Creates the texts on the first call and releases the captured bytes. */
  texts(): BodyTexts {
    this.#texts ??= {
      request: this.#request.show(this.#secrets),
      response: this.#response.show(this.#secrets),
    };
    this.#secrets.length = 0;
    return this.#texts;
  }
}

class CapturedBody {
  encoding: string | null = null;
  #chunks: Uint8Array[] = [];
  #held = 0;
  #total = 0;

  take(bytes: Uint8Array): void {
    this.#total += bytes.byteLength;
    const room = MAX_CAPTURED_BYTES - this.#held;
    if (room <= 0) return;
    // A copy: the source buffer may be large and may be reused.
    const part = bytes.slice(0, room);
    this.#held += part.byteLength;
    this.#chunks.push(part);
  }

  show(secrets: readonly string[]): string {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (this.encoding !== null && this.encoding !== "identity" && this.#total > 0)
      return `(${this.#total} bytes in ${this.encoding})`;
    let text = bytes.toString();
    for (const secret of secrets) {
      text = text.replaceAll(secret, "***");
      // In its JSON-escaped form, where that differs.
      text = text.replaceAll(JSON.stringify(secret).slice(1, -1), "***");
    }
    const clean = redact(text);
    const isCut = this.#total > this.#held || clean.length > MAX_BODY_CHARACTERS;
    return isCut ? clean.slice(0, MAX_BODY_CHARACTERS) + CUT_MARK : clean;
  }
}
