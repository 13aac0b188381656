// Writes a view from another one: units are copied or replaced, where they came from is kept, and so is what changed,
// because only there can a grammar match what it did not match before.
import { BLANK, DROPPED, FOLD, isOf, KIND, MARKED_UNIT, NEWLINE } from "./char-classes.ts";
import { sheetFor, viewOf, type Sheet, type View } from "./view.ts";

/** No grammar looks farther than this from its trigger, so a change cannot matter beyond it. */
export const REACH = 256;
/** Below this a loop copies faster than a native call. */
const SHORT_PIECE = 32;

/** A view, and the stretches of it (start, end, start, end, …) that differ from its parent, REACH around included. */
export interface Rewritten {
  readonly view: View;
  readonly windows: readonly number[];
}

export class Rewriter {
  readonly #parent: View;
  readonly #sheet: Sheet;
  readonly #codes: Uint16Array;
  readonly #windows: number[] = [];
  #length = 0;
  /** Up to where the parent was copied, replaced or left out. */
  #done = 0;
  /** How many of the parent's marks are done with. */
  #marksDone = 0;

  constructor(parent: View, depth: number) {
    this.#parent = parent;
    this.#sheet = sheetFor(parent.length, depth);
    this.#codes = this.#sheet.codes;
  }

  /** Writes what `from` up to `to` of the parent stands for; blanks merge, what cannot be seen is left out. */
  replace(code: number, from: number, to: number): void {
    this.#change(from, to);
    const folded = code > 0xffff ? 0xfffd : (FOLD[code] ?? 0);
    if (folded === DROPPED) return;
    if (isOf(folded, BLANK) && this.#length > 0 && isOf(this.#codes[this.#length - 1] ?? 0, BLANK)) {
      if (folded === NEWLINE) this.#codes[this.#length - 1] = NEWLINE;
      return;
    }
    this.#sheet.origins.add(this.#length, from, to);
    if (KIND[folded] === MARKED_UNIT) this.#sheet.marks.add(this.#length);
    this.#codes[this.#length++] = folded;
  }

  /** Leaves out units of the parent. */
  drop(from: number, to: number): void {
    this.#change(from, to);
  }

  finish(): Rewritten {
    this.#copyUpTo(this.#parent.length);
    const view = viewOf(this.#sheet, this.#length, this.#parent, this.#parent.work);
    return { view, windows: this.#windows };
  }

  #change(from: number, to: number): void {
    this.#copyUpTo(from);
    this.#done = to;
    const last = this.#windows.length - 1;
    const start = Math.max(0, this.#length - REACH);
    if (last > 0 && start <= (this.#windows[last] ?? 0)) this.#windows[last] = this.#length + REACH;
    else this.#windows.push(start, this.#length + REACH);
  }

  /** What lies between two changes goes over in one piece: nearly all text is such a piece. */
  #copyUpTo(end: number): void {
    const from = this.#done;
    if (end <= from) return;
    if (this.#windows.length > 0) this.#sheet.origins.add(this.#length, from, from + 1);
    this.#copyMarks(from, end);
    if (end - from < SHORT_PIECE) {
      for (let index = from; index < end; index++)
        this.#codes[this.#length++] = this.#parent.codes[index] ?? 0;
    } else {
      this.#codes.set(this.#parent.codes.subarray(from, end), this.#length);
      this.#length += end - from;
    }
    this.#done = end;
  }

  /** The units that were marked in the parent are marked here too. */
  #copyMarks(from: number, end: number): void {
    const { positions, count } = this.#parent.marks;
    const shift = this.#length - from;
    let mark = this.#marksDone;
    while (mark < count && (positions[mark] as number) < end) {
      const position = positions[mark++] as number;
      if (position >= from) this.#sheet.marks.add(position + shift);
    }
    this.#marksDone = mark;
  }
}
