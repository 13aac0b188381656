// A normalized text: the code units that matchers read, and the mapping back to the characters of the original text.
import type { SourceMap } from "./source-map.ts";
import type { WorkCounter } from "./work-budget.ts";

export interface NormalizedText {
  readonly codes: Uint16Array;
  /** The memory of `codes`. Copying a part of it needs no object for the part. */
  readonly bytes: Buffer;
  readonly length: number;
  readonly work: WorkCounter;
  /** The text that this one was created from by decoding or deobfuscation; null if it is the original text. */
  readonly parent: NormalizedText | null;
  /** Maps positions to `parent`, or to the original text. */
  readonly sourceMap: SourceMap;
  /** Positions of special characters: decoding and deobfuscation look only at these. */
  readonly specials: PositionList;
}

/** A growable list of positions in ascending order. */
export class PositionList {
  positions = new Int32Array(64);
  count = 0;

  add(position: number): void {
    this.reserve(1);
    this.positions[this.count++] = position;
  }

  /** Makes room for this number of positions. */
  reserve(positions: number): void {
    const needed = this.count + positions;
    if (needed <= this.positions.length) return;
    const larger = new Int32Array(Math.max(needed, this.positions.length * 2));
    larger.set(this.positions);
    this.positions = larger;
  }
}

/** Returns the code unit at a position; 0 outside the text. */
export function unitAt(input: NormalizedText, index: number): number {
  return index < 0 || index >= input.length ? 0 : (input.codes[index] ?? 0);
}

/** Returns where the units from `first` up to `end` are located in the original text. */
export function originalSpan(
  input: NormalizedText,
  first: number,
  end: number,
): { start: number; end: number } {
  let start = first;
  let last = end - 1;
  let stop = end;
  for (let text: NormalizedText | null = input; text !== null; text = text.parent) {
    start = text.sourceMap.startOf(start);
    stop = text.sourceMap.endOf(last);
    last = stop - 1;
  }
  return { start, end: stop };
}
