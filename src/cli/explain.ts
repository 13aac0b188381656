// gatehouse explain: prints what a running gateway would do with a request. Nothing is sent and nothing is counted.
import { explanationSchema, replaySchema } from "../model/explanation.ts";
import {
  adminClient,
  CLIENT_HELP,
  CLIENT_OPTIONS,
  parseJson,
  type AdminClientFlags,
} from "./admin-client.ts";
import { parseArguments, required } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { renderExplanation, renderReplay } from "./explain-text.ts";
import { findGateway } from "./find-gateway.ts";

export const explain: Command = {
  summary: "show how a request would be handled: rule, key, plugins, limits, target",
  help: `Usage: gatehouse explain --path PATH [--gateway NAME|ID] [--method M] [--header K:V …] [--key NAME|ID] [--body FILE|-] [--json]
       gatehouse explain --path PATH --tool NAME [--arguments JSON] [--gateway NAME|ID] [--key NAME|ID] [--json]
       gatehouse explain --request ID [--gateway NAME|ID] [--json]

Shows what a running gateway would do with a request. No provider is called and nothing is counted.

  --path PATH       path with query
  --request ID      explain a request of the request log instead: with its API key and, if it was recorded, its body
  --gateway G       name or id; optional if there is only one gateway
  --method M        default POST
  --header K:V      a header of the request; may be repeated
  --key K           API key that the client sends, by name or id; the key itself is not needed
  --body FILE|-     body from a file or standard input; Content-Type defaults to application/json for JSON
  --tool NAME       explain the call of an MCP tool, by the name that clients use
  --arguments JSON  arguments of the tool; default {}
  --client ADDRESS  IP address of the client; default 127.0.0.1
${CLIENT_HELP}
  --json            print the explanation as JSON`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        method: { type: "string", default: "POST" },
        path: { type: "string" },
        request: { type: "string" },
        key: { type: "string" },
        body: { type: "string" },
        client: { type: "string" },
        tool: { type: "string" },
        arguments: { type: "string" },
        header: { type: "string", multiple: true, default: [] },
        json: { type: "boolean", default: false },
      },
    });
    if (values.request !== undefined) return explainRecorded(values.request, values, args);
    const { method, client: client_address, key: api_key } = values;
    const path = required("--path", values.path);
    const headers = readHeaders(values.header);
    const body = values.body === undefined ? undefined : await readBody(values.body);
    if (body !== undefined && !hasHeader(headers, "content-type") && parseJson(body) !== undefined)
      headers["Content-Type"] = "application/json";
    const mcp = toolCall(values);
    const client = await adminClient(values);
    const gateway = await findGateway(client, values.gateway);
    const request = {
      method,
      path,
      headers,
      ...(body !== undefined && { body }),
      ...(client_address !== undefined && { client_address }),
      ...(api_key !== undefined && { api_key }),
      ...(mcp !== null && { mcp }),
    };
    const explanation = await client.post(`/gateways/${gateway.id}/explain`, request, explanationSchema);
    if (values.json) console.log(JSON.stringify(explanation));
    else console.log(renderExplanation(explanation, { method: method.toUpperCase(), path, gateway }));
    return 0;
  },
};

interface RecordedFlags extends AdminClientFlags {
  readonly gateway?: string | undefined;
  readonly json: boolean;
}

/** Options that describe a request. A recorded one is replayed as it was. */
const REQUEST_OPTIONS = [
  "--path",
  "--method",
  "--header",
  "--key",
  "--body",
  "--client",
  "--tool",
  "--arguments",
];

async function explainRecorded(id: string, flags: RecordedFlags, args: readonly string[]): Promise<number> {
  const given = REQUEST_OPTIONS.find((name) =>
    args.some((arg) => arg === name || arg.startsWith(`${name}=`)),
  );
  if (given !== undefined)
    throw new UsageError(`${given} cannot be combined with --request, which replays a recorded request`);
  const client = await adminClient(flags);
  const gateway = await findGateway(client, flags.gateway);
  const path = `/gateways/${gateway.id}/requests/${encodeURIComponent(id)}/explain`;
  const replay = await client.post(path, undefined, replaySchema);
  console.log(flags.json ? JSON.stringify(replay) : renderReplay(replay, gateway));
  return 0;
}

/** Returns null if no tool is given. */
function toolCall(flags: {
  readonly tool?: string | undefined;
  readonly arguments?: string | undefined;
  readonly body?: string | undefined;
}): object | null {
  const { tool: name, arguments: given = "{}", body } = flags;
  if (name === undefined) {
    if (flags.arguments !== undefined)
      throw new UsageError("--arguments needs --tool; give the name of a tool");
    return null;
  }
  if (body !== undefined) throw new UsageError("--tool cannot be combined with --body; remove one of them");
  const parsed = parseJson(given);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new UsageError(`--arguments is "${given.slice(0, 100)}"; give a JSON object`);
  return { method: "tools/call", params: { name, arguments: parsed } };
}

function readHeaders(given: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const text of given) {
    const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(`--header is "${text}"; give a name and a value, such as "X-Team: red"`);
    headers[name] = value;
  }
  return headers;
}

async function readBody(file: string): Promise<string> {
  if (file === "-") return Bun.stdin.text();
  return Bun.file(file)
    .text()
    .catch(() => {
      throw new UsageError(
        `--body: file "${file}" cannot be read; give a readable file, or - for standard input`,
      );
    });
}

function hasHeader(headers: Readonly<Record<string, string>>, wanted: string): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === wanted);
}
