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
