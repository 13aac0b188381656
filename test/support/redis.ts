// A real Redis for tests: a throw-away server on a free port that can be killed, paused and brought back.
import { RedisClient } from "bun";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";

const program = Bun.which("redis-server") ?? Bun.which("valkey-server");
const INSTALL = "apt-get install redis-server";

/** Whether Redis tests can run. In CI they must; elsewhere a missing server is said loudly. */
export const hasRedis = program !== null;
if (!hasRedis) {
  const sentence = `Redis is not installed, so its tests are SKIPPED (${INSTALL})`;
  if (process.env["CI"] === "true") throw new Error(`${sentence}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${sentence}\n\n`);
}

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Brings a killed one back on the same port, with what it had written or with nothing; more words for its command line. */
  start(options?: { empty?: boolean; words?: readonly string[]; awaitReady?: boolean }): Promise<void>;
  kill(): Promise<void>;
  /** SIGSTOP: its connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** One command over a connection of its own. */
  command(name: string, ...words: string[]): Promise<unknown>;
  /** For good, its files too. */
  stop(): Promise<void>;
}

/** `bun test` emits no "exit", and a killed run could not: a shell of its own waits for this process to be gone. */
function killWithThisProcess(pid: number, directory: string): void {
  const wait =
    'while kill -0 "$1" 2>/dev/null && kill -0 "$2" 2>/dev/null; do sleep 1; done; ' +
    'kill -0 "$1" 2>/dev/null || { kill -9 "$2" 2>/dev/null; rm -rf "$3"; }';
  // In a session of its own: a test worker takes the processes of its own along when it ends.
  Bun.spawnSync(["setsid", "--fork", "sh", "-c", wait, "sh", String(process.pid), String(pid), directory], {
    cwd: "/",
    stdio: ["ignore", "ignore", "ignore"],
  });
}

/** Every write goes to disk at once, so that a killed server comes back with it; a busy disk makes it slow to answer. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

export async function startRedis(words: readonly string[] = []): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-redis-"));
  const port = await freePort();
  const password = words.includes("--requirepass") ? words[words.indexOf("--requirepass") + 1] : undefined;
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
    async start({ empty = false, words: more = [], awaitReady = true } = {}) {
      if (empty) rmSync(join(directory, "appendonlydir"), { recursive: true, force: true });
      const line = [program ?? "", ...fixed, ...words, ...more];
      server = Bun.spawn(line, { stdio: ["ignore", "ignore", "ignore"] });
      killWithThisProcess(server.pid, directory);
      const deadline = Date.now() + 20_000;
      while (awaitReady && !(await isReady())) {
        if (Date.now() > deadline) throw new Error(`${line.join(" ")} does not get ready`);
        await Bun.sleep(20);
      }
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
