// Sorts findings by position. Those of a variant are nearly in order, and mostly one variant has all of them, so that one pass is enough.

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Sorts in place: by start, the longer of two with the same start first. */
export function sortFindings<Finding extends Span>(findings: Finding[]): Finding[] {
  let previous: Finding | undefined;
  for (const finding of findings) {
    if (previous !== undefined && byPosition(previous, finding) > 0) return findings.sort(byPosition);
    previous = finding;
  }
  return findings;
}

function byPosition(one: Span, other: Span): number {
  return one.start - other.start || other.end - one.end;
}
