// Runs an action on several records after one confirmation that names their number.
import { toError } from "../api/client.ts";
import { confirmAction, showToast } from "./dialogs.ts";

export interface BulkAction<Row> {
  /** As in "Delete". */
  readonly verb: string;
  /** What the confirmation says. */
  readonly text: string;
  readonly isDangerous?: boolean;
  readonly run: (row: Row) => Promise<unknown>;
}

/** Runs the action on one row after another. Continues after an error; the dialog then lists what failed. */
export async function runOnEach<Row>(
  { verb, text, isDangerous = false, run }: BulkAction<Row>,
  rows: readonly Row[],
  what: string,
  nameOf: (row: Row) => string,
): Promise<void> {
  let left = rows;
  const runAll = async () => {
    const errors: string[] = [];
    const failed: Row[] = [];
    for (const row of left) {
      try {
        await run(row);
      } catch (error) {
        failed.push(row);
        errors.push(`${nameOf(row)}: ${toError(error).message}`);
      }
    }
    left = failed;
    if (failed.length > 0)
      throw new Error(
        `${rows.length - failed.length} of ${rows.length} are done. ${errors.slice(0, 5).join(" ")}`,
      );
  };
  const counted = rows.length === 1 ? `1 of the ${what}` : `${rows.length} ${what}`;
  const isDone = await confirmAction({
    title: `${verb} ${counted}?`,
    text,
    confirm: `${verb} ${rows.length}`,
    isDangerous,
    action: runAll,
  });
  if (isDone) showToast(`${verb}: ${counted}, done.`);
}
