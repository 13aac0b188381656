// Rows of tools of MCP servers: each has the definition that a node saw last, and the approved one.
import { isSameDefinition } from "../model/definition-hash.ts";
import type { Query, Row } from "./database.ts";

/** A longer definition is compared by its hash, but not shown. */
const MAX_DEFINITION = 65_536;

export interface SeenDefinition {
  /** The name that the server uses. */
  readonly name: string;
  readonly hash: string;
  /** An object, or its JSON. */
  readonly definition: object | string;
  /** Readers may take the name for that of another tool. Such a tool is approved only by its name. */
  readonly isLookalike?: boolean;
}

export async function insertTool(
  query: Query,
  options: {
    readonly gatewayId: string;
    readonly serverId: string;
    readonly at: string;
    readonly isHeld: boolean;
  },
  { name, hash, definition }: SeenDefinition,
): Promise<void> {
  const { gatewayId, serverId, at, isHeld } = options;
  const text = textOf(definition);
  await query(
    `INSERT INTO mcp_tools (server_id, name, gateway_id, hash, definition, approved_hash, approved_definition, first_seen_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [serverId, name, gatewayId, hash, text, isHeld ? "" : hash, isHeld ? "" : text, at],
  );
}

/**
 * Stores another hash of a known tool. Resolves to whether its definition has changed: hashes of earlier
 * versions are replaced.
 */
export async function updateTool(
  query: Query,
  { serverId, at }: { readonly serverId: string; readonly at: string },
  { name, hash, definition }: SeenDefinition,
  known: Row,
): Promise<boolean> {
  const approved = String(known["approved_hash"]);
  const newApproved = isSameDefinition(approved, hash) ? hash : approved;
  if (isSameDefinition(String(known["hash"]), hash)) {
    await query("UPDATE mcp_tools SET hash = $1, approved_hash = $2 WHERE server_id = $3 AND name = $4", [
      hash,
      newApproved,
      serverId,
      name,
    ]);
    return false;
  }
  await query(
    `UPDATE mcp_tools SET hash = $1, approved_hash = $2, definition = $3, changed_at = $4
       WHERE server_id = $5 AND name = $6`,
    [hash, newApproved, textOf(definition), at, serverId, name],
  );
  return true;
}

/** Approves the definition that was seen last. `at` is null if no administrator does. */
export async function approveTool(
  query: Query,
  serverId: string,
  name: string,
  at: string | null,
): Promise<void> {
  await query(
    `UPDATE mcp_tools SET approved_hash = hash, approved_definition = definition, approved_at = $1
       WHERE server_id = $2 AND name = $3`,
    [at, serverId, name],
  );
}

/** PostgreSQL rejects U+0000 in texts. JSON has it escaped, which is the only way it occurs here. */
function textOf(definition: object | string): string {
  const text = typeof definition === "string" ? definition : JSON.stringify(definition);
  return text.length > MAX_DEFINITION ? "" : text;
}
