// Buffers of code units that scans reuse. This is safe because a scan is synchronous and keeps no buffer.
import { PositionList, type NormalizedText } from "./normalized-text.ts";
import { SourceMap } from "./source-map.ts";
import type { WorkCounter } from "./work-budget.ts";

/** Zeros after the last unit, so that a matcher may look a few units past the end. */
const PADDING = 8;
/** Buffers of more units than this are not kept after the scan. */
const MAX_KEPT_UNITS = 1 << 20;
const MIN_BUFFER_UNITS = 1 << 12;

/** Converts strings to code units in a buffer that the next string overwrites. */
export class CodeUnitBuffer {
  codes = new Uint16Array(0);
  /** The same memory as bytes: Buffer.write copies a string natively. */
  #bytes = Buffer.alloc(0);

  read(text: string): Uint16Array {
    if (text.length > this.codes.length) this.#resize(text.length);
    this.#bytes.write(text, "utf16le");
    const units = this.codes;
    if (units.length > MAX_KEPT_UNITS) this.#resize(0);
    return units;
  }

  #resize(minUnits: number): void {
    this.codes = new Uint16Array(minUnits === 0 ? 0 : roundUp(minUnits));
    this.#bytes = Buffer.from(this.codes.buffer);
  }
}

/** A buffer that a normalized text is written to. After `finish` it is that text. */
export class ScratchBuffer implements NormalizedText {
  readonly codes: Uint16Array;
  readonly bytes: Buffer;
  readonly sourceMap = new SourceMap();
  readonly specials = new PositionList();
  length = 0;
  parent: NormalizedText | null = null;
  work: WorkCounter = { steps: 0, limit: Infinity };

  constructor(units: number) {
    this.codes = new Uint16Array(units + PADDING);
    this.bytes = Buffer.from(this.codes.buffer);
  }

  /** Turns the first `length` units into a normalized text. */
  finish(length: number, parent: NormalizedText | null, work: WorkCounter): NormalizedText {
    const { codes } = this;
    // A loop: for eight units, a call of fill() costs more than the writes.
    const end = Math.min(codes.length, length + PADDING);
    for (let index = length; index < end; index++) codes[index] = 0;
    this.length = length;
    this.parent = parent;
    this.work = work;
    return this;
  }
}

const buffersByDepth: (ScratchBuffer | undefined)[] = [];

/** Returns an empty buffer for at most `units`. Texts that exist at the same time must have different depths. */
export function scratchBufferFor(units: number, depth: number): ScratchBuffer {
  if (units > MAX_KEPT_UNITS) return new ScratchBuffer(units);
  let buffer = buffersByDepth[depth];
  if (buffer === undefined || buffer.codes.length < units + PADDING)
    buffersByDepth[depth] = buffer = new ScratchBuffer(roundUp(units));
  buffer.sourceMap.clear();
  buffer.specials.count = 0;
  return buffer;
}

/** Call at the end of a scan: a kept buffer must not reference the buffer of a very long text. */
export function releaseParents(): void {
  for (const buffer of buffersByDepth) if (buffer !== undefined) buffer.parent = null;
}

/** Doubles from the smallest size, so that buffers rarely grow. */
function roundUp(units: number): number {
  let size = MIN_BUFFER_UNITS;
  while (size < units) size *= 2;
  return size;
}
