// The variants of a text that are scanned, in order: normalized, decoded up to three times, and deobfuscated.
import { decodeEscapes } from "./decode.ts";
import { removeNoOpSyntax, replaceComments } from "./deobfuscate.ts";
import { normalize } from "./normalize.ts";
import type { NormalizedText } from "./normalized-text.ts";
import { releaseParents } from "./scratch-buffer.ts";
import { findSyntax } from "./syntax-candidates.ts";
import { checkWork, stepsToScan, type WorkCounter } from "./work-budget.ts";

/** Double percent-encoding is common, and entities in percent-encoding in JSON occur; receivers decode no deeper. */
const DECODING_ROUNDS = 3;

/** A JSON body can consist of many empty strings, and each costs a scan. */
const STEPS_PER_TEXT = 8;

/** Scans a variant, or only the given ranges of it. Returns true to stop. */
export type VariantVisitor = (text: NormalizedText, ranges: readonly number[] | null) => boolean;

/** Visits the variants of the text in `units` from `start` up to `end`. */
export function visitVariants(
  units: Uint16Array,
  start: number,
  end: number,
  work: WorkCounter,
  visit: VariantVisitor,
): void {
  // Before the text is normalized: the values of a form are normalized after the whole form was scanned.
  countText(end - start, work);
  visitNormalized(normalize(units, start, end, work), visit);
}

/** Visits a text that was normalized from `units` code units, and its further variants. */
export function visitVariantsOf(text: NormalizedText, units: number, visit: VariantVisitor): void {
  countText(units, text.work);
  visitNormalized(text, visit);
}

/** Counts the scan of a text, and checks the limit at the same amount of work for both kinds of input. */
function countText(units: number, work: WorkCounter): void {
  work.steps += stepsToScan(units) + STEPS_PER_TEXT;
  checkWork(work);
}

function visitNormalized(text: NormalizedText, visit: VariantVisitor): void {
  // Without special characters, decoding and deobfuscation would change nothing.
  if (visit(text, null) || text.specials.count === 0) return;
  visitDecoded(text, visit);
  releaseParents();
}

function visitDecoded(normalized: NormalizedText, visit: VariantVisitor): void {
  let text = normalized;
  let candidates = findSyntax(text);
  for (let round = 1; round <= DECODING_ROUNDS; round++) {
    const decoded = decodeEscapes(text, candidates, round);
    if (decoded === null) break;
    text = decoded.text;
    if (visit(text, decoded.changedRanges)) return;
    candidates = findSyntax(text);
  }
  const depth = DECODING_ROUNDS + 1;
  const withoutComments = replaceComments(text, candidates, depth);
  if (withoutComments !== null && visit(withoutComments.text, withoutComments.changedRanges)) return;
  const joined = removeNoOpSyntax(text, candidates, depth);
  if (joined !== null) visit(joined.text, joined.changedRanges);
}
