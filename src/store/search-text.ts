// The SQL condition of a free-text search, which all lists share.

/** A shorter text is not looked for in ids: many of them contain it by chance. */
export const MIN_ID_LENGTH = 8;

/**
 * Returns the condition that one of the SQL expressions contains the text, in any case. `add` adds a parameter and returns its
 * place.
 */
export function containsText(
  expressions: readonly string[],
  text: string,
  add: (value: string) => string,
): string {
  // SQLite's LOWER changes ASCII letters only, so other letters are also compared as they are.
  const [lower, exact] = [add(pattern(text.toLowerCase())), add(pattern(text))];
  const matches = expressions.map(
    (expression) => `LOWER(${expression}) LIKE ${lower} ESCAPE '!' OR ${expression} LIKE ${exact} ESCAPE '!'`,
  );
  return `(${matches.join(" OR ")})`;
}

/** A LIKE pattern for texts that contain `text`; `!` is the escape character. */
function pattern(text: string): string {
  return `%${text.replaceAll(/[!%_]/g, (special) => `!${special}`)}%`;
}
