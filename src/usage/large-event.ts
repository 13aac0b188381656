// An event of a stream that is too large to be kept until it ends: only the members in which usage is reported are kept.
import { parseBounded } from "../base/bounded-json.ts";
import { indexOfByte } from "../base/byte-search.ts";
import { JsonOutline } from "./json-outline.ts";

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const DATA = "data";

export class LargeEvent {
  readonly #data = new JsonOutline();
  /** The start of the current line, up to the length of the name. */
  #name = "";
  #isInName = true;

  /** Call with the next bytes of the event. */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.byteLength) at = this.#isInName ? this.#readName(bytes, at) : this.#readLine(bytes, at);
  }

  /** Returns the data of the event without what was left out; null if it is no JSON object. */
  value(): unknown {
    try {
      return parseBounded(this.#data.take() ?? "null");
    } catch {
      return null;
    }
  }

  #readName(bytes: Uint8Array, at: number): number {
    const byte = bytes[at] ?? LF;
    if (byte === LF || byte === CR) this.#name = "";
    else if (byte === COLON || this.#name.length === DATA.length) this.#isInName = false;
    else this.#name += String.fromCharCode(byte);
    return at + 1;
  }

  #readLine(bytes: Uint8Array, from: number): number {
    const ends = [indexOfByte(bytes, LF, from), indexOfByte(bytes, CR, from)].filter((end) => end >= 0);
    const end = Math.min(bytes.byteLength, ...ends);
    if (this.#name === DATA) this.#data.push(bytes.subarray(from, end));
    if (ends.length > 0) {
      this.#name = "";
      this.#isInName = true;
    }
    return end;
  }
}
