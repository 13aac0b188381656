// How a process writes what budgets spend to the journal.

export interface JournalWriterOptions {
  /** Identifies this process in the journal. */
  readonly writer?: string;
  /** The amounts are also in Redis: those of earlier processes are read when they are needed, and batches contain sums. */
  readonly isShared?: boolean;
  /** Where to keep what is not written yet, for the case that this process is killed. */
  readonly directory?: string;
  /** Called once if no file can be created there. */
  readonly onFileError?: (error: unknown) => void;
  /** Called with the new path of a file of another process that could not be read. */
  readonly onDamagedFile?: (path: string) => void;
  /** Called after a write with how far the clock of this process is ahead of the one of the journal, in milliseconds. */
  readonly onClockMeasured?: (aheadMs: number) => void;
  /** Called with the first failure of an outage of the journal. */
  readonly onJournalError?: (error: unknown) => void;
}
