// Creates a normalized text from another one by replacing and removing units. Records the source of each unit and the
// changed ranges: only there can a pattern match that did not match before.
import { FOLDED, isInClass, NEWLINE, REMOVED, SPECIAL_UNIT, UNIT_KIND, WHITESPACE } from "./char-classes.ts";
import type { NormalizedText } from "./normalized-text.ts";
import { scratchBufferFor, type ScratchBuffer } from "./scratch-buffer.ts";
import { checkWork } from "./work-budget.ts";

/** No pattern reads farther than this from its trigger, so a change has no effect beyond it. */
const MAX_PATTERN_REACH = 256;
/** Recording a change takes longer than reading a unit. */
const STEPS_PER_CHANGE = 8;
/** A JSON body can consist of many short strings, and each has its own rewriters. */
const STEPS_PER_REWRITER = 15;

export interface RewrittenText {
  readonly text: NormalizedText;
  /** Ranges that differ from the parent, extended by MAX_PATTERN_REACH on both sides: start, end, start, end, … */
  readonly changedRanges: readonly number[];
}

export class Rewriter {
  readonly #parent: NormalizedText;
  readonly #buffer: ScratchBuffer;
  readonly #codes: Uint16Array;
  readonly #changedRanges: number[] = [];
  /** The end of the last changed range, which is added when the next one starts: mostly it grows. */
  #rangeEnd = -1;
  #length = 0;
  /** Whether the next unit that is copied does not follow the source of the unit before it. */
  #isShifted = false;
  /** The parent's units before this position were copied, replaced or removed. */
  #done = 0;
  /** Number of the parent's special positions that were processed. */
  #specialsDone = 0;

  constructor(parent: NormalizedText, depth: number) {
    this.#parent = parent;
    parent.work.steps += STEPS_PER_REWRITER;
    this.#buffer = scratchBufferFor(parent.length, depth);
    this.#codes = this.#buffer.codes;
    // Every change replaces a special character, so there are not more than in the parent.
    this.#buffer.specials.reserve(parent.specials.count);
  }

  /** Replaces `from` up to `to` of the parent by one unit. Merges whitespace and removes invisible characters. */
  replace(code: number, from: number, to: number): void {
    this.#startChange(from, to);
    const folded = code > 0xffff ? 0xfffd : (FOLDED[code] ?? 0);
    if (folded === REMOVED) return;
    const previous = this.#length > 0 ? (this.#codes[this.#length - 1] ?? 0) : 0;
    if (isInClass(folded, WHITESPACE) && isInClass(previous, WHITESPACE)) {
      if (folded === NEWLINE) this.#codes[this.#length - 1] = NEWLINE;
      return;
    }
    this.#buffer.sourceMap.add(this.#length, from, to);
    if (UNIT_KIND[folded] === SPECIAL_UNIT) this.#buffer.specials.add(this.#length);
    this.#codes[this.#length++] = folded;
    this.#isShifted = false;
  }

  /** Removes units of the parent. */
  remove(from: number, to: number): void {
    this.#startChange(from, to);
  }

  /** Removes units of the parent where another variant has the same change: the range is not scanned again. */
  removeUnrecorded(from: number, to: number): void {
    this.#copyUpTo(from);
    this.#done = to;
    this.#isShifted = true;
  }

  finish(): RewrittenText {
    this.#copyUpTo(this.#parent.length);
    if (this.#rangeEnd >= 0) this.#changedRanges.push(this.#rangeEnd);
    const text = this.#buffer.finish(this.#length, this.#parent, this.#parent.work);
    return { text, changedRanges: this.#changedRanges };
  }

  #startChange(from: number, to: number): void {
    const { work } = this.#parent;
    work.steps += STEPS_PER_CHANGE;
    // No pattern is tried meanwhile, so check the limit here.
    checkWork(work);
    this.#copyUpTo(from);
    this.#done = to;
    this.#isShifted = true;
    const start = Math.max(0, this.#length - MAX_PATTERN_REACH);
    if (start > this.#rangeEnd) this.#startRange(start);
    this.#rangeEnd = this.#length + MAX_PATTERN_REACH;
  }

  #startRange(start: number): void {
    if (this.#rangeEnd >= 0) this.#changedRanges.push(this.#rangeEnd);
    this.#changedRanges.push(start);
  }

  /** Copies the units between two changes at once: nearly all text is unchanged. */
  #copyUpTo(end: number): void {
    const from = this.#done;
    if (end <= from) return;
    if (this.#isShifted) this.#buffer.sourceMap.add(this.#length, from, from + 1);
    this.#isShifted = false;
    this.#copySpecials(from, end);
    this.#parent.bytes.copy(this.#buffer.bytes, 2 * this.#length, 2 * from, 2 * end);
    this.#length += end - from;
    this.#done = end;
  }

  #copySpecials(from: number, end: number): void {
    const { positions, count } = this.#parent.specials;
    const { specials } = this.#buffer;
    const copied = specials.positions;
    const shift = this.#length - from;
    let next = this.#specialsDone;
    let copiedCount = specials.count;
    while (next < count) {
      const position = positions[next] ?? 0;
      if (position >= end) break;
      next++;
      if (position >= from) copied[copiedCount++] = position + shift;
    }
    this.#specialsDone = next;
    specials.count = copiedCount;
  }
}
