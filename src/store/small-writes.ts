// Writes that create no revision and belong to no kind of record: when API keys were last used, and a write that only tries the database.
import type { Query } from "./database.ts";

/** Stores times by the id of the API key. */
export async function recordKeyUses(query: Query, uses: ReadonlyMap<string, string>): Promise<void> {
  for (const [id, usedAt] of uses) {
    const isLater = "(last_used_at IS NULL OR last_used_at < $1)";
    await query(`UPDATE api_keys SET last_used_at = $1 WHERE id = $2 AND ${isLater}`, [usedAt, id]);
  }
}

/** Makes the database write a page and leaves every value as it was. */
export async function writeNothing(query: Query): Promise<void> {
  // SQLite writes nothing for an update to the value that is stored already.
  await query("UPDATE configuration SET revision = revision + 1");
  await query("UPDATE configuration SET revision = revision - 1");
}
