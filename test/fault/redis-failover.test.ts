// A master of Redis Cluster that dies and is replaced by its replica, and Redis that is reached with TLS.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BudgetClaim } from "../../src/ledger/ledger.ts";
import { RedisLedger } from "../../src/ledger/redis-ledger.ts";
import { createCertificate } from "../support/certificates.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { openLedgerStore } from "../support/ledger-store.ts";
import { hasRedisCluster, startRedisCluster, type RedisCluster } from "../support/redis-cluster.ts";
import { startRedis, type RedisServer } from "../support/redis.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

const START_MS = 60_000;
const LIMIT = 50;

const budget = (key: string): BudgetClaim => ({
  kind: "budget",
  key,
  period: "total",
  endsAt: null,
  limit: LIMIT,
  amount: 1,
  enforced: true,
});

describe.skipIf(!hasRedisCluster)("a master with a replica", () => {
  let cluster: RedisCluster;
  let replica: RedisServer;
  beforeAll(async () => {
    cluster = await startRedisCluster();
    const bus = freePort();
    replica = await startRedis([
      ...["--appendonly", "no", "--cluster-enabled", "yes", "--cluster-node-timeout", "2000"],
      ...["--cluster-port", String(bus), "--cluster-require-full-coverage", "no"],
    ]);
    const [master] = cluster.masters;
    const masterBus = /@(\d+)/.exec(String(await master!.command("CLUSTER", "NODES")))?.[1] ?? "";
    await replica.command("CLUSTER", "MEET", "127.0.0.1", String(master!.port), masterBus);
    const id = String(await master!.command("CLUSTER", "MYID"));
    await waitUntil(async () => String(await replica.command("CLUSTER", "NODES")).includes(id));
    await replica.command("CLUSTER", "REPLICATE", id);
    await waitUntil(async () =>
      String(await replica.command("INFO", "replication")).includes("master_link_status:up"),
    );
  }, START_MS);
  afterAll(async () => {
    await Promise.all([cluster.stop(), replica.stop()]);
  });

  test(
    "that dies: `closed` rejects until the replica takes over, which has what was spent and admits no more than is left",
    async () => {
      const store = openLedgerStore();
      const { journal } = store;
      const ledger = new RedisLedger(cluster.url, { journal, silenceTimeoutMs: 500, closedTimeoutMs: 500 });
      await ledger.settled;
      const [master] = cluster.masters;
      const gateway = await waitFor(async () => {
        const name = crypto.randomUUID();
        return (await cluster.masterOf(`{${name}}`)) === master ? name : null;
      });
      const claim = budget("failover");
      const admit = async () => {
        const outcome = await ledger.reserve(gateway, [claim], "closed");
        if (outcome.reserved) outcome.settle([1]);
        return outcome.source === "closed" ? null : outcome.reserved;
      };
      for (let sent = 0; sent < 30; sent++) expect(await admit()).toBe(true);
      await waitUntil(async () => (await ledger.read(gateway, [claim]))[0]?.spent === 30);
      // Replication is asynchronous: wait until the replica has everything, so that the result is exact.
      await waitUntil(async () => {
        const offset = /master_repl_offset:(\d+)/;
        const [ours, theirs] = await Promise.all(
          [master!, replica].map(
            async (server) => offset.exec(String(await server.command("INFO", "replication")))?.[1],
          ),
        );
        return ours === theirs;
      });
      await master!.kill();
      await waitUntil(async () => (await admit()) === null);
      const first = await waitFor(admit);
      const rest: boolean[] = [first];
      while (rest.length < 40) rest.push(await waitFor(admit));
      expect(rest.filter(Boolean)).toHaveLength(LIMIT - 30);
      await waitUntil(async () => (await ledger.read(gateway, [claim]))[0]?.reserved === 0);
      expect(await ledger.read(gateway, [claim])).toEqual([{ spent: LIMIT, reserved: 0 }]);
      await ledger.close();
      await store.close();
    },
    START_MS,
  );
});

describe.skipIf(!hasRedisCluster || Bun.which("openssl") === null)("Redis with TLS", () => {
  test(
    "is used with rediss:// if its certificate is trusted, and is unavailable if not",
    async () => {
      const directory = mkdtempSync(join(tmpdir(), "gatehouse-tls-"));
      const { key, cert } = createCertificate(directory, "redis", ["20200101000000Z", "20990101000000Z"]);
      const tlsPort = freePort();
      const redis = await startRedis([
        ...[
          "--appendonly",
          "no",
          "--tls-port",
          String(tlsPort),
          "--tls-cert-file",
          cert,
          "--tls-key-file",
          key,
        ],
        ...["--tls-ca-cert-file", cert, "--tls-auth-clients", "no"],
      ]);
      const stateWith = async (env: Record<string, string>): Promise<string> => {
        const REDIS_URL = `rediss://localhost:${tlsPort}`;
        const node = await startGatehouseProcess({
          env: { REDIS_URL, WORKERS: "1", ...env },
          notReady: true,
        });
        const { counters } = (await (await fetch(`${node.proxyUrl}/readyz`)).json()) as {
          counters: { state: string };
        };
        await node.stop();
        return counters.state;
      };
      expect(await stateWith({ NODE_EXTRA_CA_CERTS: cert })).toBe("ok");
      expect(await stateWith({})).toBe("away");
      await redis.stop();
      rmSync(directory, { recursive: true });
    },
    START_MS,
  );
});
