// Writes the usage that a process has left that has ended.
import type { Database, Query } from "./database.ts";
import { addUsage, type UsageBatch } from "./usage.ts";

/** Returns the work of a transaction. See Store. */
export function finishUsage(writer: string, batchAfter: (written: number) => UsageBatch | null) {
  return async (query: Query, database: Database): Promise<void> => {
    const [row] = await query("SELECT batch FROM usage_writers WHERE id = $1", [writer]);
    const batch = batchAfter(Number(row?.["batch"] ?? 0));
    if (batch !== null) await addUsage(batch)(query, database);
  };
}
