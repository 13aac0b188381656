// The revision: counted in the transaction that changes something, and a bounded log of what each one changed.
import { GatehouseError } from "../base/errors.ts";
import type { Query } from "./database.ts";
import type { Change } from "./store.ts";

/** How many revisions tell what they changed; a node further behind loads everything. */
export const KEPT_REVISIONS = 10_000;

export async function readRevision(query: Query): Promise<number> {
  const [row] = await query("SELECT revision FROM configuration");
  if (row === undefined)
    throw new GatehouseError("store_unavailable", "The database has lost its configuration row.");
  return Number(row["revision"]);
}

export async function recordRevision(query: Query, change: Change): Promise<number> {
  const [row] = await query("UPDATE configuration SET revision = revision + 1 RETURNING revision");
  const revision = Number(row?.["revision"]);
  await query(
    "INSERT INTO revisions (number, gateway_id, api_key_id, block_id, created_at) VALUES ($1, $2, $3, $4, $5)",
    [revision, change.gatewayId, change.apiKeyId, change.blockId, new Date().toISOString()],
  );
  if (revision % 100 === 0)
    await query("DELETE FROM revisions WHERE number <= $1", [revision - KEPT_REVISIONS - 100]);
  return revision;
}
