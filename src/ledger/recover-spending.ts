// Charges what killed processes had spent and reserved and had not written to the database.
import { readdirSync, renameSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/error-code.ts";
import { LEASE_MS } from "./ledger.ts";
import { isRunning } from "./process-owner.ts";
import { isSpentFile, readSpentFile, type SpentFileContent } from "./spent-file.ts";
import type { JournalBatch, SpentJournal } from "./spent-journal.ts";

interface RecoveryParts {
  readonly directory: string;
  readonly journal: SpentJournal;
  /** The writer whose file is in use. */
  readonly ownWriter: string;
  /** A damaged file was renamed, so that budgets are not closed because of it. What it held is not charged. */
  readonly onDamagedFile: (path: string) => void;
}

/** Returns whether files remain that may belong to a process that runs elsewhere. Rejects if the journal is unavailable. */
export async function recoverSpending(
  { directory, journal, ownWriter, onDamagedFile }: RecoveryParts,
  unixMs: number,
): Promise<boolean> {
  let isUnsure = false;
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    const content = contentOf(path);
    if (content === "damaged") {
      const renamed = `${path}.damaged`;
      renameSync(path, renamed);
      onDamagedFile(renamed);
      continue;
    }
    if (content?.writer === ownWriter) continue;
    const isAlive = content === null ? false : isRunning(content.owner);
    if (isAlive === true) continue;
    if (isAlive === null && content !== null && unixMs - content.aliveAt < LEASE_MS) {
      isUnsure = true;
      continue;
    }
    if (content !== null)
      await journal.finishSpending(content.writer, (written) => finalBatchOf(content, written, unixMs));
    unlinkSync(path);
  }
  return isUnsure;
}

function contentOf(path: string): SpentFileContent | "damaged" | null {
  try {
    return readSpentFile(path);
  } catch (error) {
    if (error instanceof SyntaxError) return "damaged";
    throw error;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter(isSpentFile);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

/**
 * Returns what remains to be written if batch `written` is the last one that the database has, or null if that was done before. Open
 * reservations are charged as reserved.
 */
function finalBatchOf(content: SpentFileContent, written: number, writtenAt: number): JournalBatch | null {
  const { writer, lastBatch, entries } = content;
  if (written > lastBatch) return null;
  const changes = entries.map(({ budget, spent, reserved, marks }) => {
    const [mark] = marks.filter(({ batch }) => batch <= written).toSorted((a, b) => b.batch - a.batch);
    return {
      budget,
      spentChange: spent - (mark?.spent ?? spent) + reserved,
      reserved: 0,
      reservedBefore: mark?.reserved ?? 0,
    };
  });
  return { writer, number: lastBatch + 1, writtenAt, changes };
}
