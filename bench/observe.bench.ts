// The cost of observability: a gateway with request log and traces off, and with each of them on, in alternating rounds.
import { join } from "node:path";
import { NO_LOG } from "../src/telemetry/log/log.ts";
import { Metrics } from "../src/telemetry/metrics/metrics.ts";
import { Observation } from "../src/telemetry/observation.ts";
import { requestFacts, servedBy } from "../src/telemetry/requests/request-facts.fixture.ts";
import { reserveGatewayCore, OTHER_CORES } from "./cores.ts";
import { temporaryFolder } from "./gatehouse.ts";
import { measureRound } from "./measure-round.ts";
import { INSTALL_NGINX, nginx, startNginxProvider } from "./nginx.ts";
import { startPinned } from "./pinned-process.ts";
import { median, printTable, type Measurement } from "./report.ts";
import { PREPARE, type Subject } from "./subjects.ts";
import { prepareWorkloads } from "./workload.ts";
import { INSTALL_WRK, wrk } from "./wrk.ts";
import { freePort } from "../test/support/free-port.ts";

const ROUNDS = 5;
const SECONDS = 4;
const CONNECTIONS = 64;
const BOUND = "at most 1.15 times off";

/** Measures the part that cannot be turned off: recording a finished request. */
function alwaysOn(): Measurement {
  const observation = new Observation(new Metrics(), NO_LOG, {
    requestLogSize: 1000,
    tracer: null,
    sink: null,
  });
  const attempt = servedBy(0, { model: "gpt-4o-mini", status: 200, firstByteAt: 1015 });
  const tokens = { input: 180, output: 44, cachedInput: 0, cacheWrite: 0, reasoning: 0, isPartial: false };
  const facts = requestFacts({ attempts: [attempt], finalAttempt: attempt, tokens, cost: 0.001 });
  const rounds = Array.from({ length: 9 }, () => {
    const started = performance.now();
    for (let request = 0; request < 100_000; request++) {
      observation.finished(facts);
      if (request % 16 === 0) observation.flush();
    }
    return ((performance.now() - started) * 1000) / 100_000;
  });
  const value = median(rounds);
  return { what: "metrics, traffic and request log", value, unit: "µs/request" };
}

export async function benchObserve(): Promise<void> {
  printTable("Observation", [alwaysOn()]);
  if (wrk === null || nginx === null) {
    console.log(`SKIPPED observe: it needs wrk (${INSTALL_WRK}) and nginx (${INSTALL_NGINX}).`);
    return;
  }
  reserveGatewayCore();
  const folder = temporaryFolder();
  const provider = freePort();
  const collector = freePort();
  const children = [
    startNginxProvider(folder, provider, OTHER_CORES),
    startPinned([process.execPath, join(import.meta.dir, "load/collector.ts"), String(collector)], {
      cores: OTHER_CORES,
    }),
  ];
  const [workload] = prepareWorkloads(folder, "1k", true);
  const variants = {
    off: { REQUEST_LOG_SIZE: "0" },
    "request log": {},
    "request log and traces": { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector}` },
  };
  for (const id of ["bare", "full"] as const) {
    const subject = (await PREPARE[id]?.(folder, provider)) as Subject;
    const results: Record<string, number[]> = {};
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, env] of Object.entries(variants)) {
        const options = { workload: workload!, connections: CONNECTIONS, seconds: SECONDS, env };
        (results[name] ??= []).push((await measureRound(subject, options)).cpuMicroseconds);
      }
    }
    const off = results["off"] ?? [];
    const rows = Object.entries(results).map(([what, each]): Measurement => {
      // Adjacent rounds had similar load on the machine, so use the median of their ratios, not the ratio of medians.
      const ratio = median(each.map((value, round) => value / (off[round] ?? value)));
      const note = `${ratio.toFixed(2)} times off${what === "off" ? "" : `, ${BOUND}`}`;
      return { what, value: median(each), unit: "µs CPU/request", note };
    });
    printTable(`${subject.title}; metrics and usage are always on`, rows);
  }
  for (const child of children) await child.stop();
}
