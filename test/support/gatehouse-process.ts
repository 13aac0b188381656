// Starts the real gatehouse process on free ports, and calls its Admin API as a client would.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mintToken as signToken } from "../../src/cli/mint-token.ts";
import { RUNTIME_ENVIRONMENT } from "../../src/cli/runtime-environment.ts";
import { migratedDataDirectory } from "./migrated-store.ts";
import { temporaryDirectory } from "./temporary-directory.ts";
import { waitFor, waitUntil } from "./waiting.ts";

export { temporaryDirectory };

const ROOT = join(import.meta.dir, "../..");
export const LAUNCHER = join(ROOT, "bin/gatehouse");
/**
 * The program that tests run as `gatehouse`: the single executable that `npm test` has built, else the launcher. The
 * executable needs half of the CPU time to start, because the launcher compiles the sources on every start.
 */
export const PROGRAM = process.env["GATEHOUSE_TEST_PROGRAM"] ?? LAUNCHER;
/**
 * The environment of gateways of `npm test`. Without the first line the executable would start twice: see
 * reexecWithRuntimeEnvironment. A gateway of a test ends before the code of the optimizing compiler has saved the time that it
 * took to compile: without it, and with the baseline compiler only for what runs often, gateways take a quarter less CPU time.
 */
const PROGRAM_ENVIRONMENT: Readonly<Record<string, string>> = {
  ...RUNTIME_ENVIRONMENT,
  BUN_JSC_useDFGJIT: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "2000",
};
const TOKEN_SCRIPT = join(ROOT, "scripts/generate_jwt_token.sh");
export const TEST_SECRET = "a-secret-that-is-long-enough-for-tests-0123456789";
const TOKEN_SECONDS = 86_400;

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or null for an empty body. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read bodies of any shape
  readonly body: any;
}

/** A running gateway, in its own process or in that of the test. */
export interface RunningGatehouse {
  readonly adminUrl: string;
  readonly proxyUrl: string;
  readonly dataDir: string;
  readonly token: string;
  /** Everything it has printed so far. */
  readonly output: () => string;
  /** Calls the Admin API with the token: `api("POST", "/gateways", {…})`. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  /** Stops it and removes its data. A process is killed. */
  stop(): Promise<void>;
}

export interface GatehouseProcess extends RunningGatehouse {
  readonly pid: number;
  /** Empty without an operations listener. */
  readonly operationsUrl: string;
  signal(name: NodeJS.Signals): void;
  /** Closes the terminal in which it was started. */
  closeTerminal(): void;
  /** Resolves to the exit code. */
  readonly exited: Promise<number>;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  readonly dataDir?: string;
  readonly args?: readonly string[];
  /** Program to run instead of `PROGRAM`. */
  readonly program?: string;
  /** A command that runs the program with its arguments, such as `nohup`. */
  readonly prefix?: readonly string[];
  /** Start it in a terminal, instead of with pipes. */
  readonly terminal?: true;
  /** Keep the data directory at `stop`. */
  readonly keepData?: boolean;
  /** Do not wait for /readyz. */
  readonly notReady?: boolean;
}

export async function startGatehouseProcess(options: StartOptions = {}): Promise<GatehouseProcess> {
  const dataDir = options.dataDir ?? (await migratedDataDirectory());
  const role = options.args?.join(" ") ?? "";
  const command = [...(options.prefix ?? []), options.program ?? PROGRAM, "serve", ...(options.args ?? [])];
  const place = {
    cwd: dataDir,
    env: {
      PATH: process.env["PATH"],
      ADMIN_PORT: "0",
      PROXY_PORT: "0",
      ...(role.includes("proxy") && { OPERATIONS_PORT: "0" }),
      DATA_DIR: dataDir,
      SERVER_SECRET_KEY: TEST_SECRET,
      LOG_FORMAT: "json",
      DRAIN_DELAY_MS: "0",
      ...(options.program === undefined && PROGRAM !== LAUNCHER && PROGRAM_ENVIRONMENT),
      ...options.env,
    },
  };
  const printed = { text: "" };
  const { child, terminal } =
    options.terminal === true ? inTerminal(command, place, printed) : withPipes(command, place, printed);
  // nohup writes what was meant for a terminal to this file.
  const redirected = join(dataDir, "nohup.out");
  const output = () => printed.text + (existsSync(redirected) ? readFileSync(redirected, "utf8") : "");
  const urls = await waitFor(() => {
    const found = listenUrls(output());
    const wanted = role.includes("admin") ? 1 : 2;
    if (child.exitCode !== null) throw new Error(`gatehouse exited with ${child.exitCode}:\n${output()}`);
    return found.size >= wanted ? found : null;
  });
  const adminUrl = urls.get("admin API listening") ?? "";
  const proxyUrl = urls.get("proxy listening") ?? "";
  const token = await tokenFor(options.env?.["SERVER_SECRET_KEY"] ?? TEST_SECRET, dataDir);
  if (options.notReady !== true) {
    await waitUntil(async () => (await fetch(`${adminUrl || proxyUrl}/readyz`)).status === 200);
  }
  return {
    adminUrl,
    proxyUrl,
    dataDir,
    token,
    pid: child.pid,
    operationsUrl: urls.get("operations listening") ?? "",
    output,
    exited: child.exited,
    signal: (name) => child.kill(name),
    closeTerminal: () => terminal?.close(),
    api: (method, path, body, headers) => callApi(adminUrl, token, method, path, body, headers),
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
      if (options.keepData !== true) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** If the server has no SERVER_SECRET_KEY, the script reads the generated secret from DATA_DIR. */
export function tokenFor(secret: string, dataDir: string): string | Promise<string> {
  return secret === "" ? mintToken({ DATA_DIR: dataDir }) : signToken(secret, TOKEN_SECONDS);
}

/** Runs scripts/generate_jwt_token.sh. */
export function mintToken(env: Record<string, string>, ...args: string[]): string {
  const run = Bun.spawnSync([TOKEN_SCRIPT, ...args], { env: { PATH: process.env["PATH"], ...env } });
  if (run.exitCode !== 0) throw new Error(run.stderr.toString());
  return run.stdout.toString().trim();
}

export async function callApi(
  adminUrl: string,
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const response = await fetch(`${adminUrl}/api/v1${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

/** Waits until the process has printed `text`. The log is read from a pipe and may arrive after the response. */
export async function untilPrinted(gatehouse: Pick<RunningGatehouse, "output">, text: string): Promise<void> {
  await waitUntil(() => gatehouse.output().includes(text));
}

function listenUrls(output: string): Map<string, string> {
  const urls = new Map<string, string>();
  for (const [, url, message] of output.matchAll(/"url":"([^"]+)","msg":"([^"]+)"/g)) {
    if (url !== undefined && message !== undefined) urls.set(message, url);
  }
  return urls;
}

interface Printed {
  text: string;
}

/** Where a program runs. */
interface Place {
  readonly cwd: string;
  readonly env: Record<string, string | undefined>;
}

function withPipes(command: string[], place: Place, printed: Printed) {
  const child = Bun.spawn(command, { ...place, stdout: "pipe", stderr: "pipe" });
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of stream) printed.text += decoder.decode(chunk, { stream: true });
    })();
  }
  return { child, terminal: undefined };
}

function inTerminal(command: string[], place: Place, printed: Printed) {
  const decoder = new TextDecoder();
  const data = (_: unknown, chunk: Uint8Array) => {
    printed.text += decoder.decode(chunk, { stream: true }).replaceAll("\r\n", "\n");
  };
  const child = Bun.spawn(command, { ...place, terminal: { data } });
  return { child, terminal: child.terminal };
}
