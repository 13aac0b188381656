// A view: one reading of a text as code units, and the way back from each unit to the characters it was read from.
import { DROPPED, FOLD, KIND, MARKED_UNIT, NEWLINE, PLAIN_UNIT, SPACE } from "./char-classes.ts";

/** Zeroes behind the last unit, so that a grammar may look a few units past the end. */
const PADDING = 8;
/** Up to this many units views live in buffers that are used again; a scan is synchronous and keeps none of them. */
const SCRATCH_UNITS = 1 << 16;

/** Counts what a scan does, so that a test can prove that the work grows with the text and with nothing else. */
export interface WorkCounter {
  steps: number;
}

export interface View {
  readonly codes: Uint16Array;
  readonly length: number;
  readonly work: WorkCounter;
  /** The view this one was read from; null for the first, which was read from the text itself. */
  readonly parent: View | null;
  readonly origins: Origins;
  /** Where the units stand that a further reading may take out; it need not look at the others. */
  readonly marks: Marks;
}

/** Positions in ascending order. */
export class Marks {
  positions = new Int32Array(64);
  count = 0;

  add(position: number): void {
    if (this.count === this.positions.length) {
      const larger = new Int32Array(this.count * 2);
      larger.set(this.positions);
      this.positions = larger;
    }
    this.positions[this.count++] = position;
  }
}

/** The unit at a position, 0 outside the view. */
export function unitAt(view: View, index: number): number {
  return index < 0 || index >= view.length ? 0 : (view.codes[index] as number);
}

/** Where the units from `first` up to `end` of a view stand in the text. */
export function originalSpan(view: View, first: number, end: number): { start: number; end: number } {
  let start = first;
  let last = end - 1;
  let stop = end;
  for (let reading: View | null = view; reading !== null; reading = reading.parent) {
    start = reading.origins.startOf(start);
    stop = reading.origins.endOf(last);
    last = stop - 1;
  }
  return { start, end: stop };
}

/**
 * Where units come from, one level down. Only what differs from one-to-one is recorded, so that clean text costs nothing:
 * each entry opens a stretch of units that follow each other below too, except that its first unit may span several.
 */
export class Origins {
  #entries: Int32Array = new Int32Array(0);
  #count = 0;

  /** The unit at `index` was read from `from` up to `to`; those after it follow one by one. */
  add(index: number, from: number, to: number): void {
    if (this.#count + 3 > this.#entries.length) {
      const larger = new Int32Array(Math.max(192, this.#entries.length * 2));
      larger.set(this.#entries);
      this.#entries = larger;
    }
    this.#entries[this.#count] = index;
    this.#entries[this.#count + 1] = from;
    this.#entries[this.#count + 2] = to;
    this.#count += 3;
  }

  startOf(index: number): number {
    const entry = this.#entryOf(index);
    if (entry < 0) return index;
    const offset = index - this.#at(entry);
    return offset === 0 ? this.#at(entry + 1) : this.#at(entry + 2) + offset - 1;
  }

  endOf(index: number): number {
    const entry = this.#entryOf(index);
    return entry < 0 ? index + 1 : this.#at(entry + 2) + index - this.#at(entry);
  }

  #at(offset: number): number {
    return this.#entries[offset] ?? 0;
  }

  /** The last entry at or before a unit, or -1. */
  #entryOf(index: number): number {
    let low = 0;
    let high = this.#count / 3;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle * 3) <= index) low = middle + 1;
      else high = middle;
    }
    return (low - 1) * 3;
  }
}

const scratch: Uint16Array[] = [];

/** A buffer for a view of at most `units`; `depth` tells apart the views that live at the same time. */
export function bufferFor(units: number, depth: number): Uint16Array {
  if (units > SCRATCH_UNITS) return new Uint16Array(units + PADDING);
  return (scratch[depth] ??= new Uint16Array(SCRATCH_UNITS + PADDING));
}

/** A view of units that were read from another one. */
export function finishView(codes: Uint16Array, length: number, origins: Origins, parent: View): View {
  const marks = new Marks();
  for (let index = 0; index < length; index++) {
    if (KIND[codes[index] as number] === MARKED_UNIT) marks.add(index);
  }
  codes.fill(0, length, Math.min(codes.length, length + PADDING));
  return { codes, length, work: parent.work, parent, origins, marks };
}

/** The first view: wide forms as ASCII, what cannot be seen left out, a run of blanks as one. */
export function readText(text: string, work: WorkCounter): View {
  const codes = bufferFor(text.length, 0);
  const origins = new Origins();
  const marks = new Marks();
  const end = text.length;
  let length = 0;
  for (let index = 0; index < end; index++) {
    const code = text.charCodeAt(index);
    const kind = KIND[code] as number;
    if (kind === PLAIN_UNIT) {
      codes[length++] = code;
      continue;
    }
    const folded = FOLD[code] as number;
    if (folded > SPACE) {
      if (KIND[folded] === MARKED_UNIT) marks.add(length);
      codes[length++] = folded;
      continue;
    }
    const next = endOfGap(text, index + 1);
    const merged = next === index + 1 ? folded : mergeBlanks(text, index, next);
    if (merged !== DROPPED) {
      codes[length] = merged;
      if (next > index + 1) origins.add(length, index, next);
      length++;
    } else if (next < end) {
      // What was dropped belongs to nobody; the unit after it starts a new stretch.
      origins.add(length, next, next + 1);
    }
    index = next - 1;
  }
  codes.fill(0, length, Math.min(codes.length, length + PADDING));
  return { codes, length, work, parent: null, origins, marks };
}

/** Where blanks and what cannot be seen end. */
function endOfGap(text: string, from: number): number {
  let next = from;
  while (next < text.length && (FOLD[text.charCodeAt(next)] as number) <= SPACE) next++;
  return next;
}

/** What a gap is read as: a newline if one is in it, else a blank if one is, else nothing. */
function mergeBlanks(text: string, from: number, to: number): number {
  let merged = DROPPED;
  for (let index = from; index < to; index++) {
    const folded = FOLD[text.charCodeAt(index)] as number;
    if (folded === NEWLINE) return NEWLINE;
    if (folded === SPACE) merged = SPACE;
  }
  return merged;
}
