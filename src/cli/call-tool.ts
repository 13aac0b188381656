// Calls a tool through an MCP endpoint without a session (protocol version 2026-07-28).
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { isEventStreamType } from "../http/media-type.ts";
import { parseJson } from "./admin-client.ts";
import { UsageError } from "./command.ts";

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";
const DEADLINE_MS = 120_000;
const MAX_RESPONSE = 10_000_000;

const responseSchema = z.object({
  id: z.literal(1),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ message: z.string() }).optional(),
});

interface ToolResult {
  readonly result: JsonObject;
  /** Its texts, or the whole result if it has none. */
  readonly text: string;
  readonly isError: boolean;
}

/** `given` is the text of a JSON object. */
export async function callTool(
  endpoint: string,
  key: string | null,
  tool: string,
  given: string,
): Promise<ToolResult> {
  const toolArguments = parseJson(given);
  if (!isJsonObject(toolArguments))
    throw new UsageError(`--arguments is ${given}; give a JSON object, as in --arguments '{"city":"Oslo"}'`);
  const meta = {
    [`${META}protocolVersion`]: VERSION,
    [`${META}clientCapabilities`]: {},
    [`${META}clientInfo`]: { name: "gatehouse", version: "1" },
  };
  const params = { name: tool, arguments: toolArguments, _meta: meta };
  const response = await fetch(endpoint, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": VERSION,
      "Mcp-Method": "tools/call",
      "Mcp-Name": tool,
      ...(key !== null && { "X-GW-API-Key": key }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).catch((error: unknown) => {
    throw new Error(
      `${endpoint} cannot be reached: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  const text = (await response.text()).slice(0, MAX_RESPONSE);
  const isStream = isEventStreamType(response.headers.get("content-type"));
  const messages = isStream ? eventsIn(text) : [parseJson(text)];
  for (const message of messages) {
    const found = responseSchema.safeParse(message);
    if (!found.success) continue;
    const { result, error } = found.data;
    if (error !== undefined) throw new Error(`${tool}: ${error.message}`);
    if (result !== undefined) return { result, text: textIn(result), isError: result["isError"] === true };
  }
  throw new Error(
    `${endpoint} responded with status ${response.status} and no result: ${text.slice(0, 300)}`,
  );
}

/** The messages of an event stream that has ended. */
function eventsIn(text: string): unknown[] {
  return text.split(/\r?\n\r?\n/).map((event) => {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    return parseJson(lines.map((line) => line.slice("data:".length)).join("\n"));
  });
}

function textIn(result: JsonObject): string {
  const { content } = result;
  const texts = (Array.isArray(content) ? content : []).flatMap((part: unknown) =>
    isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : [],
  );
  return texts.length === 0 ? JSON.stringify(result) : texts.join("\n");
}
