// JSON values that are passed on as they were written, because parsing and writing them again would keep the event loop busy.
import { utf8Between } from "./byte-search.ts";
import { isArrayAt, isObjectAt } from "./json-walk.ts";
import { isJsonObject, type JsonObject } from "./json.ts";

/** A value in its text. Only `writeExact` can write it. */
export class RawJson {
  readonly #pieces: readonly Uint8Array[];

  /** The pieces are one JSON value in UTF-8, without white space around it. */
  constructor(...pieces: readonly Uint8Array[]) {
    this.#pieces = pieces;
  }

  get bytes(): Uint8Array {
    const [only] = this.#pieces;
    return this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces);
  }

  get byteLength(): number {
    return this.#pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  }

  get isObject(): boolean {
    return this.#pieces[0] !== undefined && isObjectAt(this.#pieces[0], 0);
  }

  get isArray(): boolean {
    return this.#pieces[0] !== undefined && isArrayAt(this.#pieces[0], 0);
  }

  get text(): string {
    const { bytes } = this;
    return utf8Between(bytes, 0, bytes.byteLength);
  }

  toJSON(): string {
    if (written === null) throw new Error("raw JSON can only be written by writeExact");
    written.push(this.#pieces);
    return markOf(written.length - 1);
  }
}

/** Whether the value is an object whose members can be read. */
export function isParsedObject(value: unknown): value is JsonObject {
  return isJsonObject(value) && !(value instanceof RawJson);
}

/** The values that are being written, in order. */
let written: (readonly Uint8Array[])[] | null = null;

/** No text of a peer contains it. */
let mark = "";

function markOf(index: number): string {
  if (mark === "") mark = `raw ${crypto.randomUUID()} `;
  return `${mark}${index}`;
}

/** Returns the JSON that `stringify` returns: as bytes, with raw values in their places, if there are any. */
export function withRawJson(stringify: () => string): string | Uint8Array {
  written = [];
  try {
    const json = stringify();
    return written.length === 0 ? json : joined(json, written);
  } finally {
    written = null;
  }
}

function joined(json: string, values: readonly (readonly Uint8Array[])[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const [index, value] of values.entries()) {
    const found = `"${markOf(index)}"`;
    const at = json.indexOf(found, from);
    pieces.push(Buffer.from(json.slice(from, at)), ...value);
    from = at + found.length;
  }
  pieces.push(Buffer.from(json.slice(from)));
  return Buffer.concat(pieces);
}
