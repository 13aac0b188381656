// gatehouse demo: a gateway with two fake providers and an example configuration. Needs no account and no internet; nothing
// is kept when it ends.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { readSettings, SettingsError, type Settings } from "../config/settings.ts";
import { FakeMcpServer } from "../fake-provider/mcp-server.ts";
import { startFakeProvider, type FakeProvider } from "../fake-provider/server.ts";
import { WHOLE_API_UPSTREAM } from "../formats/example-upstream.ts";
import { startGatehouse, type Gatehouse } from "../main.ts";
import type { Log } from "../telemetry/log/log.ts";
import { adminClient } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { mintToken } from "./mint-token.ts";
import { awaitSignal, runUntil } from "./run-until-signal.ts";
import { logFor } from "./serve.ts";

const TOKEN_SECONDS = 86_400;
/** One rule for every endpoint of the clients' SDKs. */
const RULE = { path: "/v1/*", methods: ["*"] };
/** What the key may use; responses show what is left. */
const TOKENS_PER_HOUR = 1_000_000;
const TOKEN_LIMIT = {
  name: "token_limiter",
  stage: "pre_request",
  settings: { limits: { per_key: { limit: TOKENS_PER_HOUR, window: "1h" } } },
};
/** Tools for agents. */
const MCP_RULE = { path: "/mcp", methods: ["*"], require_api_key: true };
const CHAT_PATH = "/v1/chat/completions";
const MESSAGES_PATH = "/v1/messages";

/** What a user needs to send requests to the demo; with --json printed as it is. */
interface DemoAccess {
  readonly admin_url: string;
  readonly url: string;
  readonly token: string;
  readonly api_key: string;
  readonly models: readonly string[];
  readonly mcp_url: string;
}

export const demo: Command = {
  summary: "try the gateway with two fake providers, without an account",
  help: `Usage: gatehouse demo [--json]

Starts two fake providers and a gateway in front of them, sends one request through it, and prints commands to
continue with. The ports are ADMIN_PORT and PROXY_PORT, or free ones if these are taken. Nothing is kept.

  --json  print {"admin_url", "url", "token", "api_key", "models", "mcp_url"} instead`,
  run: async (args) => {
    const { values } = parseArguments(args, { options: { json: { type: "boolean" } } });
    const directory = mkdtempSync(join(tmpdir(), "gatehouse-demo-"));
    const signal = awaitSignal();
    const providers: FakeProvider[] = [];
    const tools = new FakeMcpServer({ name: "demo" });
    try {
      for (const { provider } of WHOLE_API_UPSTREAM.targets)
        providers.push(await startFakeProvider({ name: provider }));
      const settings = demoSettings(directory);
      const log = logFor(settings);
      const gatehouse = await startOnFreePorts(settings, log);
      const access = await configure(gatehouse, settings, providers, tools);
      if (values.json === true) console.log(JSON.stringify(access));
      else await introduce(access);
      await runUntil(signal, gatehouse, settings, log);
    } finally {
      await Promise.all([...providers, tools].map((provider) => provider.stop()));
      rmSync(directory, { recursive: true, force: true });
    }
    return 0;
  },
};

function demoSettings(directory: string): Settings {
  return readSettings({
    LOG_LEVEL: "warn",
    ...process.env,
    DATA_DIR: directory,
    DATABASE_URL: "",
    REDIS_URL: "",
    HOST: "127.0.0.1",
    SERVER_SECRET_KEY: randomBytes(32).toString("hex"),
    DRAIN_DELAY_MS: "0",
  });
}

async function startOnFreePorts(settings: Settings, log: Log): Promise<Gatehouse> {
  try {
    return await startGatehouse(settings, "all", log);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return startGatehouse({ ...settings, ADMIN_PORT: 0, PROXY_PORT: 0 }, "all", log);
  }
}

const createdSchema = z.object({ id: z.string() });
const createdKeySchema = z.object({ key: z.string() });

/** Creates the example through the Admin API, as an operator would. */
async function configure(
  { adminUrl, proxyUrl }: Gatehouse,
  settings: Settings,
  providers: readonly FakeProvider[],
  tools: FakeMcpServer,
): Promise<DemoAccess> {
  const admin_url = adminUrl ?? "";
  const token = await mintToken(settings.SERVER_SECRET_KEY ?? "", TOKEN_SECONDS, "demo");
  const client = await adminClient({ url: admin_url, token });
  const create = async (path: string, body: unknown) => (await client.post(path, body, createdSchema)).id;
  const targets = WHOLE_API_UPSTREAM.targets.map((target, index) => ({
    ...target,
    base_url: providers[index]?.url,
  }));
  const subject = await create("/gateways", {
    name: "demo",
    error_format: "auto",
    required_plugins: [TOKEN_LIMIT],
  });
  const gatewayPath = `/gateways/${subject}`;
  const upstream_id = await create(`${gatewayPath}/upstreams`, { ...WHOLE_API_UPSTREAM, targets });
  const service_id = await create(`${gatewayPath}/services`, { name: "models", upstream_id });
  await create(`${gatewayPath}/rules`, { service_id, ...RULE });
  const server = await create(`${gatewayPath}/mcp-servers`, { name: "demo", url: tools.url });
  const mcp_server_ids = [server];
  const toolService = await create(`${gatewayPath}/services`, { name: "tools", type: "mcp", mcp_server_ids });
  await create(`${gatewayPath}/rules`, { service_id: toolService, ...MCP_RULE });
  const { key } = await client.post("/iam/api-keys", { name: "demo", subject }, createdKeySchema);
  const models = targets.map((target) => target.default_model);
  const origin = proxyUrl ?? "";
  const mcp_url = `${origin}${MCP_RULE.path}`;
  return { admin_url, url: `${origin}${CHAT_PATH}`, token, api_key: key, models, mcp_url };
}

/** Sends the first request and prints commands to continue with. */
async function introduce(access: DemoAccess): Promise<void> {
  const { url, api_key, models } = access;
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-GW-API-Key": api_key },
    body: JSON.stringify({ model: models[0], messages: [{ role: "user", content: "Hello, Gatehouse!" }] }),
  });
  const provider = response.headers.get("x-gw-provider") ?? "none";
  console.log(`POST ${url} → ${response.status}, provider: ${provider}`);
  console.log(await response.text());
  console.log(nextCommands(access));
}

function nextCommands({ admin_url, url, token, api_key, models, mcp_url }: DemoAccess): string {
  const chat = (model: string, rest = "") =>
    `curl -sS${rest === "" ? "" : "N"} ${url} -H "Content-Type: application/json" -H "X-GW-API-Key: ${api_key}" \\
  -d '{"model": "${model}"${rest}, "messages": [{"role": "user", "content": "Tell me something."}]}'`;
  const { origin } = new URL(url);
  return `
Paste these commands into another terminal.

# the first provider
${chat(models[0] ?? "")}

# the second provider, streamed; the response has the format of the request
${chat(models[1] ?? "", ', "stream": true')}

# the first provider, as a client of the second one calls it
curl -sS ${origin}${MESSAGES_PATH} -H "Content-Type: application/json" -H "X-Api-Key: ${api_key}" \\
  -d '{"model": "${models[0] ?? ""}", "max_tokens": 100, "messages": [{"role": "user", "content": "Tell me something."}]}'

# the models that this key may use
curl -sS ${origin}/v1/models -H "X-GW-API-Key: ${api_key}"

# a tool of an MCP server, as an agent calls it
curl -sS ${mcp_url} -H "Content-Type: application/json" -H "Accept: application/json, text/event-stream" \\
  -H "X-GW-API-Key: ${api_key}" -H "MCP-Protocol-Version: 2026-07-28" -H "Mcp-Method: tools/call" -H "Mcp-Name: add" \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 20, "b": 22}, "_meta": {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}}'

# the configuration, through the Admin API
curl -sS ${admin_url}/api/v1/gateways -H "Authorization: Bearer ${token}"

SDKs and coding agents need only another base URL and this key: ${origin}/v1 for OpenAI's SDKs, ${origin} for
Anthropic's. See docs/guides/sdks-and-coding-agents.md.

The key may use ${TOKENS_PER_HOUR.toLocaleString("en-US")} tokens per hour (the plugin token_limiter). The header x-ratelimit-remaining-tokens of
each response shows what is left.

Claude Code uses the tools after: claude mcp add --transport http demo ${mcp_url} --header "X-GW-API-Key: ${api_key}"
See docs/guides/tools-for-agents.md.

API reference: ${admin_url}/api/docs
Console: ${admin_url}/console (sign in with the token of the last command)

Ctrl-C stops the demo and deletes its data.`;
}
