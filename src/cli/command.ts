// What a command of the command line is.

export interface Command {
  readonly summary: string;
  readonly help: string;
  /** Resolves to the exit code. */
  readonly run: (words: readonly string[]) => Promise<number>;
}

/** A mistake in the words of a command: one line, exit code 2. */
export class UsageError extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = "UsageError";
  }
}

/** Splits `--name value` and `--name=value`; refuses what is not in `known`. */
export function readFlags(words: readonly string[], known: readonly string[]): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const [flag = "", inline] = word.split(/=(.*)/s);
    if (!known.includes(flag))
      throw new UsageError(`unknown flag "${word}"; known are ${[...known, "--help"].join(", ")}`);
    const value = inline ?? words[++index];
    if (value === undefined) throw new UsageError(`${flag} needs a value`);
    flags.set(flag, value);
  }
  return flags;
}
