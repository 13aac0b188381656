// gatehouse mcp: lists MCP servers and their tools, approves changed tools, and calls a tool through the gateway.
import { z } from "zod";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments, required } from "./arguments.ts";
import { callTool } from "./call-tool.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { printable, table } from "./terminal.ts";

const serverSchema = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  prefix: z.string().nullable(),
  pin: z.string(),
  enabled: z.boolean(),
});
const listSchema = z.object({ mcp_servers: z.array(serverSchema), count: z.int() });
const toolSchema = z.object({
  name: z.string(),
  status: z.string(),
  withheld_because: z.string().nullish(),
  lookalike_of: z.string().nullish(),
  hash: z.string(),
  definition: z.object({ description: z.string().optional() }).nullable(),
});
const toolsSchema = z.object({ tools: z.array(toolSchema), count: z.int() });
const approvedSchema = z.object({ approved: z.array(z.string()) });

type ServerRecord = z.output<typeof serverSchema>;

const PAGE_SIZE = 1000;
const MAX_LISTED = 10_000;
const SHOWN_DESCRIPTION = 80;

const parseMcpArguments = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      gateway: { type: "string" },
      endpoint: { type: "string" },
      key: { type: "string" },
      arguments: { type: "string", default: "{}" },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 3,
  });
type McpArguments = ReturnType<typeof parseMcpArguments>;

interface Place {
  readonly client: AdminClient;
  readonly gatewayName: string;
  /** The path of the servers. */
  readonly path: string;
}

const ACTIONS = new Map<string, (place: Place, given: McpArguments) => Promise<string>>([
  ["list", list],
  ["tools", tools],
  ["approve", approve],
]);
const ALL_ACTIONS = [...ACTIONS.keys(), "call"].join(", ");

export const mcp: Command = {
  summary: "list MCP servers and tools, approve changed tools, call a tool",
  help: `Usage: gatehouse mcp list [--gateway NAME|ID]
       gatehouse mcp tools SERVER
       gatehouse mcp approve SERVER [TOOL]
       gatehouse mcp call TOOL --endpoint URL [--arguments JSON] [--key KEY]

SERVER is a name or an id. tools lists the tools that clients have seen: new and approved ones are offered; changed ones differ
from the approved definition; withheld ones are not offered until they are approved: they are new, have changed, or look like
another tool. approve approves the definition that was seen last, of one tool, or of all but those that look like another one.
call sends a tools/call to the gateway, as an agent does.

  --gateway G       name or id; optional if there is only one gateway
  --endpoint URL    call: address of a rule that leads to MCP servers, such as http://127.0.0.1:8000/mcp
  --arguments JSON  call: arguments of the tool, a JSON object
  --key KEY         call: API key; default GATEHOUSE_API_KEY
${CLIENT_HELP}
  --json            print JSON`,
  run: async (args) => {
    const given = parseMcpArguments(args);
    const [name, ...others] = given.positionals;
    if (name === "call") return call(given, others);
    const action = name === undefined ? undefined : ACTIONS.get(name);
    if (name === undefined || action === undefined) {
      const problem = name === undefined ? "mcp needs an action" : `there is no "mcp ${name}"`;
      throw new UsageError(`${problem}; give one of ${ALL_ACTIONS}`);
    }
    const [min, max] = name === "list" ? [0, 0] : name === "tools" ? [1, 1] : [1, 2];
    if (others.length < min) throw new UsageError(`mcp ${name} needs the name or the id of an MCP server`);
    if (others.length > max)
      throw new UsageError(`unexpected argument "${others[max] ?? ""}"; remove it, or see --help`);
    const client = await adminClient(given.values);
    const gateway = await findGateway(client, given.values.gateway);
    const place = { client, gatewayName: gateway.name, path: `/gateways/${gateway.id}/mcp-servers` };
    console.log(await action(place, given));
    return 0;
  },
};

async function list(place: Place, { values }: McpArguments): Promise<string> {
  const found = await listServers(place);
  if (values.json) return JSON.stringify(found);
  if (found.length === 0) return `gateway ${printable(place.gatewayName)} has no MCP server`;
  const lines = found.map(({ id, name, url, prefix, pin, enabled }) =>
    [id, name, prefix ?? name, pin, enabled ? "yes" : "no", url].map(printable),
  );
  return table(["ID", "NAME", "PREFIX", "PIN", "ENABLED", "URL"], lines);
}

async function tools(place: Place, given: McpArguments): Promise<string> {
  const { id, name } = await find(place, given);
  const found: z.output<typeof toolSchema>[] = [];
  for (;;) {
    const query = `limit=${PAGE_SIZE}&offset=${found.length}`;
    const page = await place.client.get(`${place.path}/${id}/tools?${query}`, toolsSchema);
    found.push(...page.tools);
    if (page.tools.length < PAGE_SIZE || found.length >= MAX_LISTED) break;
  }
  if (given.values.json) return JSON.stringify(found);
  if (found.length === 0) return printable(`no client has listed the tools of MCP server ${name} yet`);
  const lines = found.map((tool) => {
    const description = (tool.definition?.description ?? "").slice(0, SHOWN_DESCRIPTION);
    const because = tool.withheld_because ?? null;
    const like = tool.lookalike_of ?? null;
    const reason = because === null ? "" : ` (${because}${like === null ? "" : ` of ${like}`})`;
    return [tool.name, tool.status + reason, description].map(printable);
  });
  return table(["TOOL", "STATUS", "DESCRIPTION"], lines);
}

async function approve(place: Place, given: McpArguments): Promise<string> {
  const { id, name } = await find(place, given);
  const tool = given.positionals[2];
  const path = tool === undefined ? "tools/approve" : `tools/${encodeURIComponent(tool)}/approve`;
  const { approved } = await place.client.post(`${place.path}/${id}/${path}`, {}, approvedSchema);
  if (given.values.json) return JSON.stringify({ approved });
  if (approved.length === 0) return printable(`no tool of MCP server ${name} has changed`);
  return printable(`approved ${approved.join(", ")} of MCP server ${name}`);
}

async function call({ values }: McpArguments, others: readonly string[]): Promise<number> {
  const [tool, extra] = others;
  if (tool === undefined) throw new UsageError("mcp call needs the name of a tool");
  if (extra !== undefined) throw new UsageError(`unexpected argument "${extra}"; use --arguments JSON`);
  const endpoint = required("--endpoint", values.endpoint);
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    throw new UsageError(`--endpoint is "${endpoint}"; give an address such as http://127.0.0.1:8000/mcp`);
  const key = values.key ?? process.env["GATEHOUSE_API_KEY"] ?? null;
  const { result, text, isError } = await callTool(endpoint, key, tool, values.arguments);
  console.log(values.json ? JSON.stringify(result) : printable(text));
  return isError ? 1 : 0;
}

async function find(place: Place, { positionals }: McpArguments): Promise<ServerRecord> {
  const [, wanted = ""] = positionals;
  const server = (await listServers(place)).find(({ id, name }) => id === wanted || name === wanted);
  if (server === undefined)
    throw new Error(`gateway ${place.gatewayName} has no MCP server "${wanted}"; see gatehouse mcp list`);
  return server;
}

async function listServers({ client, path }: Place): Promise<ServerRecord[]> {
  const found: ServerRecord[] = [];
  for (;;) {
    const page = await client.get(`${path}?limit=${PAGE_SIZE}&offset=${found.length}`, listSchema);
    found.push(...page.mcp_servers);
    if (page.mcp_servers.length < PAGE_SIZE || found.length >= MAX_LISTED) return found;
  }
}
