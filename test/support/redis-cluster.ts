// A real Redis Cluster for tests: three masters on free ports of this machine, each with a third of the slots.
import { isInstalled } from "./required-program.ts";
import { startRedis, type RedisServer } from "./redis.ts";
import { waitUntil } from "./waiting.ts";
import { freePort } from "./free-port.ts";

const SLOTS = 16_384;
const MASTERS = 3;

export const hasRedisCluster = isInstalled(Bun.which("redis-server") ?? Bun.which("valkey-server"), {
  name: "Redis",
  tests: "the tests of Redis Cluster",
  install: "apt-get install redis-server",
});

export interface RedisCluster {
  readonly masters: readonly RedisServer[];
  /** REDIS_URL with all nodes as seeds. */
  readonly url: string;
  /** Returns the master that serves a key. */
  masterOf(key: string): Promise<RedisServer>;
  /** Moves a slot with its keys to another master, `batch` keys at a time; `between` runs after each of them. */
  moveSlot(slot: number, to: RedisServer, between?: () => Promise<void>, batch?: number): Promise<void>;
  slotOf(key: string): Promise<number>;
  stop(): Promise<void>;
}

async function nodeId(server: RedisServer): Promise<string> {
  return String(await server.command("CLUSTER", "MYID"));
}

/** The port of the cluster bus must be free too; by default it is the port plus 10,000, which may be too large. */
async function startNode(args: readonly string[]): Promise<RedisServer> {
  const bus = freePort();
  return startRedis([
    ...["--appendonly", "no", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000"],
    ...["--cluster-port", String(bus), "--cluster-require-full-coverage", "no", ...args],
  ]);
}

async function join(masters: readonly RedisServer[]): Promise<void> {
  const [first, ...others] = masters;
  if (first === undefined) return;
  for (const [at, master] of masters.entries()) {
    const [from, to] = [Math.floor((SLOTS * at) / MASTERS), Math.floor((SLOTS * (at + 1)) / MASTERS) - 1];
    await master.command("CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
    await master.command("CLUSTER", "SET-CONFIG-EPOCH", String(at + 1));
  }
  const bus = Number(/@(\d+)/.exec(String(await first.command("CLUSTER", "NODES")))?.[1]);
  for (const other of others)
    await other.command("CLUSTER", "MEET", "127.0.0.1", String(first.port), String(bus));
  for (const master of masters)
    await waitUntil(async () => {
      const info = String(await master.command("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${MASTERS}`);
    });
}

export async function startRedisCluster(args: readonly string[] = []): Promise<RedisCluster> {
  const masters = await Promise.all(Array.from({ length: MASTERS }, () => startNode(args)));
  await join(masters);
  const slotOf = async (key: string) => Number(await masters[0]?.command("CLUSTER", "KEYSLOT", key));
  const ownerOf = async (slot: number) => {
    for (const master of masters) {
      const slots = String(await master.command("CLUSTER", "NODES"))
        .split("\n")
        .find((line) => line.includes("myself"));
      const ranges = (slots ?? "").trim().split(" ").slice(8);
      for (const range of ranges) {
        const [from = NaN, to = from] = range.split("-").map(Number);
        if (slot >= from && slot <= to) return master;
      }
    }
    throw new Error(`no master has slot ${slot}`);
  };
  return {
    masters,
    url: masters.map(({ url }) => url).join(","),
    slotOf,
    masterOf: async (key) => ownerOf(await slotOf(key)),
    async moveSlot(slot, to, between = () => Promise.resolve(), batch = 10) {
      const from = await ownerOf(slot);
      const { password } = new URL(to.url);
      const credentials = password === "" ? [] : ["AUTH", password];
      const [source, target] = [await nodeId(from), await nodeId(to)];
      await to.command("CLUSTER", "SETSLOT", String(slot), "IMPORTING", source);
      await from.command("CLUSTER", "SETSLOT", String(slot), "MIGRATING", target);
      for (;;) {
        const keys = (await from.command(
          "CLUSTER",
          "GETKEYSINSLOT",
          String(slot),
          String(batch),
        )) as string[];
        if (keys.length === 0) break;
        await from.command(
          "MIGRATE",
          "127.0.0.1",
          String(to.port),
          "",
          "0",
          "5000",
          ...credentials,
          "KEYS",
          ...keys,
        );
        await between();
      }
      for (const master of [to, from, ...masters.filter((one) => one !== to && one !== from)])
        await master.command("CLUSTER", "SETSLOT", String(slot), "NODE", target);
    },
    async stop() {
      await Promise.all(masters.map((master) => master.stop()));
    },
  };
}
