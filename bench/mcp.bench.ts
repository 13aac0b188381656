// MCP: CPU time of a tool call compared with a bare chat completion in the same process, in alternating bursts, and memory of
// 1,000 concurrent sessions.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FakeMcpServer } from "../src/fake-provider/mcp-server.ts";
import { CHAT_PATH } from "./chat-payload.ts";
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { openSessions, startSession } from "./mcp-sessions.ts";
import { warm } from "./measure-round.ts";
import { nginx, startNginxProvider } from "./nginx.ts";
import { usageOf } from "./process-usage.ts";
import { median, printTable } from "./report.ts";
import { prepareWorkloads } from "./workload.ts";
import { newConversations, runWrk, wrk, type Load } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const BURSTS = 6;
const BURST_SECONDS = 1;
const CONNECTIONS = 64;
const WARM_REQUESTS = 60_000;
const SESSIONS = 1000;
/** The heap and the code of a session are in memory before the measurement. */
const WARM_SESSIONS = 200;
const SETTLE_MS = 3000;
const KILOBYTE = 1000;

const CALL = {
  name: "echo",
  arguments: { text: "The quick brown fox jumps over the lazy dog. ".repeat(20) },
};
const META = "io.modelcontextprotocol/";
const STATELESS_META = {
  [`${META}protocolVersion`]: "2026-07-28",
  [`${META}clientCapabilities`]: {},
  [`${META}clientInfo`]: { name: "bench", version: "1" },
};
const ACCEPT = "application/json, text/event-stream";

type Gatehouse = Awaited<ReturnType<typeof startGatehouse>>;
type Burst = Omit<Load, "seconds">;

export async function benchMcp(): Promise<void> {
  if (wrk === null || nginx === null) {
    console.log("SKIPPED mcp: wrk or nginx is not installed");
    return;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const server = new FakeMcpServer();
  try {
    await benchCalls(folder, server);
    await benchSessions(server);
  } finally {
    await server.stop();
  }
}

async function benchCalls(folder: string, server: FakeMcpServer): Promise<void> {
  const provider = freePort();
  startNginxProvider(folder, provider, OTHER_CORES);
  const gatehouse = await startGatehouse({ dataDir: temporaryFolder() });
  await createRoute(gatehouse, { targets: [targetAt(`http://127.0.0.1:${provider}`)] });
  const url = await createMcpRoute(gatehouse, server);
  const [workload] = prepareWorkloads(folder, "1k");
  const chat: Burst = {
    url: gatehouse.proxyUrl + CHAT_PATH,
    bodyFile: workload!.bodyFile,
    conversations: newConversations(workload!.turnFiles),
    connections: CONNECTIONS,
  };
  const loads = [chat, statelessCalls(folder, url), sessionCalls(folder, url, await startSession(url))];
  for (const load of loads) await warm(load, BURST_SECONDS, WARM_REQUESTS);
  const costs: number[][] = loads.map(() => []);
  for (let burst = 0; burst < BURSTS; burst++)
    for (const [at, load] of loads.entries()) costs[at]!.push(await burstCost(gatehouse.pid, load));
  await gatehouse.stop();
  const [bare, stateless, session] = costs.map(median) as [number, number, number];
  printTable(`MCP: CPU time per request, ${BURSTS} bursts of ${BURST_SECONDS} s each in turn`, [
    { what: "chat completion of 1 kB, one target", value: bare, unit: "µs" },
    { what: "tool call of 1 kB, stateless", value: stateless, unit: "µs" },
    { what: "tool call of 1 kB, in a session", value: session, unit: "µs" },
    { what: "ratio, stateless", value: stateless / bare, unit: "", note: "limit 3" },
    { what: "ratio, in a session", value: session / bare, unit: "", note: "limit 3" },
  ]);
}

/** Returns the URL of an endpoint that leads to one server. */
async function createMcpRoute(gatehouse: Gatehouse, server: FakeMcpServer): Promise<string> {
  const { id: gateway } = await gatehouse.create("/gateways", { name: "tools" });
  const at = `/gateways/${gateway}`;
  const { id } = await gatehouse.create(`${at}/mcp-servers`, { name: "fake", url: server.url });
  const service = { name: "tools", type: "mcp", mcp_server_ids: [id] };
  const { id: service_id } = await gatehouse.create(`${at}/services`, service);
  await gatehouse.create(`${at}/rules`, { service_id, path: "/mcp", methods: ["*"] });
  return `${gatehouse.proxyUrl}/mcp`;
}

function statelessCalls(folder: string, url: string): Burst {
  const bodyFile = join(folder, "stateless-call.json");
  const params = { ...CALL, _meta: STATELESS_META };
  writeFileSync(bodyFile, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  const headers = {
    Accept: ACCEPT,
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": CALL.name,
  };
  return { url, bodyFile, headers, connections: CONNECTIONS };
}

function sessionCalls(folder: string, url: string, sessionId: string): Burst {
  const bodyFile = join(folder, "session-call.json");
  writeFileSync(bodyFile, JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: CALL }));
  const headers = { Accept: ACCEPT, "MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": sessionId };
  return { url, bodyFile, headers, connections: CONNECTIONS };
}

async function burstCost(pid: number, load: Burst): Promise<number> {
  const before = usageOf(pid).cpuMicroseconds;
  const { requests, errorResponses, failedConnections } = await runWrk({ ...load, seconds: BURST_SECONDS });
  if (errorResponses + failedConnections > 0)
    throw new Error(`${errorResponses} error responses, ${failedConnections} failed connections`);
  return (usageOf(pid).cpuMicroseconds - before) / requests;
}

async function benchSessions(server: FakeMcpServer): Promise<void> {
  const rows = [];
  for (const hasStream of [false, true]) {
    const gatehouse = await startGatehouse({ dataDir: temporaryFolder() });
    const url = await createMcpRoute(gatehouse, server);
    const warmed = await openSessions(url, WARM_SESSIONS, hasStream);
    warmed.close();
    await Bun.sleep(SETTLE_MS);
    const before = usageOf(gatehouse.pid).residentBytes;
    const opened = await openSessions(url, SESSIONS, hasStream);
    await Bun.sleep(SETTLE_MS);
    const perSession = (usageOf(gatehouse.pid).residentBytes - before) / SESSIONS / KILOBYTE;
    opened.close();
    await gatehouse.stop();
    rows.push({
      what: hasStream ? "with an open stream of notifications" : "between requests",
      value: perSession,
      unit: "kB per session",
      note: "limit 40",
    });
  }
  printTable(`MCP: resident memory of ${SESSIONS} concurrent sessions, each after a tool call`, rows);
}
