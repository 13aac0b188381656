// The assertions of a pattern: conditions on the characters before and after a place in a text.

/** A place at the start or the end of the text has no character there. */
export const EDGE = 0;
export const LINE_TERMINATOR = 1;
export const WORD_CHARACTER = 2;
/** Belongs to words if case is ignored. */
export const FOLDED_WORD_CHARACTER = 3;
export const OTHER_CHARACTER = 4;
export const KINDS = 5;

/** One bit for each pair of kinds before and after the place. */
export type Assertion = number;

function assertionOf(isMet: (before: number, after: number) => boolean): Assertion {
  let bits = 0;
  for (let before = 0; before < KINDS; before++)
    for (let after = 0; after < KINDS; after++)
      if (isMet(before, after)) bits |= 1 << placeBetween(before, after);
  return bits;
}

/** Returns the number of the bit that says whether an assertion is met. */
export function placeBetween(before: number, after: number): number {
  return before * KINDS + after;
}

const isLineEdge = (kind: number): boolean => kind === EDGE || kind === LINE_TERMINATOR;
const isWord = (kind: number): boolean => kind === WORD_CHARACTER;
const isFoldedWord = (kind: number): boolean => isWord(kind) || kind === FOLDED_WORD_CHARACTER;

export const ASSERTIONS = {
  start: assertionOf((before) => before === EDGE),
  end: assertionOf((_, after) => after === EDGE),
  lineStart: assertionOf(isLineEdge),
  lineEnd: assertionOf((_, after) => isLineEdge(after)),
  boundary: assertionOf((before, after) => isWord(before) !== isWord(after)),
  noBoundary: assertionOf((before, after) => isWord(before) === isWord(after)),
  foldedBoundary: assertionOf((before, after) => isFoldedWord(before) !== isFoldedWord(after)),
  noFoldedBoundary: assertionOf((before, after) => isFoldedWord(before) === isFoldedWord(after)),
};
