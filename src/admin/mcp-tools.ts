// The tools of an MCP server as nodes have seen them: what is approved, what has changed, and how.
import { z } from "zod";
import type { McpServer } from "../model/mcp-server.ts";
import { diffRecords } from "../model/record-diff.ts";
import type { StoredTool } from "../store/sql-mcp-tools.ts";
import { timeSchema } from "./record-schemas.ts";

const TOOL_STATUSES = ["approved", "new", "changed", "withheld"] as const;

const MAX_DIFF = 100;

export const approvalInput = z.strictObject({
  hash: z.string().max(128).optional().meta({
    description: "The definition that is approved. If the server has changed it since, the response is 409.",
  }),
});

const definition = z.record(z.string(), z.unknown()).nullable();

export const mcpToolListSchema = z.object({
  tools: z.array(
    z.object({
      name: z.string().meta({ description: "The name that the server uses." }),
      status: z.enum(TOOL_STATUSES).meta({
        description:
          "`new`: the first definition, which is accepted without an approval. `changed`: it differs from the approved one. " +
          "`withheld`: it does, and the server has `pin: hold`.",
      }),
      hash: z.string().meta({ description: "Identifies the definition that was seen last." }),
      definition: definition.meta({ description: "As it was seen last. Null if it is longer than 64 KiB." }),
      approved_at: timeSchema.nullable(),
      first_seen_at: timeSchema,
      changed_at: timeSchema.nullable(),
      diff: z
        .array(z.object({ path: z.string(), before: z.unknown(), after: z.unknown() }))
        .meta({ description: `What differs from the approved definition, at most ${MAX_DIFF} fields.` }),
    }),
  ),
  count: z.int().min(0),
  limit: z.int(),
  offset: z.int(),
});

export function showTool(tool: StoredTool, pin: McpServer["pin"]) {
  const [before, after] = [parsed(tool.approvedDefinition), parsed(tool.definition)];
  return {
    name: tool.name,
    status: statusOf(tool, pin),
    hash: tool.hash,
    definition: after,
    approved_at: tool.approvedAt,
    first_seen_at: tool.firstSeenAt,
    changed_at: tool.changedAt,
    diff: tool.hash === tool.approvedHash ? [] : diffRecords(before, after).slice(0, MAX_DIFF),
  };
}

function statusOf(
  { hash, approvedHash, approvedAt }: StoredTool,
  pin: McpServer["pin"],
): (typeof TOOL_STATUSES)[number] {
  if (hash !== approvedHash) return pin === "hold" ? "withheld" : "changed";
  return approvedAt === null ? "new" : "approved";
}

/** Definitions were objects when they were stored. */
function parsed(text: string | null): object | null {
  return text === null ? null : (JSON.parse(text) as object);
}
