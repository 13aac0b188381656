// How long other clients wait, and whether the process is restarted, beside large and hostile messages of MCP clients, MCP servers and
// providers, eight at a time.
import { availableParallelism } from "node:os";
import { PeerThread } from "../test/support/peer-thread.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder, type Gatehouse } from "./gatehouse.ts";
import { loopCpuMs } from "./large-texts.ts";
import { printTable, type Measurement } from "./report.ts";

const AT_ONCE = 8;
const MAX_HEALTH_MS = 100;
const META = "io.modelcontextprotocol/";
const VERSION = "2026-07-28";

const filled = (bytes: number, item: string) => item.repeat(Math.floor(bytes / item.length));
const dense = (bytes: number) => `[${filled(bytes, "[],")}[]]`;
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const rpc = (result: string) => `{"jsonrpc":"2.0","id":"@id","result":{"resultType":"complete",${result}}}`;
const listOf = (items: string, more = "") => rpc(`"tools":[${items}],"ttlMs":0${more}`);
const messageOf = (input: string) =>
  `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"run","input":{"a":${input}}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":5}}`;
const TOOL = `{"name":"run","inputSchema":{"type":"object"}}`;
const tools = Array.from(
  { length: 2000 },
  (_, at) => `{"name":"t${at}","inputSchema":{"type":"object","x":${dense(7000)}}}`,
);

interface Case {
  readonly what: string;
  readonly method: "tools/call" | "tools/list" | "chat";
  /** The response of the peer. */
  readonly response?: string;
  readonly arguments?: string;
}

const CASES: readonly Case[] = [
  { what: "client: 9 MB of empty lists", method: "tools/call", arguments: dense(9_000_000) },
  { what: "client: 100,000 levels", method: "tools/call", arguments: nested(100_000) },
  { what: "server: list of 14 MB", method: "tools/list", response: listOf([TOOL, ...tools].join(",")) },
  {
    what: "server: pages of nameless items",
    method: "tools/list",
    response: listOf(filled(15_000_000, '{"a":1},') + TOOL, `,"nextCursor":"next"`),
  },
  {
    what: "server: result of 15 MB",
    method: "tools/call",
    response: rpc(`"content":[],"structuredContent":{"a":${dense(15_000_000)}}`),
  },
  {
    what: "server: 100,000 levels",
    method: "tools/call",
    response: rpc(`"content":[],"structuredContent":{"a":${nested(100_000)}}`),
  },
  {
    what: "server: schema of 100,000 levels",
    method: "tools/list",
    response: listOf(`{"name":"run","inputSchema":{"a":${nested(100_000)}}}`),
  },
  { what: "provider: 100,000 levels, translated", method: "chat", response: messageOf(nested(100_000)) },
  { what: "provider: 10 MB, translated", method: "chat", response: messageOf(dense(10_000_000)) },
];

export async function benchLargePeers(): Promise<void> {
  const peers = await PeerThread.start();
  const gatehouse = await startGatehouse({
    dataDir: temporaryFolder(),
    env: { WATCHDOG_SECONDS: "3" },
    cores: `0-${availableParallelism() - 1}`,
  });
  const chat = await chatRoute(gatehouse, peers.url);
  const mcp = await mcpRoute(gatehouse, peers.url);
  await peers.respondTo(
    "server/discover",
    rpc(`"supportedVersions":["${VERSION}"],"capabilities":{"tools":{}},"ttlMs":0`),
  );
  const measured: Measurement[] = [];
  for (const each of CASES)
    measured.push(await measure(each, gatehouse, peers, each.method === "chat" ? chat : mcp));
  const startedAt = await startTime(gatehouse);
  printTable(`Large messages of peers, ${AT_ONCE} at a time: longest time of /healthz`, [
    ...measured,
    { what: "restarts", value: startedAt === (await firstStart) ? 0 : 1, unit: "" },
  ]);
  await gatehouse.stop();
  peers.stop();
}

let firstStart: Promise<string> = Promise.resolve("");

async function startTime({ adminUrl }: Gatehouse): Promise<string> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  return /^process_start_time_seconds (\S+)$/m.exec(metrics)?.[1] ?? "";
}

async function chatRoute(gatehouse: Gatehouse, url: string): Promise<string> {
  firstStart = startTime(gatehouse);
  await createRoute(gatehouse, { targets: [{ ...targetAt(url), provider: "anthropic" }] });
  return `${gatehouse.proxyUrl}/v1/chat/completions`;
}

async function mcpRoute(gatehouse: Gatehouse, url: string): Promise<string> {
  const { id } = await gatehouse.create("/gateways", { name: "mcp" });
  const server = await gatehouse.create(`/gateways/${id}/mcp-servers`, { name: "alpha", url: `${url}/mcp` });
  const service = await gatehouse.create(`/gateways/${id}/services`, {
    name: "tools",
    type: "mcp",
    mcp_server_ids: [server.id],
  });
  await gatehouse.create(`/gateways/${id}/rules`, { path: "/mcp", methods: ["*"], service_id: service.id });
  return `${gatehouse.proxyUrl}/mcp`;
}

async function measure(
  each: Case,
  gatehouse: Gatehouse,
  peers: PeerThread,
  url: string,
): Promise<Measurement> {
  const { what, method, response } = each;
  await peers.respondTo("tools/list", listOf(TOOL));
  await peers.respondTo("tools/call", rpc(`"content":[]`));
  if (response !== undefined) await peers.respondTo(method === "chat" ? "/v1/messages" : method, response);
  let isRunning = true;
  let [longest, cpuMs] = [0, 0];
  const watch = async () => {
    let cpuBefore = loopCpuMs(gatehouse.pid);
    while (isRunning) {
      const before = performance.now();
      const isHealthy = await fetch(`${gatehouse.proxyUrl}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
      longest = Math.max(longest, isHealthy ? performance.now() - before : Infinity);
      const cpu = loopCpuMs(gatehouse.pid);
      cpuMs = Math.max(cpuMs, cpu - cpuBefore);
      cpuBefore = cpu;
      await Bun.sleep(2);
    }
  };
  const watching = watch();
  const responses = await peers.send({ url, ...requestOf(each), count: AT_ONCE });
  isRunning = false;
  await watching;
  const statuses = [...new Set(responses.map(({ status }) => status))].join(", ");
  const note = `CPU time of the event loop ${cpuMs.toFixed(0)} ms; responses with ${statuses}`;
  return { what, value: longest, unit: "ms", atMost: MAX_HEALTH_MS, note };
}

function requestOf({ method, arguments: given }: Case): { headers: Record<string, string>; body: string } {
  const json = { "Content-Type": "application/json" };
  if (method === "chat")
    return { headers: json, body: `{"model":"m","messages":[{"role":"user","content":"Hi"}]}` };
  const isCall = method === "tools/call";
  const meta = `"${META}protocolVersion":"${VERSION}","${META}clientCapabilities":{},"${META}clientInfo":{"name":"t","version":"1"}`;
  const call = isCall ? `,"name":"run","arguments":{"a":${given ?? "1"}}` : "";
  return {
    headers: {
      ...json,
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": VERSION,
      "Mcp-Method": method,
      ...(isCall && { "Mcp-Name": "run" }),
    },
    body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"_meta":{${meta}}${call}}}`,
  };
}
