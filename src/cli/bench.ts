// gatehouse bench: what the gateway adds on this machine, against a stand-in provider. Nothing is kept.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminClient } from "./admin-client.ts";
import { measure, quantile, type Measured } from "./bench-load.ts";
import type { Command } from "./command.ts";
import { mintToken } from "./mint-token.ts";
import { selfCommand, selfEnvironment } from "./self.ts";
import { fields, Progress } from "./terminal.ts";
import { Words } from "./words.ts";

const AT_ONCE = 64;
const START_DEADLINE_MS = 20_000;
const PATH = "/v1/chat/completions";

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
  summary: "measure what the gateway adds on this machine",
  help: `Usage: gatehouse bench [--seconds N] [--json]

Starts a gateway and a stand-in provider of their own, and measures latency one request at a time and throughput with
${AT_ONCE} at once, with the gateway and without it.

  --seconds N  how long to measure; default 5
  --json       print it for machines`,
  run: async (given) => {
    const words = new Words(given, { values: ["--seconds"], switches: ["--json"] });
    const seconds = words.number("--seconds", 5, 1, 600);
    const report = await withGateway((directUrl, gatewayUrl, memory) =>
      run(seconds * 1000, directUrl, gatewayUrl, memory),
    );
    console.log(words.has("--json") ? JSON.stringify(report) : describe(report));
    return report.failed === 0 ? 0 : 1;
  },
};

async function run(
  ms: number,
  directUrl: string,
  gatewayUrl: string,
  memory: () => Promise<number>,
): Promise<Report> {
  const progress = new Progress();
  const slice = ms / 10;
  let done = 0;
  const step = async (label: string, url: string, atOnce: number, slices: number): Promise<Measured> => {
    const [from, to] = [done / 11, (done + slices) / 11];
    done += slices;
    return progress.during(label, from, to, slices * slice, () => measure(url, atOnce, slices * slice));
  };
  try {
    await step("warming up", gatewayUrl, 8, 1);
    const direct: number[] = [];
    const through: number[] = [];
    let failed = 0;
    // In turns: what else this machine does falls on both alike.
    for (let turn = 0; turn < 2; turn++) {
      direct.push(...(await step("without the gateway", directUrl, 1, 1)).times);
      const measured = await step("with the gateway", gatewayUrl, 1, 2);
      through.push(...measured.times);
      failed += measured.failed;
    }
    const bare = await step(`without it, ${AT_ONCE} at once`, directUrl, AT_ONCE, 1);
    const busy = await step(`with it, ${AT_ONCE} at once`, gatewayUrl, AT_ONCE, 3);
    const [direct_ms, gateway_ms] = [percentiles(direct), percentiles(through)];
    return {
      direct_ms,
      gateway_ms,
      added_ms: { p50: gateway_ms.p50 - direct_ms.p50, p99: gateway_ms.p99 - direct_ms.p99 },
      at_once: AT_ONCE,
      requests_per_second: busy.perSecond,
      direct_requests_per_second: bare.perSecond,
      failed: failed + busy.failed,
      memory_bytes: await memory(),
    };
  } finally {
    progress.end();
  }
}

function percentiles(times: readonly number[]): Percentiles {
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

function describe(report: Report): string {
  const { added_ms: added, gateway_ms: through, direct_ms: direct } = report;
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  const rate = (value: number) => Math.round(value).toLocaleString("en");
  return fields([
    ["added latency", `${ms(added.p50)} in the middle, ${ms(added.p99)} at the 99th percentile`],
    ["one at a time", `${ms(through.p50)} with the gateway, ${ms(direct.p50)} without it`],
    [
      `${report.at_once} at once`,
      `${rate(report.requests_per_second)} requests a second; this client alone does ${rate(report.direct_requests_per_second)}`,
    ],
    ["memory", `${Math.round(report.memory_bytes / 1_000_000)} MB after it`],
    ...(report.failed > 0 ? [["failed", `${report.failed} requests`] as const] : []),
  ]);
}

/** Both in processes of their own, as in real life; what they kept is removed. */
async function withGateway<T>(
  work: (directUrl: string, gatewayUrl: string, memory: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-bench-"));
  const secret = randomBytes(32).toString("hex");
  const settings = {
    DATA_DIR: directory,
    DATABASE_URL: "",
    REDIS_URL: "",
    HOST: "127.0.0.1",
    ADMIN_PORT: "0",
    PROXY_PORT: "0",
    PLUGINS_DIR: join(directory, "plugins"),
    SERVER_SECRET_KEY: secret,
    LOG_FORMAT: "json",
    LOG_LEVEL: "info",
  };
  const children: Bun.Subprocess[] = [];
  const start = async (words: readonly string[], env: Record<string, string>, wanted: readonly RegExp[]) => {
    const child = Bun.spawn(selfCommand(...words), {
      cwd: directory,
      env: { ...selfEnvironment(), ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(child);
    return readUntil(child.stdout, wanted);
  };
  try {
    const [[providerUrl = ""], [adminUrl = "", proxyUrl = ""]] = await Promise.all([
      start(["fake-provider"], {}, [/listens on (\S+)/]),
      start(["serve"], settings, [
        /"url":"([^"]+)","msg":"admin API listening"/,
        /"url":"([^"]+)","msg":"proxy listening"/,
      ]),
    ]);
    await seed(adminUrl, await mintToken(secret, 3600), providerUrl);
    const memory = async () => {
      const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
      return Number(/^process_resident_memory_bytes (\d+)$/m.exec(metrics)?.[1] ?? 0);
    };
    return await work(providerUrl + PATH, proxyUrl + PATH, memory);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map((child) => child.exited));
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What each pattern captures, once all have been printed. Reads on after that, so that the pipe never fills. */
async function readUntil(stream: ReadableStream<Uint8Array>, wanted: readonly RegExp[]): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  const timer = setTimeout(
    () => reject(new Error("the gateway did not start in time; see gatehouse doctor")),
    START_DEADLINE_MS,
  );
  void (async () => {
    const decoder = new TextDecoder();
    let text: string | null = "";
    for await (const chunk of stream) {
      if (text === null) continue;
      text += decoder.decode(chunk, { stream: true });
      const found = wanted.map((pattern) => pattern.exec(text ?? "")?.[1]);
      if (found.some((each) => each === undefined)) continue;
      text = null;
      resolve(found as string[]);
    }
    reject(new Error("the gateway did not start; see gatehouse doctor"));
  })();
  return promise.finally(() => clearTimeout(timer));
}

async function seed(url: string, token: string, base_url: string): Promise<void> {
  const client = await adminClient({ url, token });
  const create = (path: string, body: unknown) => client.post<{ id: string }>(path, body);
  const place = `/gateways/${(await create("/gateways", { name: "bench" })).id}`;
  const targets = [{ provider: "fake", base_url, path: PATH }];
  const upstream = await create(`${place}/upstreams`, { name: "fake", targets });
  const service = await create(`${place}/services`, { name: "chat", upstream_id: upstream.id });
  await create(`${place}/rules`, { service_id: service.id, path: PATH, methods: ["POST"] });
}
