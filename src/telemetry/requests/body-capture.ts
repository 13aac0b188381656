// The bodies of one request, for gateways that ask for them in the request log: cut, and through the redacting door.
import { redact } from "../log/redact.ts";

export const MAX_BODY_CHARACTERS = 16 * 1024;
/** More is taken than is shown: a secret that the cut divides would not be known as one. */
const MAX_TAKEN_BYTES = MAX_BODY_CHARACTERS + 8 * 1024;
const CUT_MARK = "…";
/** Shorter values stand in too many texts by chance. */
const SHORTEST_SECRET = 8;

export interface BodyTexts {
  readonly request: string;
  readonly response: string;
}

export class BodyCapture {
  readonly #request = new Taken();
  readonly #response = new Taken();
  readonly #secrets: string[] = [];
  #hasRequest = false;
  #texts: BodyTexts | null = null;

  constructor(requestEncoding: string | null) {
    this.#request.encoding = requestEncoding;
  }

  /** The first one counts: as the client sent it, before plugins change it. */
  takeRequest(bytes: Uint8Array | null): void {
    if (this.#hasRequest || bytes === null) return;
    this.#hasRequest = true;
    this.#request.take(bytes);
  }

  /** As it goes to the client, whole or chunk by chunk. */
  takeResponse(bytes: Uint8Array | string | null): void {
    if (bytes !== null) this.#response.take(typeof bytes === "string" ? Buffer.from(bytes) : bytes);
  }

  /** In which the response is that goes to the client; null: none. */
  set responseEncoding(encoding: string | null) {
    this.#response.encoding = encoding;
  }

  /** A credential of this request: a provider may repeat it in its answer. */
  hide(secret: string): void {
    if (secret.length >= SHORTEST_SECRET) this.#secrets.push(secret);
  }

  /** Made once; from then on nothing else is held. */
  texts(): BodyTexts {
    this.#texts ??= {
      request: this.#request.show(this.#secrets),
      response: this.#response.show(this.#secrets),
    };
    this.#secrets.length = 0;
    return this.#texts;
  }
}

class Taken {
  encoding: string | null = null;
  #chunks: Uint8Array[] = [];
  #held = 0;
  #total = 0;

  take(bytes: Uint8Array): void {
    this.#total += bytes.byteLength;
    const room = MAX_TAKEN_BYTES - this.#held;
    if (room <= 0) return;
    // A copy: what it was cut from may be large, and may be used again.
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
      // As JSON writes it, where that differs.
      text = text.replaceAll(JSON.stringify(secret).slice(1, -1), "***");
    }
    const clean = redact(text);
    const isCut = this.#total > this.#held || clean.length > MAX_BODY_CHARACTERS;
    return isCut ? clean.slice(0, MAX_BODY_CHARACTERS) + CUT_MARK : clean;
  }
}
