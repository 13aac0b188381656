// The names of deleted gateways: what was recorded about a gateway outlives it.
import type { Query } from "./database.ts";

/** Call in the transaction that deletes the gateway. */
export async function rememberGateway(query: Query, id: string, name: string): Promise<void> {
  await query(
    `INSERT INTO past_gateways (id, name, deleted_at) VALUES ($1, $2, $3)
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, deleted_at = excluded.deleted_at`,
    [id, name, new Date().toISOString()],
  );
}

/** Resolves to the last name of a gateway that has been deleted, and may have been restored since; null for any other id. */
export async function pastGatewayName(query: Query, id: string): Promise<string | null> {
  if (id.includes("\0")) return null; // PostgreSQL rejects this character even in parameters
  const [row] = await query("SELECT name FROM past_gateways WHERE id = $1", [id]);
  return row === undefined ? null : String(row["name"]);
}
