// Clients that send half of a large body and then wait: how much memory they take, and what other clients notice.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH, chatBody } from "./chat-payload.ts";
import { OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { freePort, startPinned } from "./pinned-process.ts";
import { usageOf } from "./process-usage.ts";
import { printTable } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk } from "./wrk.ts";

const CLIENTS = 200;
const BODY_BYTES = 10_000_000;
const BUDGET = 256 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;
const ALLOWED_OVERHEAD = 100 * MEGABYTE;
const SECONDS = 8;
const SENDING_SECONDS = 2;
/** Below saturation, so that latency shows the wait for the event loop. */
const GOOD_CLIENTS = 16;
const REST_MS = 20;
const SAMPLE_MS = 50;
const ATTACK = join(import.meta.dir, "load/send-half-bodies.ts");

export async function benchHalfSentBodies(): Promise<void> {
  if (wrk === null || nginx === null) {
    console.log(`SKIPPED half-sent bodies: they need wrk (${INSTALL_WRK}) and nginx (${INSTALL_NGINX}).`);
    return;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const providerPort = freePort();
  const provider = startNginxProvider(folder, providerPort, OTHER_CORES);
  const bodyFile = join(folder, "body.json");
  writeFileSync(bodyFile, chatBody());
  const gatehouse = await startGatehouse({ dataDir: folder, env: { MAX_BUFFERED_BYTES: String(BUDGET) } });
  await createRoute(gatehouse, { targets: [targetAt(`http://127.0.0.1:${providerPort}`)] });
  const url = gatehouse.proxyUrl + CHAT_PATH;
  const run = (seconds: number) =>
    runWrk({ url, bodyFile, connections: GOOD_CLIENTS, seconds, restMs: REST_MS });
  await run(SECONDS);
  const before = await run(SECONDS);
  const idleBytes = usageOf(gatehouse.pid).residentBytes;
  let peakBytes = 0;
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, usageOf(gatehouse.pid).residentBytes);
  }, SAMPLE_MS);
  const { port } = new URL(gatehouse.proxyUrl);
  const attackers = startPinned(
    [process.execPath, ATTACK, port, CHAT_PATH, String(CLIENTS), String(BODY_BYTES)],
    { cores: OTHER_CORES },
  );
  // A gigabyte arrives as fast as the loopback interface can carry it; receiving it takes most of a second.
  const sending = await run(SENDING_SECONDS);
  const held = await run(SECONDS);
  clearInterval(sampling);
  for (const each of [attackers, gatehouse, provider]) await each.stop();
  printTable(
    `${CLIENTS} clients send half of ${BODY_BYTES / 1e6} MB, MAX_BUFFERED_BYTES ${BUDGET / MEGABYTE} MB`,
    [
      { what: "resident before", value: idleBytes / MEGABYTE, unit: "MB" },
      {
        what: "resident at most",
        value: peakBytes / MEGABYTE,
        unit: "MB",
        note: `at most ${(BUDGET + ALLOWED_OVERHEAD) / MEGABYTE}`,
      },
      { what: "p99 of other clients before", value: before.p99Ms, unit: "ms" },
      {
        what: "  while the bodies are sent",
        value: sending.p99Ms,
        unit: "ms",
        note: `${(sending.p99Ms / before.p99Ms).toFixed(1)} times`,
      },
      {
        what: "  while they are held",
        value: held.p99Ms,
        unit: "ms",
        note: `${(held.p99Ms / before.p99Ms).toFixed(2)} times, at most 2`,
      },
      {
        what: "  rejected",
        value: sending.errorResponses + held.errorResponses,
        unit: `of ${sending.requests + held.requests} requests`,
      },
    ],
  );
}
