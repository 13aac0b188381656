// Clients that send half of a large body and then wait: how much memory they take, and what other clients notice.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH, chatBody } from "./chat-payload.ts";
import { GATEWAY_CORE, OTHER_CORES, reserveGatewayCore } from "./cores.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { INSTALL_NGINX, nginx, startNginxProvider, startNginxProxy } from "./nginx.ts";
import { startPinned, untilReady } from "./pinned-process.ts";
import { usageOf } from "./process-usage.ts";
import { printTable, type Measurement } from "./report.ts";
import { INSTALL_WRK, runWrk, wrk, type LoadResult } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

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

interface Subject {
  readonly pid: number;
  /** Of the listener for clients. */
  readonly port: string;
}

interface AttackResult {
  readonly before: LoadResult;
  readonly sending: LoadResult;
  readonly held: LoadResult;
  readonly idleBytes: number;
  readonly peakBytes: number;
}

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
  const { port } = new URL(gatehouse.proxyUrl);
  const measured = await attack({ pid: gatehouse.pid, port }, bodyFile);
  await gatehouse.stop();
  // The attackers and the other clients share cores, so a part of the delay is theirs. nginx, which stores the bodies in
  // files, shows how large that part is.
  const proxyPort = freePort();
  const proxy = startNginxProxy(folder, proxyPort, providerPort, GATEWAY_CORE);
  await untilReady(proxy.startedAt, `http://127.0.0.1:${proxyPort}/`);
  const reference = await attack({ pid: proxy.pid, port: String(proxyPort) }, bodyFile);
  for (const each of [proxy, provider]) await each.stop();
  const title = `${CLIENTS} clients send half of ${BODY_BYTES / 1e6} MB`;
  printTable(`${title}, MAX_BUFFERED_BYTES ${BUDGET / MEGABYTE} MB`, [
    { what: "resident before", value: measured.idleBytes / MEGABYTE, unit: "MB" },
    {
      what: "resident at most",
      value: measured.peakBytes / MEGABYTE,
      unit: "MB",
      note: `at most ${(BUDGET + ALLOWED_OVERHEAD) / MEGABYTE}`,
    },
    ...latencyRows(measured, "at most 2"),
    {
      what: "  rejected",
      value: measured.sending.errorResponses + measured.held.errorResponses,
      unit: `of ${measured.sending.requests + measured.held.requests} requests`,
    },
  ]);
  printTable(`${title} to nginx, which stores them in files`, latencyRows(reference, "for comparison"));
}

/** Measures other clients before the attack, while the bodies are sent, and while they are held. */
async function attack({ pid, port }: Subject, bodyFile: string): Promise<AttackResult> {
  const url = `http://127.0.0.1:${port}${CHAT_PATH}`;
  const run = (seconds: number) =>
    runWrk({ url, bodyFile, connections: GOOD_CLIENTS, seconds, restMs: REST_MS });
  await run(SECONDS);
  const before = await run(SECONDS);
  const idleBytes = usageOf(pid).residentBytes;
  let peakBytes = 0;
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, usageOf(pid).residentBytes);
  }, SAMPLE_MS);
  const attackers = startPinned(
    [process.execPath, ATTACK, port, CHAT_PATH, String(CLIENTS), String(BODY_BYTES)],
    { cores: OTHER_CORES },
  );
  // A gigabyte arrives as fast as the loopback interface can carry it; receiving it takes most of a second.
  const sending = await run(SENDING_SECONDS);
  const held = await run(SECONDS);
  clearInterval(sampling);
  await attackers.stop();
  return { before, sending, held, idleBytes, peakBytes };
}

function latencyRows({ before, sending, held }: AttackResult, bound: string): Measurement[] {
  return [
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
      note: `${(held.p99Ms / before.p99Ms).toFixed(2)} times, ${bound}`,
    },
  ];
}
