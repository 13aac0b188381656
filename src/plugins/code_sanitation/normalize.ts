// Creates the normalized text of a request part: full-width forms as ASCII, invisible characters removed, and each run of
// whitespace as one space or newline.
import {
  FOLDED,
  FOLDED_UNIT,
  NEWLINE,
  PLAIN_UNIT,
  REMOVED,
  SPACE,
  SPECIAL_UNIT,
  UNIT_KIND,
  WHITESPACE_UNIT,
} from "./char-classes.ts";
import type { NormalizedText } from "./normalized-text.ts";
import { scratchBufferFor } from "./scratch-buffer.ts";
import type { WorkCounter } from "./work-budget.ts";

/** Normalizes the units from `start` up to `end`. Positions of the result map to offsets from `start`. */
export function normalize(units: Uint16Array, start: number, end: number, work: WorkCounter): NormalizedText {
  const buffer = scratchBufferFor(end - start, 0);
  const { codes, sourceMap, specials } = buffer;
  let length = 0;
  let lastKind = PLAIN_UNIT;
  for (let index = start; index < end; index++) {
    const code = units[index] ?? 0;
    const kind = UNIT_KIND[code] ?? PLAIN_UNIT;
    // Nearly all units are copied unchanged, whitespace too unless it follows other whitespace.
    if ((kind & (lastKind | SPECIAL_UNIT | FOLDED_UNIT)) === 0) {
      codes[length++] = code;
      lastKind = kind;
      continue;
    }
    const folded = FOLDED[code] ?? 0;
    if (folded > SPACE) {
      if (UNIT_KIND[folded] === SPECIAL_UNIT) specials.add(length);
      codes[length++] = folded;
      lastKind = PLAIN_UNIT;
      continue;
    }
    // A run of whitespace and invisible characters. Its first space may be written already.
    const from = lastKind === WHITESPACE_UNIT ? index - 1 : index;
    if (from < index) length--;
    const next = endOfWhitespace(units, index + 1, end);
    const merged = mergeWhitespace(units, from, next);
    if (merged !== REMOVED) {
      codes[length] = merged;
      if (next > from + 1) sourceMap.add(length, from - start, next - start);
      length++;
    } else if (next < end) {
      // Removed units are part of no unit's source; the unit after them starts a new range.
      sourceMap.add(length, next - start, next - start + 1);
    }
    lastKind = PLAIN_UNIT;
    index = next - 1;
  }
  return buffer.finish(length, null, work);
}

/** Returns the end of a run of whitespace and invisible characters. */
function endOfWhitespace(units: Uint16Array, from: number, end: number): number {
  let next = from;
  while (next < end && (FOLDED[units[next] ?? 0] ?? 0) <= SPACE) next++;
  return next;
}

/** Returns the one unit that replaces a run: NEWLINE if it contains one, else SPACE if it contains one, else REMOVED. */
function mergeWhitespace(units: Uint16Array, from: number, to: number): number {
  let merged = REMOVED;
  for (let index = from; index < to; index++) {
    const folded = FOLDED[units[index] ?? 0] ?? 0;
    if (folded === NEWLINE) return NEWLINE;
    if (folded === SPACE) merged = SPACE;
  }
  return merged;
}
