// Parses a JSON value whose text is mostly the same as that of the value before, such as the model that requests name.
import { utf8Between } from "./byte-search.ts";

/** Longer texts are parsed every time: a client decides how long they are. */
const MAX_KEPT_BYTES = 100;

/** Parses values, and keeps the last one that is a string. */
export class LastJsonText {
  readonly #bytes = new Uint8Array(MAX_KEPT_BYTES);
  #length = 0;
  #text = "";

  /** Parses the bytes from `start` up to `end`, which must be valid JSON. */
  parse(bytes: Uint8Array, start: number, end: number): unknown {
    if (this.#isKept(bytes, start, end)) return this.#text;
    const value: unknown = JSON.parse(utf8Between(bytes, start, end));
    if (typeof value === "string" && end - start <= MAX_KEPT_BYTES) this.#keep(value, bytes, start, end);
    return value;
  }

  /** A loop, because comparing a dozen bytes costs less than a call into the runtime. */
  #isKept(bytes: Uint8Array, start: number, end: number): boolean {
    const kept = this.#bytes;
    const length = end - start;
    if (length !== this.#length) return false;
    for (let index = 0; index < length; index++) if (bytes[start + index] !== kept[index]) return false;
    return true;
  }

  #keep(text: string, bytes: Uint8Array, start: number, end: number): void {
    this.#bytes.set(bytes.subarray(start, end));
    this.#length = end - start;
    this.#text = text;
  }
}
