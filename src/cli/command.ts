// The interface of a command, and the error for wrong arguments.

export interface Command {
  /** One line for `gatehouse --help`. */
  readonly summary: string;
  readonly help: string;
  /** Resolves to the exit code. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** Wrong arguments: printed as one line, exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}
