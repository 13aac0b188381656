// The gateway and the fake provider that gatehouse bench measures, each in its own process.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { adminClient } from "./admin-client.ts";
import { mintToken } from "./mint-token.ts";
import { gatehouseCommand, gatehouseEnvironment } from "./runtime-environment.ts";

const START_DEADLINE_MS = 20_000;
const PATH = "/v1/chat/completions";

export interface BenchTarget {
  /** Address of the fake provider. */
  readonly directUrl: string;
  /** Address of the gateway's route to the same provider. */
  readonly gatewayUrl: string;
  /** Resident memory of the gateway process. */
  readonly memoryBytes: () => Promise<number>;
}

/** Starts both processes, runs `work`, then stops them and removes their files. */
export async function withBenchGateway<T>(work: (target: BenchTarget) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-bench-"));
  const secret = randomBytes(32).toString("hex");
  const children: Bun.Subprocess[] = [];
  const start = async (
    args: readonly string[],
    env: Record<string, string>,
    patterns: readonly RegExp[],
  ): Promise<string[]> => {
    const child = Bun.spawn(gatehouseCommand(...args), {
      cwd: directory,
      env: { ...gatehouseEnvironment(), ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.push(child);
    return readUntilPrinted(child.stdout, patterns);
  };
  try {
    const [[providerUrl = ""], [adminUrl = "", proxyUrl = ""]] = await Promise.all([
      start(["fake-provider"], {}, [/listens on (\S+)/]),
      start(["serve"], gatewaySettings(directory, secret), [
        /"url":"([^"]+)","msg":"admin API listening"/,
        /"url":"([^"]+)","msg":"proxy listening"/,
      ]),
    ]);
    await configure(adminUrl, await mintToken(secret, 3600), providerUrl);
    const memoryBytes = async () => {
      const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
      return Number(/^process_resident_memory_bytes (\d+)$/m.exec(metrics)?.[1] ?? 0);
    };
    return await work({ directUrl: providerUrl + PATH, gatewayUrl: proxyUrl + PATH, memoryBytes });
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map((child) => child.exited));
    rmSync(directory, { recursive: true, force: true });
  }
}

function gatewaySettings(directory: string, secret: string): Record<string, string> {
  return {
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
}

/** Resolves to the first capture of each pattern once all are printed. Keeps reading, so that the pipe never fills. */
async function readUntilPrinted(
  stream: ReadableStream<Uint8Array>,
  patterns: readonly RegExp[],
): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  const timer = setTimeout(
    () => reject(new Error('the gateway did not start in time; run "gatehouse doctor"')),
    START_DEADLINE_MS,
  );
  void (async () => {
    const decoder = new TextDecoder();
    let text: string | null = "";
    for await (const chunk of stream) {
      if (text === null) continue;
      const printed: string = text + decoder.decode(chunk, { stream: true });
      const captures = patterns.flatMap((pattern) => pattern.exec(printed)?.[1] ?? []);
      const isComplete = captures.length === patterns.length;
      text = isComplete ? null : printed;
      if (isComplete) resolve(captures);
    }
    reject(new Error('the gateway did not start; run "gatehouse doctor"'));
  })();
  return promise.finally(() => clearTimeout(timer));
}

const createdSchema = z.object({ id: z.string() });

async function configure(url: string, token: string, base_url: string): Promise<void> {
  const client = await adminClient({ url, token });
  const create = async (path: string, body: unknown) => (await client.post(path, body, createdSchema)).id;
  const gatewayPath = `/gateways/${await create("/gateways", { name: "bench" })}`;
  const targets = [{ provider: "fake", base_url, path: PATH }];
  const upstream_id = await create(`${gatewayPath}/upstreams`, { name: "fake", targets });
  const service_id = await create(`${gatewayPath}/services`, { name: "chat", upstream_id });
  await create(`${gatewayPath}/rules`, { service_id, path: PATH, methods: ["POST"] });
}
