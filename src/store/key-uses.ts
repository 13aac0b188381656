// When API keys were last used.
import type { Query } from "./database.ts";

/** `uses` has times by the ids of keys. A later time that another process has written stays. */
export async function recordKeyUses(query: Query, uses: ReadonlyMap<string, string>): Promise<void> {
  const isLater = "(last_used_at IS NULL OR last_used_at < $1)";
  for (const [id, usedAt] of uses)
    await query(`UPDATE api_keys SET last_used_at = $1 WHERE id = $2 AND ${isLater}`, [usedAt, id]);
}
