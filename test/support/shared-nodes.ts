// Nodes that share PostgreSQL and Redis, or one node that has neither, with a fake provider; and clients that send many requests.
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import {
  startGatehouseProcess,
  type GatehouseProcess,
  type RunningGatehouse,
  type StartOptions,
} from "./gatehouse-process.ts";
import { sharedPostgres } from "./postgres.ts";
import { startRedis, type RedisServer } from "./redis.ts";
import { waitUntil } from "./waiting.ts";

export interface SharedNodes {
  /** Tests may kill nodes and replace them in this array. */
  readonly nodes: GatehouseProcess[];
  readonly redis: RedisServer | null;
  readonly provider: FakeProvider;
  /** Starts another node. */
  startNode(options?: StartOptions): Promise<GatehouseProcess>;
  stop(): Promise<void>;
}

interface SharedNodesOptions {
  readonly nodes: number;
  readonly redis: boolean;
  /** Otherwise every node has its own SQLite file. */
  readonly postgres: boolean;
  readonly env?: Record<string, string>;
  /** A command that runs every gateway, such as `setsid`. */
  readonly prefix?: readonly string[];
  /** False keeps counts of requests only. */
  readonly record?: boolean;
}

export async function startSharedNodes(options: SharedNodesOptions): Promise<SharedNodes> {
  const [redis, provider, databaseUrl] = await Promise.all([
    options.redis ? startRedis() : null,
    startFakeProvider({ record: options.record ?? true }),
    options.postgres ? sharedPostgres().then((postgres) => postgres.createMigrated()) : null,
  ]);
  const env = {
    ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }),
    // On a busy machine Redis itself may not run for longer than the default, and `closed` would reject requests.
    ...(redis !== null && { REDIS_URL: redis.url, REDIS_SILENT_MS: "2000" }),
    WORKERS: "1",
    ...options.env,
  };
  const prefix = options.prefix === undefined ? {} : { prefix: options.prefix };
  const startNode = ({ env: more, ...rest }: StartOptions = {}) =>
    startGatehouseProcess({ ...prefix, ...rest, env: { ...env, ...more } });
  // The first node migrates the database.
  const nodes = [await startNode()];
  nodes.push(...(await Promise.all(Array.from({ length: options.nodes - 1 }, () => startNode()))));
  return {
    nodes,
    redis,
    provider,
    startNode,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      await Promise.all([redis?.stop(), provider.stop()]);
    },
  };
}

/** Waits until all nodes have the current revision of the first one. */
export async function untilAllFollow(nodes: readonly RunningGatehouse[]): Promise<void> {
  const [first] = nodes;
  if (first === undefined) return;
  const wanted = await revisionOf(first);
  for (const node of nodes) await waitUntil(async () => (await revisionOf(node)) >= wanted);
}

async function revisionOf({ proxyUrl }: RunningGatehouse): Promise<number> {
  return ((await (await fetch(`${proxyUrl}/readyz`)).json()) as { revision: number }).revision;
}

/**
 * Posts a body `count` times, each over its own connection, all at once, and by turns to the nodes. Resolves to the number of responses
 * by status; 0 is a connection that broke.
 */
export async function postAtOnce(
  nodes: readonly RunningGatehouse[],
  path: string,
  body: unknown,
  count: number,
): Promise<Record<number, number>> {
  const text = JSON.stringify(body);
  const head = `POST ${path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nConnection: close\r\n`;
  const request = `${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  const ports = nodes.map(({ proxyUrl }) => Number(new URL(proxyUrl).port));
  const statuses: Record<number, number> = {};
  const post = async (at: number) => {
    const status = await statusOf(ports[at % ports.length] ?? 0, request);
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  await Promise.all(Array.from({ length: count }, (_, at) => post(at)));
  return statuses;
}

/** Resolves when the connection has ended. */
async function statusOf(port: number, request: string): Promise<number> {
  const ended = Promise.withResolvers<undefined>();
  let received = "";
  try {
    await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => void socket.write(request),
        data: (_, bytes) => {
          received += bytes.toString("latin1");
        },
        close: () => ended.resolve(undefined),
        error: () => ended.resolve(undefined),
      },
    });
    await ended.promise;
  } catch {
    return 0;
  }
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1] ?? 0);
}
