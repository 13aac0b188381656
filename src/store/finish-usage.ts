// Writes the usage that a process has left that has ended.
import type { Query } from "./database.ts";
import { addUsage, type UsageBatch } from "./usage.ts";

/** Must run in a transaction. See Store. */
export async function finishUsage(
  query: Query,
  writer: string,
  batchAfter: (written: number) => UsageBatch | null,
): Promise<void> {
  const [row] = await query("SELECT batch FROM usage_writers WHERE id = $1", [writer]);
  const batch = batchAfter(Number(row?.["batch"] ?? 0));
  if (batch !== null) await addUsage(query, batch);
}
