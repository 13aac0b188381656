// The definitions of tools as nodes have seen them, and those that are approved, in the database. They create no revisions: they
// are what servers report, not configuration.
import type { Database, Query, Row } from "./database.ts";
import { approveTool, insertTool, updateTool, type SeenDefinition } from "./mcp-tool-rows.ts";

/** Tools of a server beyond this number are not stored. */
export const MAX_TOOLS = 5000;
/** PostgreSQL has no U+0000 in texts, and names are part of a key. */
const NAME = /^[^\0]{1,256}$/;

/** Whether a tool of this name can be stored, and therefore approved. */
export function isStorableName(name: string): boolean {
  return NAME.test(name);
}

/**
 * Decides about tools that were not seen before. `first`: they are approved if no tool of the server was seen before, and held
 * otherwise. `rest_of_first`: they belong to a first list that is recorded in several parts.
 */
export type NewTools = "approve" | "hold" | "first" | "rest_of_first";

interface Recorded {
  /** Tools whose definition has changed. */
  readonly changed: readonly string[];
  /** New tools that are not approved. */
  readonly held: readonly string[];
  /** Whether no tool of the server was seen before. */
  readonly isFirst: boolean;
}

interface ToolHashes {
  readonly name: string;
  /** Of the definition that a node saw last. */
  readonly hash: string;
  /** Empty: no definition was ever approved. */
  readonly approvedHash: string;
}

interface ToolsVersion {
  readonly gatewayId: string;
  /** Higher after each change of the server's tools. */
  readonly version: number;
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
  /** By server, for those of which a tool was seen. */
  versions(): Promise<ReadonlyMap<string, ToolsVersion>>;
  hashes(serverId: string): Promise<ToolHashes[]>;
  /** By name. */
  list(
    serverId: string,
    limit: number,
    offset: number,
  ): Promise<{ readonly tools: StoredTool[]; readonly count: number }>;
  /** Stores definitions that a node has seen. */
  record(
    gatewayId: string,
    serverId: string,
    seen: readonly SeenDefinition[],
    at: string,
    newTools: NewTools,
  ): Promise<Recorded>;
  /**
   * Approves the definitions that were seen last: of one tool, or of all but `except` if `name` is null.
   * `hash` is the only one that is approved, if it is not null. Returns the names of the approved tools.
   */
  approve(
    serverId: string,
    name: string | null,
    hash: string | null,
    at: string,
    except?: ReadonlySet<string>,
  ): Promise<string[]>;
}

type Use = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export class SqlMcpTools implements McpToolStore {
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  versions(): Promise<ReadonlyMap<string, ToolsVersion>> {
    return this.#use(async ({ query }) => {
      const rows = await query("SELECT server_id, gateway_id, version FROM mcp_tool_versions");
      return new Map(
        rows.map(({ server_id, gateway_id, version }) => [
          String(server_id),
          { gatewayId: String(gateway_id), version: Number(version) },
        ]),
      );
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
    newTools: NewTools,
  ): Promise<Recorded> {
    return this.#use((database) =>
      database.writeTransaction(async (query) => {
        const recorded = { changed: [] as string[], held: [] as string[], isFirst: false };
        // The server may have been deleted since a node saw its tools.
        const [server] = await query("SELECT id FROM mcp_servers WHERE id = $1 AND gateway_id = $2", [
          serverId,
          gatewayId,
        ]);
        if (server === undefined) return recorded;
        const [version] = await query("SELECT version FROM mcp_tool_versions WHERE server_id = $1", [
          serverId,
        ]);
        recorded.isFirst = version === undefined;
        const isApproved =
          newTools === "approve" ||
          newTools === "rest_of_first" ||
          (newTools === "first" && recorded.isFirst);
        const room = MAX_TOOLS - (await countOf(query, serverId));
        const added: string[] = [];
        let updated = 0;
        for (const tool of seen) {
          if (!NAME.test(tool.name)) continue;
          const [known] = await query(
            "SELECT hash, approved_hash FROM mcp_tools WHERE server_id = $1 AND name = $2",
            [serverId, tool.name],
          );
          if (known === undefined) {
            if (added.length >= room) continue;
            const isHeld = !isApproved || (newTools !== "approve" && tool.isLookalike === true);
            await insertTool(query, { gatewayId, serverId, at, isHeld }, tool);
            added.push(tool.name);
            if (isHeld) recorded.held.push(tool.name);
          } else if (known["hash"] !== tool.hash) {
            updated++;
            if (await updateTool(query, { serverId, at }, tool, known)) recorded.changed.push(tool.name);
          } else if (newTools === "rest_of_first" && known["approved_hash"] === "" && !tool.isLookalike) {
            // Another node has seen the tool after the first part of the list was recorded.
            updated++;
            await approveTool(query, serverId, tool.name, null);
          }
        }
        if (added.length + updated > 0) await raiseVersion(query, gatewayId, serverId);
        return recorded;
      }),
    );
  }

  approve(
    serverId: string,
    name: string | null,
    hash: string | null,
    at: string,
    except: ReadonlySet<string> = new Set(),
  ): Promise<string[]> {
    return this.#use((database) =>
      database.writeTransaction(async (query) => {
        const condition = `server_id = $1 AND ($2 = '' OR name = $2) AND ($3 = '' OR hash = $3) AND ($2 <> '' OR approved_hash <> hash)`;
        const rows = await query(`SELECT name, gateway_id FROM mcp_tools WHERE ${condition} ORDER BY name`, [
          serverId,
          name ?? "",
          hash ?? "",
        ]);
        const names = rows.map((row) => String(row["name"])).filter((each) => !except.has(each));
        const [first] = rows;
        if (first === undefined || names.length === 0) return [];
        for (const each of names) await approveTool(query, serverId, each, at);
        await raiseVersion(query, String(first["gateway_id"]), serverId);
        return names;
      }),
    );
  }
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
