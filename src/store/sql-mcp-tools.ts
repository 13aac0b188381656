// The definitions of tools as nodes have seen them, and those that are approved, in the database. They create no revisions: they
// are what servers report, not configuration.
import type { Database, Query, Row } from "./database.ts";

/** Tools of a server beyond this number are not stored. */
const MAX_TOOLS = 5000;
/** A longer definition is compared by its hash, but not shown. */
const MAX_DEFINITION = 65_536;
/** PostgreSQL has no U+0000 in texts, and names are part of a key. */
const NAME = /^[^\0]{1,256}$/;

export interface SeenDefinition {
  /** The name that the server uses. */
  readonly name: string;
  readonly hash: string;
  readonly definition: object;
}

interface ToolHashes {
  readonly name: string;
  /** Of the definition that a node saw last. */
  readonly hash: string;
  readonly approvedHash: string;
}

export interface StoredTool extends ToolHashes {
  /** JSON; null if it is too long to be stored. */
  readonly definition: string | null;
  readonly approvedDefinition: string | null;
  /** When an administrator approved it; null: the first definition is accepted without one. */
  readonly approvedAt: string | null;
  readonly firstSeenAt: string;
  /** When the definition changed last; null: it never did. */
  readonly changedAt: string | null;
}

export interface McpToolStore {
  /** Returns a number by server that is higher after each change of its tools. */
  versions(): Promise<ReadonlyMap<string, number>>;
  hashes(serverId: string): Promise<ToolHashes[]>;
  /** By name. */
  list(
    serverId: string,
    limit: number,
    offset: number,
  ): Promise<{ readonly tools: StoredTool[]; readonly count: number }>;
  /** Stores definitions that a node has seen. The first one of a tool is approved. Returns the tools whose definitions have changed. */
  record(gatewayId: string, serverId: string, seen: readonly SeenDefinition[], at: string): Promise<string[]>;
  /**
   * Approves the definitions that were seen last: of one tool, or of all if `name` is null. `hash` is the only one that is
   * approved, if it is not null. Returns the names of the approved tools.
   */
  approve(serverId: string, name: string | null, hash: string | null, at: string): Promise<string[]>;
}

type Use = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export class SqlMcpTools implements McpToolStore {
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  versions(): Promise<ReadonlyMap<string, number>> {
    return this.#use(async ({ query }) => {
      const rows = await query("SELECT server_id, version FROM mcp_tool_versions");
      return new Map(rows.map(({ server_id, version }) => [String(server_id), Number(version)]));
    });
  }

  hashes(serverId: string): Promise<ToolHashes[]> {
    return this.#use(async ({ query }) => {
      const rows = await query("SELECT name, hash, approved_hash FROM mcp_tools WHERE server_id = $1", [
        serverId,
      ]);
      return rows.map(toHashes);
    });
  }

  list(
    serverId: string,
    limit: number,
    offset: number,
  ): Promise<{ readonly tools: StoredTool[]; readonly count: number }> {
    return this.#use(async ({ query }) => {
      const rows = await query(
        `SELECT * FROM mcp_tools WHERE server_id = $1 ORDER BY name LIMIT $2 OFFSET $3`,
        [serverId, limit, offset],
      );
      return { tools: rows.map(toTool), count: await countOf(query, serverId) };
    });
  }

  record(
    gatewayId: string,
    serverId: string,
    seen: readonly SeenDefinition[],
    at: string,
  ): Promise<string[]> {
    return this.#use((database) =>
      database.writeTransaction(async (query) => {
        // The server may have been deleted since a node saw its tools.
        const [server] = await query("SELECT id FROM mcp_servers WHERE id = $1 AND gateway_id = $2", [
          serverId,
          gatewayId,
        ]);
        if (server === undefined) return [];
        const changed: string[] = [];
        let added = 0;
        const room = MAX_TOOLS - (await countOf(query, serverId));
        for (const tool of seen) {
          if (!NAME.test(tool.name)) continue;
          const [known] = await query("SELECT hash FROM mcp_tools WHERE server_id = $1 AND name = $2", [
            serverId,
            tool.name,
          ]);
          if (known === undefined && added < room) {
            added++;
            await insertTool(query, gatewayId, serverId, tool, at);
          } else if (known !== undefined && known["hash"] !== tool.hash) {
            changed.push(tool.name);
            await query(
              "UPDATE mcp_tools SET hash = $1, definition = $2, changed_at = $3 WHERE server_id = $4 AND name = $5",
              [tool.hash, textOf(tool.definition), at, serverId, tool.name],
            );
          }
        }
        if (added + changed.length > 0) await raiseVersion(query, gatewayId, serverId);
        return changed;
      }),
    );
  }

  approve(serverId: string, name: string | null, hash: string | null, at: string): Promise<string[]> {
    return this.#use((database) =>
      database.writeTransaction(async (query) => {
        const condition = `server_id = $1 AND ($2 = '' OR name = $2) AND ($3 = '' OR hash = $3) AND ($2 <> '' OR approved_hash <> hash)`;
        const rows = await query(`SELECT name, gateway_id FROM mcp_tools WHERE ${condition} ORDER BY name`, [
          serverId,
          name ?? "",
          hash ?? "",
        ]);
        const [first] = rows;
        if (first === undefined) return [];
        const names = rows.map((row) => String(row["name"]));
        for (const each of names)
          await query(
            `UPDATE mcp_tools SET approved_hash = hash, approved_definition = definition, approved_at = $1
               WHERE server_id = $2 AND name = $3`,
            [at, serverId, each],
          );
        await raiseVersion(query, String(first["gateway_id"]), serverId);
        return names;
      }),
    );
  }
}

/** Removes what was seen of one server, or of all servers of a gateway. */
export async function removeMcpTools(
  query: Query,
  column: "server_id" | "gateway_id",
  id: string,
): Promise<void> {
  for (const table of ["mcp_tools", "mcp_tool_versions"])
    await query(`DELETE FROM ${table} WHERE ${column} = $1`, [id]);
}

async function insertTool(
  query: Query,
  gatewayId: string,
  serverId: string,
  { name, hash, definition }: SeenDefinition,
  at: string,
): Promise<void> {
  await query(
    `INSERT INTO mcp_tools (server_id, name, gateway_id, hash, definition, approved_hash, approved_definition, first_seen_at)
       VALUES ($1, $2, $3, $4, $5, $4, $5, $6)`,
    [serverId, name, gatewayId, hash, textOf(definition), at],
  );
}

async function raiseVersion(query: Query, gatewayId: string, serverId: string): Promise<void> {
  await query(
    `INSERT INTO mcp_tool_versions (server_id, gateway_id, version) VALUES ($1, $2, 1)
       ON CONFLICT (server_id) DO UPDATE SET version = mcp_tool_versions.version + 1`,
    [serverId, gatewayId],
  );
}

async function countOf(query: Query, serverId: string): Promise<number> {
  const [counted] = await query("SELECT COUNT(*) AS count FROM mcp_tools WHERE server_id = $1", [serverId]);
  return Number(counted?.["count"]);
}

/** PostgreSQL rejects U+0000 in texts. JSON has it escaped, which is the only way it occurs here. */
function textOf(definition: object): string {
  const text = JSON.stringify(definition);
  return text.length > MAX_DEFINITION ? "" : text;
}

function toHashes({ name, hash, approved_hash }: Row): ToolHashes {
  return { name: String(name), hash: String(hash), approvedHash: String(approved_hash) };
}

function toTool(row: Row): StoredTool {
  const text = (column: string) => {
    const value = row[column] ?? null;
    return value === null || value === "" ? null : String(value);
  };
  return {
    ...toHashes(row),
    definition: text("definition"),
    approvedDefinition: text("approved_definition"),
    approvedAt: text("approved_at"),
    firstSeenAt: String(row["first_seen_at"]),
    changedAt: text("changed_at"),
  };
}
