// CPU time of hits of response_cache, whole and streamed, compared with requests that are sent to a provider: one process, alternating bursts.
// `cache` has the responses in memory, `cache-redis` in Redis.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH, chatBody, LONG_CHAT_RESPONSE } from "./chat-payload.ts";
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { warm } from "./measure-round.ts";
import { nginx, startNginxProvider } from "./nginx.ts";
import { usageOf } from "./process-usage.ts";
import { median, printTable, type Measurement } from "./report.ts";
import { runWrk, wrk, type Load } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";
import { hasRedis, startRedis } from "../test/support/redis.ts";

const BURSTS = 8;
const BURST_SECONDS = 1;
const CONNECTIONS = 64;
const WARM_REQUESTS = 60_000;
const LIMIT_NOTE = "limit 30";
const BARE_PATH = "/bare/chat/completions";

interface Side {
  readonly what: string;
  readonly load: Omit<Load, "seconds">;
  readonly costs: number[];
}

export function benchCache(): Promise<void> {
  return measureHits("memory", {});
}

export async function benchCacheRedis(): Promise<void> {
  if (!hasRedis) return;
  const redis = await startRedis(["--appendonly", "no"]);
  await measureHits("Redis", { REDIS_URL: redis.url });
  await redis.stop();
}

async function measureHits(place: string, env: Readonly<Record<string, string>>): Promise<void> {
  if (wrk === null || nginx === null) {
    console.log("SKIPPED cache: wrk or nginx is not installed");
    return;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const provider = freePort();
  const nginxProvider = startNginxProvider(folder, provider, OTHER_CORES, 1, LONG_CHAT_RESPONSE);
  const gatehouse = await startGatehouse({ dataDir: temporaryFolder(), env });
  const targets = [targetAt(`http://127.0.0.1:${provider}`)];
  await createRoute(gatehouse, { targets, gateway: { name: "bare" }, path: BARE_PATH });
  const cached = await createRoute(gatehouse, {
    targets,
    gateway: { name: "cached", required_plugins: [{ name: "response_cache", stage: "pre_request" }] },
  });
  // The default isolation keeps responses per API key.
  const { key } = await gatehouse.create("/iam/api-keys", { name: "bench", subject: cached.gateway });
  const sides = sidesOf(folder, gatehouse.proxyUrl, key);
  for (const { load } of sides) await warm(load, BURST_SECONDS, WARM_REQUESTS);
  for (let burst = 0; burst < BURSTS; burst++)
    for (const { load, costs } of sides) costs.push(await burstCost(gatehouse.pid, load));
  await gatehouse.stop();
  await nginxProvider.stop();
  report(place, sides);
}

/** The sides differ in the gateway that serves them, and in whether the client wants a stream. */
function sidesOf(folder: string, proxyUrl: string, key: string): Side[] {
  const whole = chatBody();
  const streamed = JSON.stringify({ ...(JSON.parse(whole) as object), stream: true });
  const side = (what: string, path: string, body: string, headers: Record<string, string> = {}): Side => {
    const bodyFile = join(folder, `${what}.json`);
    writeFileSync(bodyFile, body);
    return {
      what,
      load: { url: proxyUrl + path, bodyFile, connections: CONNECTIONS, headers },
      costs: [],
    };
  };
  const keyed = { "X-GW-API-Key": key };
  return [
    side("bare request to a provider", BARE_PATH, whole),
    side("hit, whole", CHAT_PATH, whole, keyed),
    side("hit, stream", CHAT_PATH, streamed, keyed),
  ];
}

function report(place: string, [bare, ...hits]: readonly Side[]): void {
  if (bare === undefined) return;
  const rows: Measurement[] = hits.flatMap(({ what, costs }) => {
    const ratios = costs.map((cost, burst) => cost / bare.costs[burst]!);
    return [
      { what, value: median(costs), unit: "µs", ...(place === "memory" && { note: LIMIT_NOTE }) },
      { what: `${what}: ratio, median of the bursts`, value: median(ratios), unit: "" },
    ];
  });
  printTable(
    `Response cache in ${place}: CPU time per request, ${BURSTS} bursts of ${BURST_SECONDS} s each in turn`,
    [{ what: bare.what, value: median(bare.costs), unit: "µs" }, ...rows],
  );
}

async function burstCost(pid: number, load: Omit<Load, "seconds">): Promise<number> {
  const before = usageOf(pid).cpuMicroseconds;
  const { requests, errorResponses, failedConnections } = await runWrk({ ...load, seconds: BURST_SECONDS });
  if (errorResponses + failedConnections > 0)
    throw new Error(`${errorResponses} error responses, ${failedConnections} failed connections`);
  return (usageOf(pid).cpuMicroseconds - before) / requests;
}
