// A view: one reading of a text as code units, and the way back from each unit to the characters it was read from.
import {
  BLANK_UNIT,
  DROPPED,
  FOLD,
  FOLDED_UNIT,
  KIND,
  MARKED_UNIT,
  NEWLINE,
  PLAIN_UNIT,
  SPACE,
} from "./char-classes.ts";

/** Zeroes behind the last unit, so that a grammar may look a few units past the end. */
const PADDING = 8;
/** Up to this many units views are written on sheets that are used again; a scan is synchronous and keeps none of them. */
const SCRATCH_UNITS = 1 << 20;
const SMALLEST_SCRATCH = 1 << 12;

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

  clear(): void {
    this.#count = 0;
  }

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

/** A text as its code units, which lie there until another is read at the same place. */
export class TextUnits {
  codes = new Uint16Array(0);
  /** The same memory as bytes: a string is copied into it natively. */
  #bytes = Buffer.alloc(0);

  read(text: string): Uint16Array {
    if (text.length > this.codes.length) this.#grow(text.length);
    this.#bytes.write(text, "utf16le");
    const units = this.codes;
    // Those of a very long text are not kept.
    if (units.length > SCRATCH_UNITS) this.#grow(0);
    return units;
  }

  #grow(least: number): void {
    this.codes = new Uint16Array(least === 0 ? 0 : roundedUp(least));
    this.#bytes = Buffer.from(this.codes.buffer);
  }
}

/** What a view is written on, and then the view itself. */
export class Sheet implements View {
  readonly codes: Uint16Array;
  readonly origins = new Origins();
  readonly marks = new Marks();
  length = 0;
  parent: View | null = null;
  work: WorkCounter = { steps: 0 };

  constructor(units: number) {
    this.codes = new Uint16Array(units + PADDING);
  }
}

const scratch: (Sheet | undefined)[] = [];

/** A sheet for a view of at most `units`; `depth` tells apart the views that live at the same time. */
export function sheetFor(units: number, depth: number): Sheet {
  if (units > SCRATCH_UNITS) return new Sheet(units);
  let sheet = scratch[depth];
  if (sheet === undefined || sheet.codes.length < units + PADDING)
    scratch[depth] = sheet = new Sheet(roundedUp(units));
  sheet.origins.clear();
  sheet.marks.count = 0;
  return sheet;
}

/** A scan is over: a sheet that is used again must not hold on to one of a very long text. */
export function forgetParents(): void {
  for (const sheet of scratch) if (sheet !== undefined) sheet.parent = null;
}

/** The sizes of what is used again: doubled from a small one, so that growing is rare. */
function roundedUp(units: number): number {
  let size = SMALLEST_SCRATCH;
  while (size < units) size *= 2;
  return size;
}

/** The view that a sheet's first `length` units are. */
export function viewOf(sheet: Sheet, length: number, parent: View | null, work: WorkCounter): View {
  const { codes } = sheet;
  // By hand: for eight units a call into the runtime costs more than the writing.
  const end = Math.min(codes.length, length + PADDING);
  for (let index = length; index < end; index++) codes[index] = 0;
  sheet.length = length;
  sheet.parent = parent;
  sheet.work = work;
  return sheet;
}

/** The first view of the units from `start` to `end`: wide forms as ASCII, what cannot be seen left out, a run of blanks as one. */
export function readUnits(units: Uint16Array, start: number, end: number, work: WorkCounter): View {
  const sheet = sheetFor(end - start, 0);
  const { codes, origins, marks } = sheet;
  let length = 0;
  let last = PLAIN_UNIT;
  for (let index = start; index < end; index++) {
    const code = units[index] as number;
    const kind = KIND[code] as number;
    // Nearly all units stand for themselves: a blank too, unless it follows another one.
    if ((kind & (last | MARKED_UNIT | FOLDED_UNIT)) === 0) {
      codes[length++] = code;
      last = kind;
      continue;
    }
    const folded = FOLD[code] as number;
    if (folded > SPACE) {
      if (KIND[folded] === MARKED_UNIT) marks.add(length);
      codes[length++] = folded;
      last = PLAIN_UNIT;
      continue;
    }
    // A gap; the blank it opens with may be written already.
    const from = last === BLANK_UNIT ? index - 1 : index;
    if (from < index) length--;
    const next = endOfGap(units, index + 1, end);
    const merged = mergeBlanks(units, from, next);
    if (merged !== DROPPED) {
      codes[length] = merged;
      if (next > from + 1) origins.add(length, from - start, next - start);
      length++;
    } else if (next < end) {
      // What was dropped belongs to nobody; the unit after it starts a new stretch.
      origins.add(length, next - start, next - start + 1);
    }
    last = PLAIN_UNIT;
    index = next - 1;
  }
  return viewOf(sheet, length, null, work);
}

/** Where blanks and what cannot be seen end. */
function endOfGap(units: Uint16Array, from: number, end: number): number {
  let next = from;
  while (next < end && (FOLD[units[next] as number] as number) <= SPACE) next++;
  return next;
}

/** What a gap is read as: a newline if one is in it, else a blank if one is, else nothing. */
function mergeBlanks(units: Uint16Array, from: number, to: number): number {
  let merged = DROPPED;
  for (let index = from; index < to; index++) {
    const folded = FOLD[units[index] as number] as number;
    if (folded === NEWLINE) return NEWLINE;
    if (folded === SPACE) merged = SPACE;
  }
  return merged;
}
