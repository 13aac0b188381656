// State of the tool playground: its draft, the endpoint and the calls built from it, and the tools that the client may use.
import { listChildren, listKeys } from "../api/resources.ts";
import type { ApiKey, Rule, Service } from "../api/types.ts";
import { keyState } from "./key-state.ts";
import { knownKeys } from "./known-keys.ts";
import { isRecord } from "./mcp-messages.ts";
import { sendMcp, type McpEndpoint } from "./mcp-request.ts";
import { clientHeaders, type RouteDraft } from "./playground.ts";

export interface ToolPlaygroundData {
  /** Active rules that lead to MCP servers. */
  readonly rules: readonly Rule[];
  readonly services: readonly Service[];
  /** Active API keys only. */
  readonly keys: readonly ApiKey[];
}

export interface ToolDraft extends RouteDraft {
  /** Name of the tool as clients see it; empty if none is selected. */
  readonly tool: string;
  /** A string if the JSON is invalid. */
  readonly arguments: unknown;
}

/** A tool as the endpoint offers it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
}

export interface OfferedTools {
  readonly tools: readonly OfferedTool[];
  /** Servers that did not respond in time, or whose list did not fit. */
  readonly unavailable: readonly string[];
  /** Servers whose list a plugin refused, with the code of the refusal. */
  readonly refused: readonly string[];
  readonly error: string | null;
  readonly status: number | null;
}

const META_UNAVAILABLE = "gatehouse/unavailable_servers";
const META_REFUSED = "gatehouse/refused_servers";

export async function loadToolPlayground(gateway: string, signal: AbortSignal): Promise<ToolPlaygroundData> {
  const [rules, services, keys] = await Promise.all([
    listChildren(gateway, "rules", signal),
    listChildren(gateway, "services", signal),
    listKeys(gateway, signal),
  ]);
  const leading = new Set(services.flatMap(({ id, type }) => (type === "mcp" ? [id] : [])));
  return {
    rules: rules.filter(({ active, service_id }) => active && leading.has(service_id)),
    services,
    keys: keys.filter((key) => keyState(key) === "active"),
  };
}

/** Selects a rule that leads to the wanted server, and a key that was created in this tab. */
export function initialToolDraft(data: ToolPlaygroundData, wanted: URLSearchParams): ToolDraft {
  const { rules, services, keys } = data;
  const server = wanted.get("server") ?? "";
  const leading = services.filter(({ mcp_server_ids }) => mcp_server_ids.includes(server));
  const rule = rules.find(({ service_id }) => leading.some(({ id }) => id === service_id)) ?? rules[0];
  const key = keys.find(({ id }) => knownKeys.value.has(id) && [null, id].includes(wanted.get("key")));
  return {
    rule: rule?.id ?? "",
    path: rule === undefined ? "" : mcpPathOf(rule),
    key: key?.id ?? null,
    pastedKey: "",
    tool: "",
    arguments: {},
  };
}

/** The path of an MCP endpoint is that of its rule. A rule for a prefix takes any path in it. */
export function mcpPathOf({ path }: Pick<Rule, "path">): string {
  return path.replace(/\*$/, "mcp");
}

export function endpointOf(draft: RouteDraft, { rules }: ToolPlaygroundData): McpEndpoint {
  const rule = rules.find(({ id }) => id === draft.rule);
  return { path: draft.path, headers: clientHeaders(draft, rule) };
}

/** Lists the tools that the client may use, as the endpoint reports them. */
export async function listTools(endpoint: McpEndpoint, signal: AbortSignal): Promise<OfferedTools> {
  const { result, error, status } = await sendMcp(endpoint, { method: "tools/list", params: {} }, signal);
  const listed = Array.isArray(result?.["tools"]) ? (result["tools"] as readonly unknown[]) : [];
  const meta = isRecord(result?.["_meta"]) ? result["_meta"] : {};
  const refused = isRecord(meta[META_REFUSED]) ? meta[META_REFUSED] : {};
  const lacking = Array.isArray(meta[META_UNAVAILABLE]) ? meta[META_UNAVAILABLE].map(String) : [];
  return {
    tools: listed.flatMap(toOfferedTool),
    unavailable: lacking.filter((name) => !Object.hasOwn(refused, name)),
    refused: Object.entries(refused).map(([name, code]) => `${name} (${String(code)})`),
    error,
    status,
  };
}

function toOfferedTool(tool: unknown): OfferedTool | [] {
  if (!isRecord(tool) || typeof tool["name"] !== "string") return [];
  const { name, description, inputSchema } = tool;
  return { name, description: typeof description === "string" ? description : "", inputSchema };
}
