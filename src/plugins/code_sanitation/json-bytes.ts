// Inspects the strings of a JSON body in its bytes, up to the first string with code: nearly all bodies are clean, and are neither
// decoded nor copied as a whole.
import { isUtf8 } from "node:buffer";
import { JsonStrings } from "../../sdk/index.ts";
import { BACKSLASH } from "./char-codes.ts";
import { MAX_CLEAN_UNITS } from "./clean-strings.ts";
import { MIN_REMEMBERED_BYTES, type CleanTexts } from "./clean-texts.ts";
import type { Detector, Finding } from "./detector.ts";
import type { TextRange } from "./json-string-cursor.ts";
import { unescapedBuffer, unescapeUnits } from "./json-unescape.ts";
import { CodeUnitBuffer } from "./scratch-buffer.ts";

/** Where the inspection of the bytes stopped: all strings before are clean. */
interface Stop {
  /** The position of the first byte after the opening quote of a string. */
  readonly start: number;
  /** What was found in the string; null if it is not valid JSON, and was not inspected. */
  readonly findings: Finding[] | null;
}

/** Whether a body can be inspected in its bytes. A body in another encoding is inspected as text. */
export const isInspectable = isUtf8;

/** Returns the bytes as text with one character per byte, so that positions in it are positions in the bytes. */
export function asLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/**
 * Returns where the first string with code is, or null if all strings of the ranges are clean. `ranges` is null for the whole body.
 * `onlyFirst`: only one of the findings of the string is needed. `texts`: those that are known to be clean.
 */
export function stopInJson(
  bytes: Uint8Array,
  detector: Detector,
  ranges: readonly TextRange[] | null,
  onlyFirst: boolean,
  texts: CleanTexts | null,
): Stop | null {
  return new JsonBytes(bytes, detector, onlyFirst, texts).stopIn(ranges ?? [{ start: 0, end: bytes.length }]);
}

/** The units of a string. Separate from the detector's buffer. */
const stringUnits = new CodeUnitBuffer();
const shortUnits = new Uint16Array(MAX_CLEAN_UNITS);

class JsonBytes {
  readonly #bytes: Buffer;
  readonly #strings: JsonStrings;
  readonly #detector: Detector;
  readonly #onlyFirst: boolean;
  readonly #texts: CleanTexts | null;
  readonly #inspectString = (start: number, end: number) => this.#inspect(start, end);

  constructor(bytes: Uint8Array, detector: Detector, onlyFirst: boolean, texts: CleanTexts | null) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#strings = new JsonStrings(this.#bytes);
    this.#detector = detector;
    this.#onlyFirst = onlyFirst;
    this.#texts = texts;
  }

  stopIn(ranges: readonly TextRange[]): Stop | null {
    const strings = this.#strings;
    for (const range of ranges)
      while (strings.isNextIn(range) && strings.next()) {
        const { start, end } = strings;
        const findings =
          this.#texts === null || end - start < MIN_REMEMBERED_BYTES
            ? this.#inspect(start, end)
            : this.#texts.inspect(this.#bytes, start, end, this.#detector, this.#inspectString);
        if (findings !== null) return { start, findings };
      }
    return strings.isInvalid ? { start: strings.start, findings: null } : null;
  }

  /** Returns null for a clean string. */
  #inspect(start: number, end: number): Finding[] | null {
    if (end - start <= MAX_CLEAN_UNITS && copyPlain(this.#bytes, start, end, shortUnits))
      return this.#scan(shortUnits, end - start);
    const text = this.#bytes.toString("utf8", start, end);
    const units = stringUnits.read(text);
    if (!text.includes("\\")) return this.#scan(units, text.length);
    const unescaped = unescapedBuffer(text.length);
    return this.#scan(unescaped, unescapeUnits(units, 0, text.length, unescaped));
  }

  #scan(units: Uint16Array, length: number): Finding[] | null {
    if (this.#onlyFirst) {
      const finding = this.#detector.firstIn(units, 0, length);
      return finding === null ? null : [finding];
    }
    const findings = this.#detector.findAllIn(units, 0, length);
    return findings.length === 0 ? null : findings;
  }
}

/** Copies a string of ASCII characters without escapes; false for any other. */
function copyPlain(bytes: Uint8Array, start: number, end: number, units: Uint16Array): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x80 || byte === BACKSLASH) return false;
    units[at - start] = byte;
  }
  return true;
}
