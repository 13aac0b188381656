// Writes a view from another one: units are copied or replaced, where they came from is kept, and so is what changed,
// because only there can a grammar match what it did not match before.
import { BLANK, DROPPED, FOLD, isOf, NEWLINE } from "./char-classes.ts";
import { bufferFor, finishView, Origins, type View } from "./view.ts";

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
  readonly #codes: Uint16Array;
  readonly #origins = new Origins();
  readonly #windows: number[] = [];
  #length = 0;
  /** Up to where the parent was copied, replaced or left out. */
  #done = 0;

  constructor(parent: View, depth: number) {
    this.#parent = parent;
    this.#codes = bufferFor(parent.length, depth);
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
    this.#origins.add(this.#length, from, to);
    this.#codes[this.#length++] = folded;
  }

  /** Leaves out units of the parent. */
  drop(from: number, to: number): void {
    this.#change(from, to);
  }

  /** Null when nothing was changed. */
  finish(): Rewritten | null {
    if (this.#windows.length === 0) return null;
    this.#copyUpTo(this.#parent.length);
    const view = finishView(this.#codes, this.#length, this.#origins, this.#parent);
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
    if (this.#windows.length > 0) this.#origins.add(this.#length, from, from + 1);
    if (end - from < SHORT_PIECE) {
      for (let index = from; index < end; index++)
        this.#codes[this.#length++] = this.#parent.codes[index] ?? 0;
    } else {
      this.#codes.set(this.#parent.codes.subarray(from, end), this.#length);
      this.#length += end - from;
    }
    this.#done = end;
  }
}
