// The texts of a message on their way to a worker thread: one string and two arrays of numbers are passed many times faster than objects.
import type { ResultText } from "./inspect-result.ts";

export interface PackedTexts {
  readonly text: string;
  readonly lengths: Uint32Array;
  /** Sums of the flags below. */
  readonly kinds: Uint8Array;
}

const JSON_TEXT = 1;
const LIST = 2;
const DOCUMENT = 4;

export function packTexts(texts: readonly ResultText[]): PackedTexts {
  return {
    text: texts.map(({ text }) => text).join(""),
    lengths: Uint32Array.from(texts, ({ text }) => text.length),
    kinds: Uint8Array.from(texts, ({ isJson, isList, source }) => {
      return (isJson ? JSON_TEXT : 0) + (isList ? LIST : 0) + (source === "document" ? DOCUMENT : 0);
    }),
  };
}

export function* unpackTexts({ text, lengths, kinds }: PackedTexts): Generator<ResultText> {
  let start = 0;
  for (const [at, length] of lengths.entries()) {
    const kind = kinds[at] ?? 0;
    yield {
      text: text.slice(start, start + length),
      isJson: (kind & JSON_TEXT) !== 0,
      isList: (kind & LIST) !== 0,
      source: (kind & DOCUMENT) !== 0 ? "document" : "tool",
    };
    start += length;
  }
}
