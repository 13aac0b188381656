// Three gateway processes that share a Redis and a database, for tests of rate_limiter.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import { untilCounters } from "./exact-counters.ts";
import { temporaryDirectory, type ApiResponse, type GatehouseProcess } from "./gatehouse-process.ts";
import { limiter, postChat, seedPlugins, type Fields } from "./plugin-fixtures.ts";
import type { SeededRoute } from "./proxy-fixtures.ts";
import type { RedisServer } from "./redis.ts";
import { startSharedNodes, untilAllFollow, type SharedNodes } from "./shared-nodes.ts";

const START_MS = 60_000;

export async function readiness(node: GatehouseProcess): Promise<ApiResponse["body"]> {
  const response = await fetch(`${node.proxyUrl}/readyz`);
  expect(response.status).toBe(200);
  return response.json();
}

export async function statusOf(node: GatehouseProcess, route: SeededRoute, user = "ann"): Promise<number> {
  const response = await postChat(node, route, { headers: { "X-User-ID": user } });
  await response.text();
  return response.status;
}

export const statusesOf = (node: GatehouseProcess, route: SeededRoute, times: number, user = "ann") =>
  Promise.all(Array.from({ length: times }, () => statusOf(node, route, user)));

class RateLimitedNodes {
  #shared: SharedNodes | null = null;
  readonly #directory = temporaryDirectory();

  async start(): Promise<void> {
    const env = {
      // Not too short: on a busy machine Redis itself may not run for a while, and limits would apply per process.
      REDIS_SILENT_MS: "500",
      ...this.database,
    };
    this.#shared = await startSharedNodes({ nodes: 3, redis: true, postgres: false, env });
  }

  async stop(): Promise<void> {
    await this.#shared?.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Nodes with the same Redis need it. */
  get database() {
    return { DATABASE_URL: `sqlite://${join(this.#directory, "shared.db")}` };
  }

  get #started(): SharedNodes {
    if (this.#shared === null) throw new Error("the gateways are not started yet");
    return this.#shared;
  }

  get redis(): RedisServer {
    const { redis } = this.#started;
    if (redis === null) throw new Error("the gateways were started without Redis");
    return redis;
  }

  get provider(): FakeProvider {
    return this.#started.provider;
  }

  get nodes(): readonly [GatehouseProcess, GatehouseProcess, GatehouseProcess] {
    const [first, second, third] = this.#started.nodes;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error(`${this.#started.nodes.length} gateways are started instead of 3`);
    return [first, second, third];
  }

  /** Starts Redis if it does not run, and waits until every process is connected to it. */
  async reconnect(): Promise<void> {
    this.redis.resume();
    if ((await this.redis.command("PING").catch(() => null)) !== "PONG") await this.redis.start();
    await Promise.all(this.nodes.map((node) => untilCounters(node, "ok")));
  }

  /** Creates a route through the first process and waits until every process has it. */
  async seedEverywhere(limits: Parameters<typeof limiter>[0], settings: Fields = {}): Promise<SeededRoute> {
    const route = await seedPlugins(this.nodes[0], this.provider, [limiter(limits, settings)]);
    await untilAllFollow(this.nodes);
    return route;
  }

  /** Sends this many concurrent requests to each process. */
  async everywhere(route: SeededRoute, times: number, user: string): Promise<number[]> {
    return (await Promise.all(this.nodes.map((node) => statusesOf(node, route, times, user)))).flat();
  }
}

/** Starts the processes before the tests of a `describe` and stops them afterwards. Every test starts with Redis connected. */
export function useRateLimitedNodes(): RateLimitedNodes {
  const nodes = new RateLimitedNodes();
  beforeAll(() => nodes.start(), START_MS);
  afterAll(() => nodes.stop());
  beforeEach(() => nodes.provider.reset());
  afterEach(() => nodes.reconnect());
  return nodes;
}
