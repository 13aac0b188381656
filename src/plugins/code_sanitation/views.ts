// All readings of a text that are worth a scan, in order: as it stands, decoded up to three times, and unhidden.
import { decodeRound } from "./decode.ts";
import { readCommentsAsBlanks, readWordsJoined } from "./unhide.ts";
import { forgetParents, readUnits, type View, type WorkCounter } from "./view.ts";

/** Percent twice over is common, entities inside percent inside JSON happen; beyond that no reader decodes. */
const DECODING_ROUNDS = 3;

/** Looks at a view, or only at the stretches named; true stops the reading. */
export type Visit = (view: View, windows: readonly number[] | null) => boolean;

/** Of the text whose code units stand from `start` to `end`. */
export function visitViews(
  units: Uint16Array,
  start: number,
  end: number,
  work: WorkCounter,
  visit: Visit,
): void {
  const view = readUnits(units, start, end, work);
  work.steps += end - start;
  // Without a mark there is nothing that a further reading could take out.
  if (visit(view, null) || view.marks.count === 0) return;
  visitFurther(view, visit);
  forgetParents();
}

/** The readings of what the first one left hidden. */
function visitFurther(first: View, visit: Visit): void {
  let view = first;
  for (let round = 1; round <= DECODING_ROUNDS; round++) {
    const decoded = decodeRound(view, round);
    if (decoded === null) break;
    view = decoded.view;
    if (visit(view, decoded.windows)) return;
  }
  const depth = DECODING_ROUNDS + 1;
  const spaced = readCommentsAsBlanks(view, depth);
  if (spaced !== null && visit(spaced.view, spaced.windows)) return;
  const joined = readWordsJoined(view, depth);
  if (joined !== null) visit(joined.view, joined.windows);
}
