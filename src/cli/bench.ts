// gatehouse bench: measures what the gateway adds on this machine, against a fake provider. Nothing is kept.
import { parseArguments, wholeNumber } from "./arguments.ts";
import { withBenchGateway, type BenchTarget } from "./bench-gateway.ts";
import { quantile, runLoad, type LoadResult } from "./bench-load.ts";
import type { Command } from "./command.ts";
import { Progress } from "./progress.ts";
import { fields } from "./terminal.ts";

const CLIENTS = 64;

interface Report {
  readonly direct_ms: Percentiles;
  readonly gateway_ms: Percentiles;
  readonly added_ms: Percentiles;
  readonly at_once: number;
  readonly requests_per_second: number;
  readonly direct_requests_per_second: number;
  readonly failed: number;
  readonly memory_bytes: number;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export const bench: Command = {
  summary: "measure the latency and throughput of the gateway on this machine",
  help: `Usage: gatehouse bench [--seconds N] [--json]

Starts its own gateway and fake provider. Measures latency with one client and throughput with ${CLIENTS} clients, with
the gateway and without it.

  --seconds N  duration of the measurement; default 5
  --json       print the report as JSON`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: { seconds: { type: "string" }, json: { type: "boolean" } },
    });
    const seconds = wholeNumber("--seconds", values.seconds, 5, { min: 1, max: 600 });
    const progress = new Progress();
    progress.show("starting the gateway", 0);
    const report = await withBenchGateway((target) => measure(target, seconds * 1000, progress)).finally(() =>
      progress.end(),
    );
    console.log(values.json === true ? JSON.stringify(report) : describe(report));
    return report.failed === 0 ? 0 : 1;
  },
};

async function measure(
  { directUrl, gatewayUrl, memoryBytes }: BenchTarget,
  ms: number,
  progress: Progress,
): Promise<Report> {
  const slice = ms / 10;
  let done = 0;
  const step = async (label: string, url: string, clients: number, slices: number): Promise<LoadResult> => {
    const [from, to] = [done / 11, (done + slices) / 11];
    done += slices;
    return progress.during(label, from, to, slices * slice, () => runLoad(url, clients, slices * slice));
  };
  await step("warming up", gatewayUrl, 8, 1);
  const direct: number[] = [];
  const through: number[] = [];
  let failed = 0;
  // Alternate, so that other load on this machine affects both alike.
  for (let turn = 0; turn < 2; turn++) {
    direct.push(...(await step("without gateway, 1 client", directUrl, 1, 1)).times);
    const measured = await step("with gateway, 1 client", gatewayUrl, 1, 2);
    through.push(...measured.times);
    failed += measured.failed;
  }
  const withoutGateway = await step(`without gateway, ${CLIENTS} clients`, directUrl, CLIENTS, 1);
  const withGateway = await step(`with gateway, ${CLIENTS} clients`, gatewayUrl, CLIENTS, 3);
  const [direct_ms, gateway_ms] = [percentiles(direct), percentiles(through)];
  return {
    direct_ms,
    gateway_ms,
    added_ms: { p50: gateway_ms.p50 - direct_ms.p50, p99: gateway_ms.p99 - direct_ms.p99 },
    at_once: CLIENTS,
    requests_per_second: withGateway.perSecond,
    direct_requests_per_second: withoutGateway.perSecond,
    failed: failed + withGateway.failed,
    memory_bytes: await memoryBytes(),
  };
}

function percentiles(times: readonly number[]): Percentiles {
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

function describe(report: Report): string {
  const { added_ms: added, gateway_ms: through, direct_ms: direct } = report;
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  const rate = (value: number) => Math.round(value).toLocaleString("en");
  return fields([
    ["added latency", `p50 ${ms(added.p50)}, p99 ${ms(added.p99)}`],
    ["1 client", `p50 ${ms(through.p50)} with the gateway, ${ms(direct.p50)} without it`],
    [
      `${report.at_once} clients`,
      `${rate(report.requests_per_second)} requests/s with the gateway, ${rate(report.direct_requests_per_second)} without it`,
    ],
    ["memory", `${Math.round(report.memory_bytes / 1_000_000)} MB after the measurement`],
    ...(report.failed > 0 ? [["failed", `${report.failed} requests`] as const] : []),
  ]);
}
