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
