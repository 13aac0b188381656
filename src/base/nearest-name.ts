// Suggests the known name that a misspelled name probably means.

/** Of both names. */
const MAX_COMPARED_CHARACTERS = 64;

/** Returns the known name with the smallest edit distance to `name`, or null if none is similar enough. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  return nearestNames(name, known, 1)[0] ?? null;
}

/** Returns up to `count` known names that are similar enough, the one with the smallest edit distance first. */
export function nearestNames(name: string, known: Iterable<string>, count: number): string[] {
  const wanted = comparable(name);
  const found: { readonly candidate: string; readonly distance: number }[] = [];
  let limit = Math.max(2, Math.ceil(wanted.length / 2)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, comparable(candidate), limit);
    if (distance >= limit) continue;
    const at = found.findIndex((each) => each.distance > distance);
    found.splice(at < 0 ? found.length : at, 0, { candidate, distance });
    if (found.length > count) found.pop();
    if (found.length === count) limit = found.at(-1)?.distance ?? limit;
  }
  return found.map(({ candidate }) => candidate);
}

function comparable(name: string): string {
  return name.slice(0, MAX_COMPARED_CHARACTERS).toLowerCase();
}

/** Levenshtein distance, computed with one row; `limit` if it is that or more. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  const row = new Uint16Array(b.length + 1).map((_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    let [diagonal, smallest] = [row[0] ?? 0, i];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0;
      const substitution = diagonal + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1);
      const distance = Math.min(substitution, above + 1, (row[j - 1] ?? 0) + 1);
      row[j] = distance;
      diagonal = above;
      if (distance < smallest) smallest = distance;
    }
    if (smallest >= limit) return limit;
  }
  return row[b.length] ?? 0;
}
