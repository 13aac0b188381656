// The tools of an MCP server as nodes have seen them: what is approved, what has changed, and how.
import { z } from "zod";
import type { McpServer } from "../model/mcp-server.ts";
import { diffRecords } from "../model/record-diff.ts";
import type { StoredTool } from "../store/sql-mcp-tools.ts";
import { timeSchema } from "./record-schemas.ts";

const TOOL_STATUSES = ["approved", "new", "changed", "withheld"] as const;

const WITHHELD_BECAUSE = ["changed", "new", "lookalike"] as const;

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
          "`withheld`: it is not the approved one, and the server has `pin: hold`.",
      }),
      withheld_because: z
        .enum(WITHHELD_BECAUSE)
        .nullable()
        .meta({
          description:
            "`changed`: the definition differs from the approved one. `new`: the tool was not in the first list of the server. " +
            "`lookalike`: it is new, and its name looks like that of another tool, or has characters beyond ASCII. Null: it is not withheld.",
        }),
      lookalike_of: z.string().nullable().meta({
        description: "Server and name of a tool that the name of this one looks like; null if there is none.",
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

/**
 * `lookalikeOf` is the tool that a tool without an approval looks like, null if it is not known, and
 * undefined if there is none.
 */
export function showTool(tool: StoredTool, pin: McpServer["pin"], lookalikeOf: string | null | undefined) {
  const status = statusOf(tool, pin);
  const isNew = tool.approvedHash === "";
  const reason = !isNew ? "changed" : lookalikeOf === undefined ? "new" : "lookalike";
  const [before, after] = [parsed(tool.approvedDefinition), parsed(tool.definition)];
  return {
    name: tool.name,
    status,
    withheld_because: status === "withheld" ? reason : null,
    lookalike_of: lookalikeOf ?? null,
    hash: tool.hash,
    definition: after,
    approved_at: tool.approvedAt,
    first_seen_at: tool.firstSeenAt,
    changed_at: tool.changedAt,
    diff: isNew || tool.hash === tool.approvedHash ? [] : diffRecords(before, after).slice(0, MAX_DIFF),
  };
}

function statusOf(
  { hash, approvedHash, approvedAt }: StoredTool,
  pin: McpServer["pin"],
): (typeof TOOL_STATUSES)[number] {
  const isNew = approvedHash === "";
  if (hash !== approvedHash) return pin === "hold" ? "withheld" : isNew ? "new" : "changed";
  return approvedAt === null ? "new" : "approved";
}

/** Definitions were objects when they were stored. */
function parsed(text: string | null): object | null {
  return text === null ? null : (JSON.parse(text) as object);
}
