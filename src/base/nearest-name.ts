// Suggests the known name that a misspelled name probably means.

/** Returns the known name with the smallest edit distance to `name`, or null if none is similar enough. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  const wanted = name.slice(0, 64).toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.ceil(wanted.length / 2)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance, computed with one row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
