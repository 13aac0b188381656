// Starts Gatehouse for benchmarks: pinned to cores, on free ports, with a data directory that several starts can share.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LAUNCHER, mintToken, TEST_SECRET, type ApiResponse } from "../test/support/gatehouse-process.ts";
import { GATEWAY_CORE } from "./cores.ts";
import { startPinned, untilReady, type PinnedProcess } from "./pinned-process.ts";
import { freePort } from "../test/support/free-port.ts";

const BUILD = join(import.meta.dir, "../scripts/build.ts");
let isBuilt = false;
const MAX_STARTS = 3;

/** Builds what the launcher runs: benchmarks measure the executable of the current sources. */
function buildOnce(): void {
  if (isBuilt) return;
  const { success } = Bun.spawnSync([process.execPath, BUILD], { stdout: "ignore", stderr: "inherit" });
  if (!success) throw new Error("the executable could not be built");
  isBuilt = true;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gatehouse-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 }));
  return folder;
}

interface LaunchedGatehouse extends PinnedProcess {
  readonly adminUrl: string;
  readonly proxyUrl: string;
}

export interface Gatehouse extends LaunchedGatehouse {
  readonly readyMs: number;
  create(path: string, body: unknown): Promise<ApiResponse["body"]>;
}

interface GatehouseOptions {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cores?: string;
  /** File for the log; without it, only warnings and errors are logged, and the output is discarded. */
  readonly logTo?: string;
  /** The launcher of another version, which is built already. */
  readonly launcher?: string;
  /** File for the standard error, where the runtime reports garbage collections. */
  readonly errorsTo?: string;
}

export async function startGatehouse(options: GatehouseOptions): Promise<Gatehouse> {
  const { gatehouse, readyMs } = await launchUntilReady(options);
  const token = mintToken({ SERVER_SECRET_KEY: TEST_SECRET });
  const create = async (path: string, body: unknown) => {
    const response = await fetch(`${gatehouse.adminUrl}/api/v1${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const record = (await response.json()) as ApiResponse["body"];
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${JSON.stringify(record)}`);
    return record;
  };
  return { ...gatehouse, readyMs, create };
}

/** A port that was free may be taken by the time the gateway listens; it exits then and is started again. */
async function launchUntilReady(
  options: GatehouseOptions,
): Promise<{ gatehouse: LaunchedGatehouse; readyMs: number }> {
  for (let attempt = 1; ; attempt++) {
    const gatehouse = launchGatehouse(options);
    const hasExited = () => gatehouse.exitCode() !== null;
    try {
      const readyMs = await untilReady(gatehouse.startedAt, `${gatehouse.proxyUrl}/readyz`, {}, hasExited);
      return { gatehouse, readyMs };
    } catch (error) {
      if (!hasExited() || attempt === MAX_STARTS) throw error;
      console.log(`Gatehouse exited with ${gatehouse.exitCode()} before it was ready; starting it again.`);
    }
  }
}

/** Starts it without waiting until it is ready. */
export function launchGatehouse(options: GatehouseOptions): LaunchedGatehouse {
  const { dataDir, env, cores, logTo, errorsTo, launcher } = options;
  if (launcher === undefined) buildOnce();
  const [adminPort, proxyPort] = [freePort(), freePort()];
  const [adminUrl, proxyUrl] = [`http://127.0.0.1:${adminPort}`, `http://127.0.0.1:${proxyPort}`];
  const child = startPinned([launcher ?? LAUNCHER, "serve"], {
    cores: cores ?? GATEWAY_CORE,
    // When it starts, the runtime lists all folders above the working directory. A temporary one may have thousands of entries.
    cwd: "/",
    env: {
      ADMIN_PORT: String(adminPort),
      PROXY_PORT: String(proxyPort),
      DATA_DIR: dataDir,
      SERVER_SECRET_KEY: TEST_SECRET,
      LOG_LEVEL: logTo === undefined ? "warn" : "info",
      LOG_FORMAT: "json",
      DRAIN_DELAY_MS: "0",
      DRAIN_SECONDS: "1",
      ...env,
    },
    ...(logTo !== undefined && { outputTo: logTo }),
    ...(errorsTo !== undefined && { errorsTo }),
  });
  return { ...child, adminUrl, proxyUrl };
}

/** The fields of a route that differ from the default of one rule. */
interface RouteOptions {
  readonly gateway?: Readonly<Record<string, unknown>>;
  readonly targets: readonly Readonly<Record<string, unknown>>[];
  readonly upstream?: Readonly<Record<string, unknown>>;
  readonly rule?: Readonly<Record<string, unknown>>;
  readonly path?: string;
}

export interface Route {
  readonly gateway: string;
  readonly service: string;
  readonly rule: string;
}

export async function createRoute(
  gatehouse: Gatehouse,
  options: RouteOptions,
): Promise<Route & { readonly upstream: string }> {
  const { id: gateway } = await gatehouse.create("/gateways", { name: "bench", ...options.gateway });
  const gatewayPath = `/gateways/${gateway}`;
  const { id: upstream } = await gatehouse.create(`${gatewayPath}/upstreams`, {
    name: "models",
    targets: options.targets,
    ...options.upstream,
  });
  const { id: service } = await gatehouse.create(`${gatewayPath}/services`, {
    name: "chat",
    upstream_id: upstream,
  });
  const { id: rule } = await gatehouse.create(`${gatewayPath}/rules`, {
    service_id: service,
    path: options.path ?? "/v1/chat/completions",
    methods: ["POST"],
    ...options.rule,
  });
  return { gateway, upstream, service, rule };
}

/** Returns a target for the benchmark's provider, with a credential like a real one. */
export function targetAt(url: string): Record<string, unknown> {
  return {
    provider: "bench",
    base_url: url,
    credentials: { header_name: "Authorization", header_value: "Bearer sk-bench-0123456789" },
  };
}
