// Clients that send half of a large body and then wait: how much memory they take, and what other clients notice.
import { connect, type Socket } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_RESPONSE, CHAT_PATH, chatBody } from "./chat-payload.ts";
import { reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { usageOf } from "./process-usage.ts";
import { printTable } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk } from "./wrk.ts";

const CLIENTS = 200;
const BODY_BYTES = 10_000_000;
const BUDGET = 256 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;
const ALLOWED_OVERHEAD = 100 * MEGABYTE;
const SECONDS = 8;
/** Below saturation, so that latency shows the wait for the event loop. */
const GOOD_CLIENTS = 16;
const REST_MS = 20;
const SAMPLE_MS = 50;

export async function benchHalfSentBodies(): Promise<void> {
  if (wrk === null) {
    console.log(`SKIPPED half-sent bodies: they need wrk (${INSTALL_WRK}).`);
    return;
  }
  reserveGatewayCore();
  const provider = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(CHAT_RESPONSE, { headers: { "Content-Type": "application/json" } }),
  });
  const folder = temporaryFolder();
  const bodyFile = join(folder, "body.json");
  writeFileSync(bodyFile, chatBody());
  const gatehouse = await startGatehouse({ dataDir: folder, env: { MAX_BUFFERED_BYTES: String(BUDGET) } });
  await createRoute(gatehouse, { targets: [targetAt(provider.url.origin)] });
  const url = gatehouse.proxyUrl + CHAT_PATH;
  const run = () => runWrk({ url, bodyFile, connections: GOOD_CLIENTS, seconds: SECONDS, restMs: REST_MS });
  await run();
  const before = await run();
  const idleBytes = usageOf(gatehouse.pid).residentBytes;
  let peakBytes = 0;
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, usageOf(gatehouse.pid).residentBytes);
  }, SAMPLE_MS);
  const attackers = Array.from({ length: CLIENTS }, (_, index) => sendHalf(gatehouse.proxyUrl, index));
  const during = await run();
  clearInterval(sampling);
  for (const attacker of attackers) attacker.destroy();
  await gatehouse.stop();
  await provider.stop(true);
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
        what: "p99 of other clients meanwhile",
        value: during.p99Ms,
        unit: "ms",
        note: `${(during.p99Ms / before.p99Ms).toFixed(2)} times, at most 2`,
      },
      { what: "  rejected", value: during.errorResponses, unit: `of ${during.requests} requests` },
    ],
  );
}

/** Every client has an address of its own, as a trusted proxy would report it. */
function sendHalf(proxyUrl: string, index: number): Socket {
  const socket = connect(Number(new URL(proxyUrl).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(
    `POST ${CHAT_PATH} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n` +
      `X-Forwarded-For: 198.51.100.${index}\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(BODY_BYTES / 2, "a"));
  return socket;
}
