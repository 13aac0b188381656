// Runs an action on several records after one confirmation that names their number.
import { toError } from "../api/client.ts";
import { confirmAction, showToast } from "./dialogs.ts";

export interface BulkAction<Row> {
  /** As in "Delete". */
  readonly verb: string;
  /** As in "Deleted". */
  readonly done: string;
  /** What the confirmation says. */
  readonly text: string;
  /** Method and path of one call. The action is hidden if the administrator may not call it. */
  readonly operation: string;
  readonly isDangerous?: boolean;
  /** False: the action has nothing to do for this row. */
  readonly appliesTo?: (row: Row) => boolean;
  readonly run: (row: Row) => Promise<unknown>;
}

/** Some calls of an action failed. The dialog lists them. */
export class PartialFailure extends Error {
  /** Name of the record and why it failed, one per record. */
  readonly failures: readonly string[];

  constructor(message: string, failures: readonly string[]) {
    super(message);
    this.failures = failures;
  }
}

/**
 * Runs the action on one row after another, and continues after an error. Returns the rows that failed; null if the
 * action did not begin.
 */
export async function runOnEach<Row>(
  { verb, done, text, isDangerous = false, run }: BulkAction<Row>,
  rows: readonly Row[],
  what: string,
  nameOf: (row: Row) => string,
): Promise<readonly Row[] | null> {
  let remaining = rows;
  let hasBegun = false;
  const runAll = async () => {
    hasBegun = true;
    const failures: string[] = [];
    const failed: Row[] = [];
    for (const row of remaining) {
      try {
        await run(row);
      } catch (error) {
        failed.push(row);
        failures.push(`${nameOf(row)}: ${toError(error).message}`);
      }
    }
    remaining = failed;
    if (failed.length > 0) {
      const doneCount = rows.length - failed.length;
      throw new PartialFailure(`${doneCount} of ${rows.length} are done. ${failed.length} failed:`, failures);
    }
  };
  const counted = countOf(rows.length, what);
  const isDone = await confirmAction({
    title: `${verb} ${counted}?`,
    text,
    confirm: `${verb} ${rows.length}`,
    isDangerous,
    action: runAll,
  });
  if (isDone) showToast(`${done} ${counted}.`);
  return hasBegun ? remaining : null;
}

/** As in "1 rule" and "3 rules". */
function countOf(count: number, what: string): string {
  return `${count} ${count === 1 ? what.replace(/s$/, "") : what}`;
}
