// `npm run bench:tls`: how many of many long concurrent requests to a provider reuse a connection, without and with TLS, with
// HTTP/1.1 and with HTTP/2 offered, and the CPU time per request.
// Flags: --seconds 10 --connections 256 --think 300 (ms the provider takes) --only plain,http1,http2 --out file.json
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "./certificate.ts";
import { CHAT_RESPONSE, CHAT_PATH, chatBody } from "./chat-payload.ts";
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { readFlags } from "./flags.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { saveResults, printGrid, formatNumber } from "./grid.ts";
import { INSTALL_NGINX, nginx, startNginxFront } from "./nginx.ts";
import { untilReady } from "./pinned-process.ts";
import { usageOf } from "./process-usage.ts";
import { INSTALL_WRK, runWrk, wrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const KINDS = {
  plain: { title: "plain HTTP/1.1", tls: false, http2: false },
  http1: { title: "TLS, HTTP/1.1 offered", tls: true, http2: false },
  http2: { title: "TLS, HTTP/2 offered", tls: true, http2: true },
} as const;
type Kind = keyof typeof KINDS;
/** nginx writes its log once per second. */
const LOG_FLUSH_MS = 1500;

const flags = readFlags("bench:tls", {
  seconds: 10,
  connections: 256,
  think: 300,
  only: "plain,http1,http2",
  out: "",
});
const folder = temporaryFolder();
const certificate = makeCertificate(folder);
if (wrk === null || nginx === null || certificate === null) {
  console.log(`SKIPPED: this needs wrk (${INSTALL_WRK}), nginx (${INSTALL_NGINX}) and openssl.`);
  process.exit(0);
}
reserveGatewayCore();

// The server behind nginx: nginx handles the connections, and this server delays the responses.
const backend = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 255,
  async fetch(request) {
    await request.arrayBuffer();
    await Bun.sleep(flags.think);
    return new Response(CHAT_RESPONSE, { headers: { "Content-Type": "application/json" } });
  },
});
const bodyFile = join(folder, "body.json");
writeFileSync(bodyFile, chatBody());

interface Reuse {
  readonly kind: Kind;
  readonly protocols: string;
  readonly requests: number;
  readonly connections: number;
  readonly cpuMicroseconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failed: number;
}

const results: Reuse[] = [];
for (const kind of flags.only.split(",").filter((name): name is Kind => Object.hasOwn(KINDS, name)))
  results.push(await measure(kind));
printGrid(
  `${flags.connections} concurrent requests of ${flags.think} ms for ${flags.seconds} s`,
  ["used", "requests", "connections", "reused", "CPU µs/req", "p50 ms", "p99 ms", "failed"],
  results.map((each) => ({
    name: KINDS[each.kind].title,
    cells: [
      each.protocols,
      formatNumber(each.requests),
      formatNumber(each.connections),
      `${formatNumber((1 - each.connections / each.requests) * 100)} %`,
      formatNumber(each.cpuMicroseconds),
      formatNumber(each.p50Ms),
      formatNumber(each.p99Ms),
      String(each.failed),
    ],
  })),
);
saveResults("tls", flags.out, { flags, results });
process.exit(0);

async function measure(kind: Kind): Promise<Reuse> {
  const { tls, http2 } = KINDS[kind];
  const port = freePort();
  const accessLog = join(folder, `${kind}.log`);
  const front = { port, http2, certificate: tls ? certificate : null, backend: backend.port ?? 0, accessLog };
  const provider = startNginxFront(folder, front, OTHER_CORES);
  const dataDir = join(folder, kind);
  mkdirSync(dataDir);
  const gatehouse = await startGatehouse({
    dataDir,
    env: { NODE_EXTRA_CA_CERTS: certificate?.certFile ?? "" },
  });
  const url = gatehouse.proxyUrl + CHAT_PATH;
  await createRoute(gatehouse, { targets: [targetAt(`${tls ? "https" : "http"}://127.0.0.1:${port}`)] });
  await untilReady(gatehouse.startedAt, url, { method: "POST", body: "{}" });
  const load = { url, bodyFile, connections: flags.connections };
  await runWrk({ ...load, seconds: 1 });
  await Bun.sleep(LOG_FLUSH_MS);
  const linesBefore = linesOf(accessLog).length;
  const before = usageOf(gatehouse.pid);
  const result = await runWrk({ ...load, seconds: flags.seconds });
  const after = usageOf(gatehouse.pid);
  await Bun.sleep(LOG_FLUSH_MS);
  const lines = linesOf(accessLog).slice(linesBefore);
  await Promise.all([gatehouse.stop(), provider.stop()]);
  return {
    kind,
    protocols: [...new Set(lines.map((line) => line.split(" ")[0]))].join(", "),
    requests: lines.length,
    connections: lines.filter((line) => line.endsWith(" 1")).length,
    cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / result.requests,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    failed: result.errorResponses + result.failedConnections,
  };
}

function linesOf(file: string): string[] {
  return readFileSync(file, "utf8").split("\n").filter(Boolean);
}
