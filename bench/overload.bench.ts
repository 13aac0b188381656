// Overload: MAX_IN_FLIGHT concurrent requests, then three times as many, then few. Requests above the limit are rejected
// immediately, so the served throughput should stay the same, and latency should be normal again soon after. Then one client sends
// texts that are slow to inspect, and the provider responds with very large texts, which must not delay the others.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_RESPONSE, CHAT_PATH, chatBody } from "./chat-payload.ts";
import { reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { benchHostileLoad } from "./hostile-load.ts";
import { benchLargeTexts } from "./large-texts.ts";
import { printTable } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk, type LoadResult } from "./wrk.ts";

const MAX_IN_FLIGHT = 200;
/** Long enough that the gateway's core is not saturated at MAX_IN_FLIGHT: the limit is measured, not the CPU. */
const THINK_MS = 50;
const SECONDS = 8;
/** Latency must be normal again after this time. */
const RECOVERY_MS = 5000;

export async function benchOverload(): Promise<void> {
  if (wrk === null) {
    console.log(`SKIPPED overload: it needs wrk (${INSTALL_WRK}).`);
    return;
  }
  reserveGatewayCore();
  const provider = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      await request.bytes();
      await Bun.sleep(THINK_MS);
      return new Response(CHAT_RESPONSE, { headers: { "Content-Type": "application/json" } });
    },
  });
  const folder = temporaryFolder();
  const bodyFile = join(folder, "body.json");
  writeFileSync(bodyFile, chatBody());
  const gatehouse = await startGatehouse({ dataDir: folder, env: { MAX_IN_FLIGHT: String(MAX_IN_FLIGHT) } });
  await createRoute(gatehouse, { targets: [targetAt(provider.url.origin)] });
  const run = (connections: number, seconds: number, restMs?: number) =>
    runWrk({
      url: gatehouse.proxyUrl + CHAT_PATH,
      bodyFile,
      connections,
      seconds,
      ...(restMs !== undefined && { restMs }),
    });
  await run(MAX_IN_FLIGHT, 3);
  const calm = await run(MAX_IN_FLIGHT / 4, SECONDS);
  const atLimit = await run(MAX_IN_FLIGHT, SECONDS);
  // Rejected connections wait for THINK_MS before they retry, which offers three times the requests that can be served.
  const over = await run(MAX_IN_FLIGHT * 4, SECONDS, THINK_MS);
  await Bun.sleep(RECOVERY_MS);
  const after = await run(MAX_IN_FLIGHT / 4, SECONDS);
  await gatehouse.stop();
  const [served, servedOver] = [servedPerSecond(atLimit), servedPerSecond(over)];
  const offered = over.requestsPerSecond / served;
  printTable(`Overload: at most ${MAX_IN_FLIGHT} in flight, a provider that takes ${THINK_MS} ms`, [
    { what: "served at the limit", value: served, unit: "requests/s" },
    { what: "offered above it", value: offered, unit: "times as many" },
    {
      what: "  served",
      value: servedOver,
      unit: "requests/s",
      note: `${((servedOver / served) * 100).toFixed(0)} %, at least 80 %`,
    },
    { what: "  rejected", value: over.errorResponses / SECONDS, unit: "requests/s" },
    { what: "  failed", value: over.failedConnections, unit: "connections" },
    { what: "p50 before", value: calm.p50Ms, unit: "ms" },
    { what: `p50 ${RECOVERY_MS / 1000} s after`, value: after.p50Ms, unit: "ms" },
    { what: "p99 before", value: calm.p99Ms, unit: "ms" },
    { what: `p99 ${RECOVERY_MS / 1000} s after`, value: after.p99Ms, unit: "ms" },
  ]);
  await benchHostileLoad(provider.url.origin, bodyFile);
  await provider.stop(true);
  await benchLargeTexts();
}

function servedPerSecond({ requests, errorResponses, requestsPerSecond }: LoadResult): number {
  return (requestsPerSecond * (requests - errorResponses)) / requests;
}
