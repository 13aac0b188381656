// Inspects the strings of a JSON body in its bytes, up to the first string with code: nearly all bodies are clean, and are neither
// decoded nor copied as a whole.
import { isUtf8 } from "node:buffer";
import { JsonStrings } from "../../sdk/index.ts";
import { BACKSLASH } from "./char-codes.ts";
import { MAX_CLEAN_UNITS } from "./clean-strings.ts";
import { MIN_REMEMBERED_BYTES, type CleanTexts, type TextScan } from "./clean-texts.ts";
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
  return asBuffer(bytes).toString("latin1");
}

/** Bodies of requests are Buffers already. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
  const body = new JsonBytes(bytes, detector, onlyFirst, texts);
  return ranges === null ? body.stop() : body.stopIn(ranges);
}

/** The units of a string. Separate from the detector's buffer. */
const stringUnits = new CodeUnitBuffer();
const shortUnits = new Uint16Array(MAX_CLEAN_UNITS);

/** Long enough that looking up a section takes not much more time than hashing it. The last, shorter part of a body is no section. */
const MIN_SECTION_BYTES = 8192;
const SECTION_END = Buffer.from('"}');
/** A search takes 30 ns. */
const MAX_TRIES = 64;
/** Sections that are also remembered together: a lookup takes 1 to 2 µs, and hashing the bytes of a section again 0.5 µs. */
const SECTIONS_PER_GROUP = 4;
/** One of so many places where a section could end is its end. */
const PLACES_PER_END = 2;
const END_BYTES = 8;

/** A text of this size is looked up and remembered by itself wherever it is: hashing it takes little of the time of a scan. */
const LONG_TEXT_BYTES = 4096;
/** After so many new texts one after the other, the rest of a section is not looked up text by text: it is probably new, too. */
const NEW_TEXTS_IN_A_ROW = 2;

class JsonBytes implements TextScan<Finding[]> {
  readonly #bytes: Buffer;
  readonly #strings: JsonStrings;
  readonly #detector: Detector;
  readonly #onlyFirst: boolean;
  readonly #texts: CleanTexts | null;
  /** How many more new texts are looked up, of those that follow each other. */
  #newTextsLeft = Infinity;
  #mostNewTexts = Infinity;
  /** Where the sections that were inspected end. */
  #at = 0;
  #isAfterKnown = false;

  constructor(bytes: Uint8Array, detector: Detector, onlyFirst: boolean, texts: CleanTexts | null) {
    this.#bytes = asBuffer(bytes);
    this.#strings = new JsonStrings(this.#bytes);
    this.#detector = detector;
    this.#onlyFirst = onlyFirst;
    this.#texts = texts;
  }

  /** Inspects the body in groups of sections. Those that are known to be clean are not even searched for strings. */
  stop(): Stop | null {
    const bytes = this.#bytes;
    const texts = this.#texts;
    if (texts === null) return this.#stopInRange({ start: 0, end: bytes.length });
    // Where a known part ends, the next texts may be known: the last texts of a body are remembered by themselves.
    this.#isAfterKnown = true;
    let start = 0;
    for (let end; (end = groupEnd(bytes, start)) > 0;) {
      const group = texts.recallSection(bytes, start, end, this.#detector);
      if (group === undefined) {
        start = end;
        this.#isAfterKnown = true;
        continue;
      }
      const stop = this.#stopInSections(texts, start, end);
      if (stop !== null) return stop;
      if (this.#at === end) group.remember();
      start = this.#at;
    }
    return this.#stopInSections(texts, start, bytes.length) ?? this.#stopInRest();
  }

  /** Inspects the sections from `start` up to `limit`, and sets `#at` to the end of the last one. */
  #stopInSections(texts: CleanTexts, start: number, limit: number): Stop | null {
    const bytes = this.#bytes;
    this.#at = start;
    while (this.#at < limit) {
      const end = sectionEnd(bytes, this.#at);
      if (end < 0) return null;
      const section = texts.recallSection(bytes, this.#at, end, this.#detector);
      if (section === undefined) {
        this.#at = end;
        this.#isAfterKnown = true;
        continue;
      }
      this.#newTextsLeft = this.#mostNewTexts = this.#isAfterKnown ? NEW_TEXTS_IN_A_ROW : 0;
      const stop = this.#stopInRange({ start: this.#at, end });
      if (stop !== null) return stop;
      // Otherwise the quote before `end` began a string.
      const isSection = this.#strings.end === end - SECTION_END.length;
      if (isSection) section.remember();
      this.#at = isSection ? end : this.#strings.end + 1;
      this.#isAfterKnown = false;
    }
    return null;
  }

  /** Inspects what follows the last section. */
  #stopInRest(): Stop | null {
    this.#newTextsLeft = this.#mostNewTexts = Infinity;
    return this.#stopInRange({ start: this.#at, end: this.#bytes.length });
  }

  stopIn(ranges: readonly TextRange[]): Stop | null {
    for (const range of ranges) {
      const stop = this.#stopInRange(range);
      if (stop !== null) return stop;
    }
    return null;
  }

  #stopInRange(range: TextRange): Stop | null {
    const strings = this.#strings;
    while (strings.isNextIn(range) && strings.next()) {
      const { start, end } = strings;
      const findings = this.#findingsIn(start, end);
      if (findings !== null) return { start, findings };
      // The steps of known texts are checked at their end, so those of all others are, too.
      if (this.#texts !== null) this.#detector.countWork(0);
    }
    return strings.isInvalid ? { start: strings.start, findings: null } : null;
  }

  /** Returns null for a string that is clean or known to be. */
  #findingsIn(start: number, end: number): Finding[] | null {
    const texts = this.#texts;
    const size = end - start;
    if (texts === null || size < MIN_REMEMBERED_BYTES) return this.scan(start, end);
    if (this.#newTextsLeft === 0 && size < LONG_TEXT_BYTES) {
      texts.inspected++;
      return this.scan(start, end);
    }
    const inspectedBefore = texts.inspected;
    const findings = texts.inspect(this.#bytes, start, end, this.#detector, this);
    if (texts.inspected === inspectedBefore) this.#newTextsLeft = this.#mostNewTexts;
    else if (this.#newTextsLeft > 0) this.#newTextsLeft--;
    return findings;
  }

  /** Returns null for a clean string. */
  scan(start: number, end: number): Finding[] | null {
    if (end - start <= MAX_CLEAN_UNITS && copyPlain(this.#bytes, start, end, shortUnits))
      return this.#scan(shortUnits, end - start);
    if (this.#detector.isCleanJson(this.#bytes, start, end)) return null;
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

/**
 * Returns where the section that begins at `start` ends: after a string and the brace after it, such as the end of a message. -1 if there is no
 * further one. Whether a section ends at such a place depends on the bytes before it. So a conversation that is sent again has the same
 * sections, and after a change, for example without its first messages, it has the same ones again a few messages later.
 */
function sectionEnd(bytes: Buffer, start: number): number {
  let quote = bytes.indexOf(SECTION_END, start + MIN_SECTION_BYTES);
  for (let tries = 0; quote > 0; tries++) {
    // An escaped quote is inside of a string.
    const isEscaped = bytes[quote - 1] === BACKSLASH;
    if (!isEscaped && (isEnd(bytes, quote) || tries >= MAX_TRIES)) return quote + SECTION_END.length;
    if (tries >= MAX_TRIES) return -1;
    quote = bytes.indexOf(SECTION_END, quote + 1);
  }
  return -1;
}

/** Returns where the group of sections that begins at `start` ends; -1 if the body has fewer sections. */
function groupEnd(bytes: Buffer, start: number): number {
  let end = start;
  for (let count = 0; count < SECTIONS_PER_GROUP && end >= 0; count++) end = sectionEnd(bytes, end);
  return end;
}

/** Returns whether a section can end here: yes for one of PLACES_PER_END places, by a sum over the bytes before it. */
function isEnd(bytes: Uint8Array, quote: number): boolean {
  let sum = 0;
  for (let at = quote - END_BYTES; at < quote; at++) sum = Math.imul(sum, 31) + (bytes[at] ?? 0);
  return (Math.imul(sum, 0x9e3779b1) >>> 16) % PLACES_PER_END === 0;
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
