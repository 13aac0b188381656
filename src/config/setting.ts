// A row of the table of settings.

interface Setting<T> {
  readonly description: string;
  /** The default as the reference shows it. The default itself is `parse(undefined)`. */
  readonly shownDefault: string;
  readonly parse: (text: string | undefined) => T;
}

export const setting = <T>(
  shownDefault: string,
  description: string,
  parse: (text: string | undefined) => T,
): Setting<T> => ({ shownDefault, description, parse });
