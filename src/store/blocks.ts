// Blocks in the store. They create no revision: their changes have a sequence of their own, which other nodes follow.
import { appendAudit, type AuditEntry, type AuditEvent, type AuditOrigin } from "./audit.ts";
import type { Query, Row } from "./database.ts";

/** A subject whose requests a plugin rejects until the block expires or an operator removes it. */
export interface Block {
  readonly id: string;
  readonly gateway_id: string;
  /** Plugin entry, type, and subject. Unique, so that a subject is blocked only once. */
  readonly name: string;
  readonly type: string;
  readonly subject: string;
  /** The counter that is cleared when an operator removes the block. */
  readonly counter_key: string;
  readonly created_at: string;
  /** Null for a block that does not expire. */
  readonly expires_at: string | null;
}

export interface StoredBlock extends Block {
  /** The number of the change that added the block. */
  readonly sequence: number;
}

export interface BlockRemoval {
  readonly sequence: number;
  readonly gatewayId: string;
  /** Null for all blocks of the gateway that were added before. */
  readonly blockId: string | null;
}

export interface BlockChanges {
  /** The number of the latest change. */
  readonly sequence: number;
  /** Whether `added` contains all blocks, because the removals do not reach back far enough. */
  readonly isComplete: boolean;
  readonly added: readonly StoredBlock[];
  readonly removals: readonly BlockRemoval[];
}

export interface RemovedBlocks {
  readonly blocks: readonly Block[];
  /** The number of the removal, or of the latest change if nothing was removed. */
  readonly sequence: number;
  /** The entry in the audit log; null if nothing was removed, or not by an administrator. */
  readonly audit: AuditEntry | null;
}

export interface BlockPage {
  readonly records: readonly Block[];
  /** The number of all blocks of the gateway, not only those on this page. */
  readonly count: number;
}

export interface BlockStore {
  /**
   * Adds blocks, except those of deleted gateways and those beyond `maxPerType` per gateway and type. Expired blocks at
   * `now` are removed first. Returns the blocks that exceeded the bound. Adding a block again changes nothing.
   */
  addBlocks(blocks: readonly Block[], maxPerType: number, now: string): Promise<readonly Block[]>;
  /** Oldest first. */
  listBlocks(gatewayId: string, page: { limit: number; offset: number }): Promise<BlockPage>;
  /** Removes one block of a gateway, or all of them if `id` is null. With `audit`, the audit log says who did. */
  removeBlocks(gatewayId: string, id: string | null, audit?: AuditOrigin): Promise<RemovedBlocks>;
  removeExpiredBlocks(now: string): Promise<void>;
  /** Returns the number of the latest change of blocks. */
  blockSequence(): Promise<number>;
  /** Returns what changed after a change; with a negative number, all blocks. */
  blockChangesAfter(sequence: number): Promise<BlockChanges>;
}

const COLUMNS = "id, gateway_id, name, type, body, created_at, updated_at, sequence, expires_at";
/** How many changes removals are kept for. A node that is further behind loads all blocks. */
const KEPT_CHANGES = 10_000;
const ROWS_PER_STATEMENT = 100;

export async function readBlockSequence(query: Query): Promise<number> {
  const [row] = await query("SELECT block_sequence FROM configuration");
  return Number(row?.["block_sequence"]);
}

/** Must run in a transaction, like all functions here that write. */
export async function addBlocks(
  query: Query,
  blocks: readonly Block[],
  maxPerType: number,
  now: string,
): Promise<readonly Block[]> {
  await removeExpiredBlocks(query, now);
  const sequence = await advanceSequence(query, 1);
  const rejected: Block[] = [];
  const rooms = new Map<string, number>();
  for (const block of blocks) {
    // A block that exists is announced again: a node that tries to add it does not know it yet.
    const again = "UPDATE blocks SET sequence = $1 WHERE name = $2 RETURNING id";
    if ((await query(again, [sequence, block.name])).length > 0) continue;
    const group = `${block.gateway_id} ${block.type}`;
    const room = rooms.get(group) ?? (await roomFor(query, block, maxPerType));
    if (room === 0) rejected.push(block);
    else if (room !== null) await insertBlock(query, block, sequence);
    if (room !== null) rooms.set(group, Math.max(0, room - 1));
  }
  return rejected;
}

/** Returns how many more blocks of this gateway and type may be stored; null if the gateway was deleted. */
async function roomFor(
  query: Query,
  { gateway_id, type }: Block,
  maxPerType: number,
): Promise<number | null> {
  if ((await query("SELECT id FROM gateways WHERE id = $1", [gateway_id])).length === 0) return null;
  const [counted] = await query("SELECT COUNT(*) AS count FROM blocks WHERE gateway_id = $1 AND type = $2", [
    gateway_id,
    type,
  ]);
  return Math.max(0, maxPerType - Number(counted?.["count"]));
}

async function insertBlock(query: Query, block: Block, sequence: number): Promise<void> {
  const { id, gateway_id, name, type, subject, counter_key, created_at, expires_at } = block;
  // JSON escapes the characters that PostgreSQL cannot store.
  const body = JSON.stringify({ name, type, subject, counter_key });
  await query(`INSERT INTO blocks (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, [
    id,
    gateway_id,
    name,
    type,
    body,
    created_at,
    created_at,
    sequence,
    expires_at,
  ]);
}

export async function listBlocks(
  query: Query,
  gatewayId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<BlockPage> {
  const filter = "FROM blocks WHERE gateway_id = $1";
  const rows = await query(`SELECT ${COLUMNS} ${filter} ORDER BY id LIMIT $2 OFFSET $3`, [
    gatewayId,
    limit,
    offset,
  ]);
  const [counted] = await query(`SELECT COUNT(*) AS count ${filter}`, [gatewayId]);
  return { records: rows.map(toBlock), count: Number(counted?.["count"]) };
}

export async function removeBlocks(
  query: Query,
  gatewayId: string,
  id: string | null,
): Promise<RemovedBlocks> {
  const isStorable = id?.includes("\0") !== true; // PostgreSQL rejects this character even in parameters
  const removed = await query(
    `DELETE FROM blocks WHERE gateway_id = $1 ${id === null ? "" : "AND id = $2"} RETURNING ${COLUMNS}`,
    id === null ? [gatewayId] : [gatewayId, isStorable ? id : ""],
  );
  const sequence =
    removed.length === 0
      ? await readBlockSequence(query)
      : await recordRemovals(query, [{ gatewayId, blockId: id }]);
  return { blocks: removed.map(toBlock), sequence, audit: null };
}

/** Limits the size of an entry in the audit log. */
const MAX_AUDITED = 20;

/** Removes one block or all, and records who did it. Without an origin, or if there was nothing to remove, nothing is recorded. */
export async function removeBlocksByHand(
  query: Query,
  gatewayId: string,
  id: string | null,
  origin: AuditOrigin | undefined,
  keptAudit: number,
): Promise<RemovedBlocks> {
  const removed = await removeBlocks(query, gatewayId, id);
  if (origin === undefined || removed.blocks.length === 0) return removed;
  const event = removalEvent(origin, gatewayId, removed.blocks);
  return { ...removed, audit: (await appendAudit(query, [event], keptAudit))[0] ?? null };
}

function removalEvent(origin: AuditOrigin, gatewayId: string, removed: readonly Block[]): AuditEvent {
  const [first] = removed;
  const blocks = removed.slice(0, MAX_AUDITED).map(({ id, type, subject }) => ({ id, type, subject }));
  return {
    ...origin,
    action: "delete",
    resource: "block",
    resource_id: removed.length === 1 && first !== undefined ? first.id : null,
    gateway_id: gatewayId,
    name: null,
    revision: null,
    details: { removed: removed.length, blocks },
  };
}

export async function removeExpiredBlocks(query: Query, now: string): Promise<void> {
  const expired = await query("DELETE FROM blocks WHERE expires_at <= $1 RETURNING id, gateway_id", [now]);
  if (expired.length === 0) return;
  await recordRemovals(
    query,
    expired.map((row) => ({ gatewayId: String(row["gateway_id"]), blockId: String(row["id"]) })),
  );
}

async function recordRemovals(
  query: Query,
  removals: readonly Omit<BlockRemoval, "sequence">[],
): Promise<number> {
  const latest = await advanceSequence(query, removals.length);
  const kept = removals.slice(-KEPT_CHANGES);
  for (let at = 0; at < kept.length; at += ROWS_PER_STATEMENT) {
    const parameters: (string | number | null)[] = [];
    const rows = kept.slice(at, at + ROWS_PER_STATEMENT).map(({ gatewayId, blockId }, index) => {
      const values = [latest - kept.length + 1 + at + index, gatewayId, blockId];
      return `(${values.map((value) => `$${parameters.push(value)}`).join(", ")})`;
    });
    await query(
      `INSERT INTO block_removals (sequence, gateway_id, block_id) VALUES ${rows.join(", ")}`,
      parameters,
    );
  }
  await query("DELETE FROM block_removals WHERE sequence <= $1", [latest - KEPT_CHANGES]);
  return latest;
}

async function advanceSequence(query: Query, count: number): Promise<number> {
  const [row] = await query(
    "UPDATE configuration SET block_sequence = block_sequence + $1 RETURNING block_sequence",
    [count],
  );
  return Number(row?.["block_sequence"]);
}

/** Must run in a transaction that reads consistently. */
export async function readBlockChanges(query: Query, after: number): Promise<BlockChanges> {
  const sequence = await readBlockSequence(query);
  const isComplete = after < 0 || after > sequence || sequence - after > KEPT_CHANGES;
  if (isComplete) {
    const all = await query(`SELECT ${COLUMNS} FROM blocks ORDER BY id`);
    return { sequence, isComplete, added: all.map(toBlock), removals: [] };
  }
  const added = await query(`SELECT ${COLUMNS} FROM blocks WHERE sequence > $1 ORDER BY id`, [after]);
  const removals = await query(
    "SELECT sequence, gateway_id, block_id FROM block_removals WHERE sequence > $1 ORDER BY sequence",
    [after],
  );
  return { sequence, isComplete, added: added.map(toBlock), removals: removals.map(toRemoval) };
}

function toBlock(row: Row): StoredBlock {
  // Only this file writes blocks, so the body is not validated again.
  const fields = JSON.parse(String(row["body"])) as Pick<Block, "name" | "type" | "subject" | "counter_key">;
  const expiresAt = row["expires_at"];
  return {
    id: String(row["id"]),
    gateway_id: String(row["gateway_id"]),
    name: fields.name,
    type: fields.type,
    subject: fields.subject,
    counter_key: fields.counter_key,
    created_at: String(row["created_at"]),
    expires_at: typeof expiresAt === "string" ? expiresAt : null,
    sequence: Number(row["sequence"]),
  };
}

function toRemoval(row: Row): BlockRemoval {
  const blockId = row["block_id"];
  return {
    sequence: Number(row["sequence"]),
    gatewayId: String(row["gateway_id"]),
    blockId: typeof blockId === "string" ? blockId : null,
  };
}
