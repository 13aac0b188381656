// Overload: as many requests as fit, then three times as many, then as few as before. What is too much is refused at once,
// so what is served should stay what it was, and all be as before soon after.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_RESPONSE, CHAT_PATH, chatBody } from "./chat-payload.ts";
import { reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk, type LoadResult } from "./wrk.ts";

const MAX_IN_FLIGHT = 200;
/** So one core has time to spare at its bound, and what is measured is the bound. */
const THINK_MS = 50;
const SECONDS = 8;
/** After which latency has to be normal. */
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
  const most = await run(MAX_IN_FLIGHT, SECONDS);
  // Those that are not in flight rest for the time that an answer takes, then try: three times what can be served.
  const over = await run(MAX_IN_FLIGHT * 4, SECONDS, THINK_MS);
  await Bun.sleep(RECOVERY_MS);
  const after = await run(MAX_IN_FLIGHT / 4, SECONDS);
  await gatehouse.stop();
  await provider.stop(true);
  const [served, servedOver] = [servedPerSecond(most), servedPerSecond(over)];
  const offered = over.requestsPerSecond / served;
  printTable(`Overload: ${MAX_IN_FLIGHT} in flight at most, a provider that takes ${THINK_MS} ms`, [
    { what: "served at the bound", value: served, unit: "requests a second" },
    { what: "offered beyond it", value: offered, unit: "times as many" },
    {
      what: "  served then",
      value: servedOver,
      unit: "requests a second",
      note: `${((servedOver / served) * 100).toFixed(0)} %, at least 80 %`,
    },
    { what: "  refused then", value: over.errorResponses / SECONDS, unit: "requests a second" },
    { what: "  broken then", value: over.failedConnections, unit: "connections" },
    { what: "p50 before", value: calm.p50Ms, unit: "ms" },
    { what: `p50 ${RECOVERY_MS / 1000} s after`, value: after.p50Ms, unit: "ms" },
    { what: "p99 before", value: calm.p99Ms, unit: "ms" },
    { what: `p99 ${RECOVERY_MS / 1000} s after`, value: after.p99Ms, unit: "ms" },
  ]);
}

function servedPerSecond({ requests, errorResponses: refused, requestsPerSecond }: LoadResult): number {
  return (requestsPerSecond * (requests - refused)) / requests;
}
