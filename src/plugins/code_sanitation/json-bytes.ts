// Inspects the strings of a JSON body in its bytes, up to the first string with code: nearly all bodies are clean, and are neither
// decoded nor copied as a whole.
import { isUtf8 } from "node:buffer";
import { JsonStrings } from "../../sdk/index.ts";
import { BACKSLASH } from "./char-codes.ts";
import { MAX_CLEAN_UNITS } from "./clean-strings.ts";
import { MIN_REMEMBERED_BYTES, type CleanTexts, type TextCounts, type TextScan } from "./clean-texts.ts";
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

/** Returns the bytes as text with one character per byte, so that positions in it are positions in the bytes. */
export function asLatin1(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("latin1");
}

/** Bodies of requests are Buffers already. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The units of a string. Separate from the detector's buffer. */
const stringUnits = new CodeUnitBuffer();
const shortUnits = new Uint16Array(MAX_CLEAN_UNITS);

/** Long enough that looking up a section takes not much more time than hashing it. The last, shorter part of a body is no section. */
const MIN_SECTION_BYTES = 8192;
const SECTION_END = Buffer.from('"}');
/** A search takes 30 ns. */
const MAX_TRIES = 64;
/** So many more sections than a known run has make a new one: looking up a section takes 1 to 2 µs, and hashing 100 kB for the run 7 µs. */
const NEW_SECTIONS_PER_RUN = 4;
/** The size of a run, which has at most MAX_RUN_SECTIONS. */
const MAX_RUN_BYTES = 512 * 1024;
const MAX_RUN_SECTIONS = MAX_RUN_BYTES / MIN_SECTION_BYTES;
/** One of so many places where a section could end is its end. */
const PLACES_PER_END = 2;
const END_BYTES = 8;

/** A text of this size is looked up and remembered by itself wherever it is: hashing it takes little of the time of a scan. */
const LONG_TEXT_BYTES = 4096;
/** After so many new texts one after the other, the rest of a section is not looked up text by text: it is probably new, too. */
const NEW_TEXTS_IN_A_ROW = 2;

/** Inspects the strings of one body. `onlyFirst`: only one of the findings of a string is needed. `texts`: those that are known to be clean. */
export class JsonBytes implements TextScan<Finding[]> {
  readonly #bytes: Buffer;
  readonly #strings: JsonStrings;
  readonly #detector: Detector;
  readonly #onlyFirst: boolean;
  readonly #texts: CleanTexts | null;
  /** How many more new texts are looked up, of those that follow each other. */
  #newTextsLeft = Infinity;
  #mostNewTexts = Infinity;
  /** Where the sections that are known or were inspected end. */
  #at = 0;
  /** Where a known part ends, the next texts may be known: the last texts of a body are remembered by themselves. */
  #isAfterKnown = true;
  /** What is remembered of the sections up to `#at`; -1 if they are no known run. */
  #knownRun = -1;

  constructor(bytes: Uint8Array, detector: Detector, onlyFirst: boolean, texts: CleanTexts | null) {
    this.#bytes = asBuffer(bytes);
    this.#strings = new JsonStrings(this.#bytes);
    this.#detector = detector;
    this.#onlyFirst = onlyFirst;
    this.#texts = texts;
  }

  /** Returns whether the body can be inspected in its bytes: one in another encoding is inspected as text. Call it before `stop`. */
  isUtf8(): boolean {
    if (this.#texts !== null) this.#skipKnownRun(this.#texts);
    // What is known was valid, and ends with an ASCII character.
    return isUtf8(this.#at === 0 ? this.#bytes : this.#bytes.subarray(this.#at));
  }

  /** Sets `#at` to the end of the longest run that may be known, if it is. */
  #skipKnownRun(texts: CleanTexts): void {
    const bytes = this.#bytes;
    let longest = 0;
    let end = sectionEnd(bytes, 0);
    for (let count = 0; end > 0 && count < MAX_RUN_SECTIONS; count++) {
      if (texts.mayBeRun(bytes, end)) longest = end;
      end = sectionEnd(bytes, end);
    }
    if (longest > 0) this.#knownRun = texts.recallRun(bytes, longest);
    if (this.#knownRun >= 0) this.#at = longest;
  }

  /**
   * Returns where the first string with code is, or null if all strings are clean. Sections that are known to be clean are not even searched for
   * strings.
   */
  stop(): Stop | null {
    const texts = this.#texts;
    if (texts === null) return this.#stopInRange({ start: 0, end: this.#bytes.length });
    const before = texts.counts(this.#detector);
    if (this.#knownRun >= 0) texts.countSection(this.#knownRun, this.#at, this.#detector);
    return this.#stopInSections(texts, before) ?? this.#stopInRest();
  }

  /** Inspects the sections after the known run, and sets `#at` to the end of the last one. `before`: what was counted before the body. */
  #stopInSections(texts: CleanTexts, before: TextCounts): Stop | null {
    const bytes = this.#bytes;
    let runSections = 0;
    for (let end; (end = sectionEnd(bytes, this.#at)) > 0;) {
      if (end > MAX_RUN_BYTES) {
        this.#rememberRun(texts, runSections, before);
        runSections = -Infinity;
      }
      const section = texts.recallSection(bytes, this.#at, end, this.#detector);
      let isSection = true;
      if (section !== undefined) {
        this.#newTextsLeft = this.#mostNewTexts = this.#isAfterKnown ? NEW_TEXTS_IN_A_ROW : 0;
        const stop = this.#stopInRange({ start: this.#at, end });
        if (stop !== null) return stop;
        // Otherwise the quote before `end` began a string.
        isSection = this.#strings.end === end - SECTION_END.length;
        if (isSection) section.remember();
      }
      this.#at = isSection ? end : this.#strings.end + 1;
      this.#isAfterKnown = section === undefined;
      runSections = isSection ? runSections + 1 : -Infinity;
    }
    this.#rememberRun(texts, runSections, before);
    return null;
  }

  /** `sections`: the number of those after the known run. */
  #rememberRun(texts: CleanTexts, sections: number, before: TextCounts): void {
    if (sections >= NEW_SECTIONS_PER_RUN) texts.rememberRun(this.#bytes, this.#at, before, this.#detector);
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
