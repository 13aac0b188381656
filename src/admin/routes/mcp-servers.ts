// MCP servers of a gateway, and the approval of their tools. Responses show credentials masked.
import { GatehouseError } from "../../base/errors.ts";
import { mcpServerSchema, type McpServer, type McpServerFields } from "../../model/mcp-server.ts";
import { maskTarget } from "../../model/target-secrets.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { StoredToolPins } from "../../runtime/stored-tool-pins.ts";
import type { NamedTool } from "../../runtime/tool-lookalikes.ts";
import { pageQuery } from "../list-query.ts";
import { approvalInput, showTool } from "../mcp-tools.ts";
import { addOperation, type Call, type RouteTable } from "../operation.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { addResource, pathOfOne } from "../resource-operations.ts";
import { childDeclaration, type Resource } from "../resource.ts";
import { toStoredMcpServer } from "../stored-mcp-server.ts";
import { requireRecord } from "../write.ts";

type Pins = Pick<StoredToolPins, "refresh" | "lookalikes">;

export const mcpServers: Resource<"mcp_servers", McpServerFields> = {
  ...childDeclaration("mcp_servers", "mcp_server"),
  singular: "MCP server",
  plural: "MCP servers",
  tag: "MCP servers",
  collection: "/gateways/{gateway_id}/mcp-servers",
  schemaName: "McpServer",
  schema: mcpServerSchema,
  shownSchema: mcpServerSchema.extend(childFieldSchemas),
  example: {
    name: "tickets",
    url: "https://mcp.example.com/mcp",
    credentials: { type: "header", header_name: "Authorization", header_value: "Bearer a-secret-token" },
    tools: { allow: ["search_*", "get_*"], deny: ["get_secret"] },
    pin: "hold",
  },
  create: (fields, base, gatewayId) => ({
    record: newChild(base, gatewayId, toStoredMcpServer(fields, null)),
  }),
  change: (before, fields, updated_at) =>
    newChild({ ...before, updated_at }, before.gateway_id, toStoredMcpServer(fields, before)),
  show: maskTarget,
};

const approval = { status: 200, schema: "McpToolApproval", description: "The approved tools." } as const;

/**
 * Pins are read again, so that approvals are effective in this process; other nodes read them within a
 * second.
 */
export function addMcpServerRoutes(table: RouteTable, current: CurrentConfiguration, pins: Pins): void {
  addResource(table, current, mcpServers);
  const { store } = current;
  const serverOf = ({ params }: Pick<Call<unknown>, "params">) =>
    requireRecord(store, "mcp_servers", params["mcp_server_id"] ?? "", params["gateway_id"] ?? "");
  const response = { status: 200, schema: "McpToolList" } as const;
  addOperation(table, {
    tag: mcpServers.tag,
    method: "get",
    path: `${pathOfOne(mcpServers)}/tools`,
    summary: "List the tools of an MCP server as they were seen last",
    access: { role: "viewer" },
    query: pageQuery,
    response: { ...response, description: "By name. Empty until a client has listed the tools." },
    handle: async (call) => Response.json(await shownTools(current, pins, await serverOf(call), call.query)),
  });
  const approve = async (call: Call<unknown>, name: string | null, hash: string | null) => {
    const { id, gateway_id } = await serverOf(call);
    const at = new Date().toISOString();
    await pins.refresh();
    const except = name === null ? new Set(pins.lookalikes(id).keys()) : undefined;
    // An empty name would approve all tools.
    const approved = name === "" ? [] : await store.mcpTools.approve(id, name, hash, at, except);
    if (name !== null && approved.length === 0) throw await approvalError(current, id, name);
    const { audit, origin } = call.caller;
    const about = { resource: "mcp_tool", resource_id: id, gateway_id, name, revision: null };
    const details = { approve: approved.slice(0, MAX_AUDITED), count: approved.length };
    if (approved.length > 0) await audit.record({ ...origin, ...about, action: "update", details });
    await pins.refresh();
    return Response.json({ approved });
  };
  addOperation(table, {
    tag: mcpServers.tag,
    method: "post",
    path: `${pathOfOne(mcpServers)}/tools/{name}/approve`,
    summary: "Approve the definition of a tool that was seen last",
    access: { role: "operator" },
    body: "McpToolApprovalInput",
    isBodyOptional: true,
    response: approval,
    handle: (call) =>
      approve(call, call.params["name"] ?? "", validate(approvalInput, call.body).hash ?? null),
  });
  addOperation(table, {
    tag: mcpServers.tag,
    method: "post",
    path: `${pathOfOne(mcpServers)}/tools/approve`,
    summary:
      "Approve the definitions of all tools of an MCP server that have changed or are new, but those that look like another tool",
    access: { role: "operator" },
    response: approval,
    handle: (call) => approve(call, null, null),
  });
}

/** Returns a page of the tools of a server. */
async function shownTools(
  { store, snapshot }: CurrentConfiguration,
  pins: Pins,
  { id, pin, gateway_id }: Pick<McpServer, "id" | "pin" | "gateway_id">,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<object> {
  await pins.refresh();
  const { tools, count } = await store.mcpTools.list(id, limit, offset);
  const lookalikes = pins.lookalikes(id);
  const servers = snapshot.gateways.get(gateway_id)?.parts.mcp_servers ?? [];
  const nameOf = ({ serverId, name }: NamedTool) =>
    `${servers.find((each) => each.id === serverId)?.name ?? serverId}: ${name}`;
  const shown = tools.map((tool) => {
    const other = lookalikes.get(tool.name);
    return showTool(tool, pin, other === undefined ? undefined : other === null ? null : nameOf(other));
  });
  return { tools: shown, count, limit, offset };
}

/** Limits the size of an entry of the audit log. */
const MAX_AUDITED = 20;

async function approvalError(
  current: CurrentConfiguration,
  id: string,
  name: string,
): Promise<GatehouseError> {
  const known = (await current.store.mcpTools.hashes(id)).some((tool) => tool.name === name);
  return known
    ? new GatehouseError("tool_changed", "The server has changed the tool since. Read its definition again.")
    : new GatehouseError("not_found", `No tool "${name.slice(0, 64)}" of this MCP server was seen yet.`);
}
