// A real Redis for tests: a temporary server on a free port that can be killed, paused, and restarted.
import { RedisClient } from "bun";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "./required-program.ts";
import { waitUntil } from "./waiting.ts";
import { freePort } from "./free-port.ts";

const program = Bun.which("redis-server") ?? Bun.which("valkey-server");

export const hasRedis = isInstalled(program, {
  name: "Redis",
  tests: "its tests",
  install: "apt-get install redis-server",
});

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Restarts a killed server on the same port with its data, or empty; `args` are added to its command line. */
  start(options?: { empty?: boolean; args?: readonly string[]; awaitReady?: boolean }): Promise<void>;
  kill(): Promise<void>;
  /** Sends SIGSTOP: connections stay open without responses. */
  pause(): void;
  resume(): void;
  /** Sends one command over a separate connection. */
  command(name: string, ...args: string[]): Promise<unknown>;
  /** Kills the server and deletes its files. */
  stop(): Promise<void>;
}

/**
 * Starts a shell that waits for the end of this process, then kills the server. `bun test` emits no "exit" event, and a
 * killed run could not handle one.
 */
function killWithThisProcess(pid: number, directory: string): void {
  const wait =
    'while kill -0 "$1" 2>/dev/null && kill -0 "$2" 2>/dev/null; do sleep 1; done; ' +
    'kill -0 "$1" 2>/dev/null || { kill -9 "$2" 2>/dev/null; rm -rf "$3"; }';
  // A new session, because a test worker kills the processes of its own session when it ends.
  Bun.spawnSync(["setsid", "--fork", "sh", "-c", wait, "sh", String(process.pid), String(pid), directory], {
    cwd: "/",
    stdio: ["ignore", "ignore", "ignore"],
  });
}

/** Every write is synced to disk, so that a killed server restarts with all data. Responses are slow on a busy disk. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-redis-"));
  const port = freePort();
  const password = args.includes("--requirepass") ? args[args.indexOf("--requirepass") + 1] : undefined;
  const url = `redis://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`;
  const fixed = ["--port", String(port), "--bind", "127.0.0.1", "--dir", directory, ...DURABLE];
  let server: Bun.Subprocess | null = null;

  const isReady = async () => {
    const client = new RedisClient(url, { autoReconnect: false, connectionTimeout: 1000 });
    try {
      return (await client.send("PING", [])) === "PONG";
    } catch {
      return false;
    } finally {
      client.close();
    }
  };

  const redis: RedisServer = {
    port,
    url,
    get pid() {
      return server?.pid ?? -1;
    },
    async start({ empty = false, args: more = [], awaitReady = true } = {}) {
      if (empty) rmSync(join(directory, "appendonlydir"), { recursive: true, force: true });
      const line = [program ?? "", ...fixed, ...args, ...more];
      server = Bun.spawn(line, { stdio: ["ignore", "ignore", "ignore"] });
      killWithThisProcess(server.pid, directory);
      if (awaitReady) await waitUntil(async () => await isReady());
    },
    async kill() {
      server?.kill("SIGKILL");
      await server?.exited;
    },
    pause: () => server?.kill("SIGSTOP"),
    resume: () => server?.kill("SIGCONT"),
    async command(name, ...rest) {
      const client = new RedisClient(url, { autoReconnect: false });
      try {
        return (await client.send(name, rest)) as unknown;
      } finally {
        client.close();
      }
    },
    async stop() {
      await redis.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  await redis.start();
  return redis;
}
