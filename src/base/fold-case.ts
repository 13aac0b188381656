// Compares the names of members as servers do that ignore case. Go's encoding/json is one: of several members with the same folded name, it
// takes the last one.

const LONG_S = "\u017f";

/** Returns the name in lower case. The long s (U+017F) and the Kelvin sign (U+212A) become the letters that they fold to. */
export function foldCase(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes(LONG_S) ? lower.replaceAll(LONG_S, "s") : lower;
}
