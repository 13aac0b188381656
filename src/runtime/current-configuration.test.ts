// The active configuration with real databases: an invalid one never replaces a valid one, a write is active when it
// resolves, and nodes that share a database follow each other.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { z } from "zod";
import {
  apiKeyRecord,
  ENCRYPTION_SECRET,
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  targetRecord,
  temporarySqliteUrl,
  upstreamRecord,
  withSql,
} from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { hasPostgres, sharedPostgres } from "../../test/support/postgres.ts";
import { eventLoopTurns, waitUntil } from "../../test/support/waiting.ts";
import type { Gateway } from "../model/gateway.ts";
import { CredentialCipher } from "../store/credential-cipher.ts";
import { openStore } from "../store/sql-store.ts";
import type { ConsistentView, Store, Transaction } from "../store/store.ts";
import { Health } from "../telemetry/health.ts";
import { createLog } from "../telemetry/log/log.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import type { CompileContext } from "../snapshot/compile.ts";
import { CurrentConfiguration } from "./current-configuration.ts";

// The first test with PostgreSQL waits for its server to start.
setDefaultTimeout(60_000);

const opened: Store[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

interface Node {
  readonly current: CurrentConfiguration;
  readonly health: Health;
  readonly store: Store;
  readonly logged: string[];
  readonly context: CompileContext;
}

function node(url: string, wrap: (store: Store) => Store = (store) => store): Node {
  const store = openStore(url, new CredentialCipher(ENCRYPTION_SECRET));
  opened.push(store);
  const health = new Health();
  const logged: string[] = [];
  const log = createLog({ level: "info", format: "json" }, { write: (line) => void logged.push(line) });
  const context = compileContext();
  const current = new CurrentConfiguration(wrap(store), context, health, log);
  return { current, health, store, logged, context };
}

async function started(url: string): Promise<Node> {
  const loaded = node(url);
  await loaded.current.refresh();
  return loaded;
}

const insertGateway = (gateway: Gateway) => (transaction: Transaction) =>
  transaction.insert("gateways", gateway);
const names = ({ current }: Node) =>
  [...current.snapshot.gateways.values()].map((each) => each.gateway.name).sort();
const UNKNOWN_PLUGIN = {
  id: "entry",
  name: "no_such_plugin",
  stage: "pre_request",
  enabled: true,
  priority: 1,
  settings: {},
  on_error: "fail",
  mode: "enforce",
  sample: 1,
  isolation: "inline",
} as const;

const databases: [string, () => Promise<string>][] = [
  ["SQLite", () => Promise.resolve(temporarySqliteUrl())],
];
if (hasPostgres) databases.push(["PostgreSQL", async () => (await sharedPostgres()).createMigrated()]);

describe.each(databases)("CurrentConfiguration with %s", (_, createEmpty) => {
  test("has no revision before it is loaded, then revision 0", async () => {
    const one = node(await createEmpty());
    expect(one.health.revision).toBeNull();
    await one.current.refresh();
    expect(one.current.snapshot.revision).toBe(0);
    expect(one.health.revision).toBe(0);
    expect(names(one)).toEqual([]);
  });

  test("a write is durable and active when it resolves, whatever it changes", async () => {
    const one = await started(await createEmpty());
    const gateway = gatewayRecord({ subdomain: "acme" });
    expect(await one.current.write(async (tx) => (await tx.insert("gateways", gateway), "value"))).toBe(
      "value",
    );
    expect(one.current.snapshot.gatewaysBySubdomain.get("acme")?.id).toBe(gateway.id);
    expect(one.health.revision).toBe(1);
    const key = apiKeyRecord(gateway.id);
    await one.current.write((tx) => tx.insert("api_keys", key));
    expect(one.current.snapshot.apiKeysByHash.get(key.hash)?.id).toBe(key.id);
    await one.current.write((tx) => tx.update("api_keys", { ...key, hash: "rotated" }));
    expect(one.current.snapshot.apiKeysByHash.get(key.hash)).toBeUndefined();
    expect(one.current.snapshot.apiKeysByHash.get("rotated")?.id).toBe(key.id);
    await one.current.write((tx) => tx.update("api_keys", { ...key, active: false }));
    expect(one.current.snapshot.apiKeysById.size).toBe(0);
    await one.current.write((tx) => tx.removeGateway(gateway.id, true));
    expect(one.current.snapshot.gateways.size).toBe(0);
    expect(one.current.snapshot.revision).toBe(5);
    expect(await one.store.revision()).toBe(5);
  });

  test("a write of several gateways and keys becomes active as a whole, in this node and another one", async () => {
    const url = await createEmpty();
    const [one, two] = [await started(url), await started(url)];
    const [first, second] = [gatewayRecord({ name: "first" }), gatewayRecord({ name: "second" })];
    const key = apiKeyRecord(first.id);
    const { revision } = await one.current.commit(async (tx) => {
      await tx.insert("gateways", first);
      await tx.insert("api_keys", key);
      await tx.insert("gateways", second);
    });
    expect(revision).toBe(1);
    await two.current.refresh();
    for (const node of [one, two]) {
      expect(names(node)).toEqual(["first", "second"]);
      expect(node.current.snapshot.apiKeysByHash.get(key.hash)?.id).toBe(key.id);
    }
    await one.current.write(async (tx) => {
      await tx.removeGateway(first.id, true);
      await tx.update("gateways", { ...second, name: "changed" });
    });
    await two.current.refresh();
    for (const node of [one, two]) {
      expect(names(node)).toEqual(["changed"]);
      expect(node.current.snapshot.apiKeysById.size).toBe(0);
    }
    await one.current.commit((tx) => tx.rollBackTo(1), { action: "rollback" });
    await two.current.refresh();
    for (const node of [one, two]) {
      expect(names(node)).toEqual(["first", "second"]);
      expect(node.current.snapshot.apiKeysByHash.get(key.hash)?.id).toBe(key.id);
    }
  });

  test("a write without changes keeps the snapshot", async () => {
    const one = await started(await createEmpty());
    const before = one.current.snapshot;
    expect(await one.current.commit(() => Promise.resolve("nothing"))).toEqual({
      value: "nothing",
      revision: 0,
      version: "0",
      changes: [],
      audit: null,
    });
    expect(one.current.snapshot).toBe(before);
  });

  test("a dry run compiles a write, returns its result, and rolls it back", async () => {
    const one = await started(await createEmpty());
    const before = one.current.snapshot;
    const gateway = gatewayRecord();
    const result = await one.current.dryRun(async (tx) => {
      await tx.insert("gateways", gateway);
      return (await tx.gatewayParts(gateway.id))?.gateway.id;
    });
    expect(result).toBe(gateway.id);
    expect(one.current.snapshot).toBe(before);
    expect(await one.store.revision()).toBe(0);
    expect(await one.store.get("gateways", gateway.id)).toBeNull();
    const bad = { ...gateway, required_plugins: [UNKNOWN_PLUGIN] };
    const error = one.current.dryRun((tx) => tx.insert("gateways", bad));
    expect(await error.catch((reason: unknown) => reason)).toBeInstanceOf(CompileError);
  });

  test("releases the plugin instances of a gateway whose creation is rolled back", async () => {
    const one = await started(await createEmpty());
    let created = 0;
    one.context.plugins.register({
      name: "counted",
      description: "",
      stages: ["pre_request"],
      settings: z.object({}),
      create: () => ({ pre_request: () => undefined, created: ++created }),
    });
    const counted = { ...UNKNOWN_PLUGIN, name: "counted" };
    const gateway = gatewayRecord({ required_plugins: [counted] });
    await one.current.dryRun((tx) => tx.insert("gateways", gateway));
    const bad = { ...gateway, required_plugins: [counted, { ...UNKNOWN_PLUGIN, id: "other" }] };
    await one.current.write((tx) => tx.insert("gateways", bad)).catch(() => undefined);
    await one.current.write((tx) => tx.insert("gateways", gateway));
    expect(created).toBe(3);
    // A gateway that exists keeps its instances.
    await one.current.dryRun((tx) => tx.update("gateways", { ...gateway, name: "dry run" }));
    await one.current.write((tx) => tx.update("gateways", gateway));
    expect(created).toBe(3);
  });

  test("the snapshot contains active rules with their upstream", async () => {
    const url = await createEmpty();
    const one = await started(url);
    const gateway = gatewayRecord();
    const upstream = upstreamRecord(gateway.id);
    const service = serviceRecord(gateway.id, upstream.id);
    const rule = ruleRecord(gateway.id, service.id);
    await one.current.write(async (tx) => {
      await tx.insert("gateways", gateway);
      await tx.insert("upstreams", upstream);
      await tx.insert("services", service);
      await tx.insert("rules", rule);
    });
    const rulesOf = ({ current }: Node) =>
      current.snapshot.gateways.get(gateway.id)?.rules.map((each) => [each.id, each.upstream.id]);
    expect(rulesOf(one)).toEqual([[rule.id, upstream.id]]);
    expect(rulesOf(await started(url))).toEqual([[rule.id, upstream.id]]);
    await one.current.write((tx) => tx.update("rules", { ...rule, active: false }));
    expect(rulesOf(one)).toEqual([]);
  });

  test("a write that does not compile changes neither the store nor the snapshot", async () => {
    const one = await started(await createEmpty());
    const gateway = gatewayRecord({ name: "good", subdomain: "acme" });
    const upstream = upstreamRecord(gateway.id);
    await one.current.write(insertGateway(gateway));
    await one.current.write((tx) => tx.insert("upstreams", upstream));
    const before = one.current.snapshot;
    const attempts: [string, (tx: Transaction) => Promise<void>][] = [
      [
        "required_plugins[0].name",
        (tx) => tx.update("gateways", { ...gateway, name: "bad", required_plugins: [UNKNOWN_PLUGIN] }),
      ],
      [
        "required_plugins[0].name",
        (tx) => tx.insert("gateways", gatewayRecord({ required_plugins: [UNKNOWN_PLUGIN] })),
      ],
      [
        "targets[0].base_url",
        (tx) => tx.update("upstreams", { ...upstream, targets: [targetRecord({ provider: "my-own" })] }),
      ],
    ];
    for (const [path, attempt] of attempts) {
      const error: unknown = await one.current.write(attempt).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(CompileError);
      expect((error as CompileError).details[0]?.path).toBe(path);
      expect(one.current.snapshot).toBe(before);
      expect(await one.store.revision()).toBe(2);
    }
    expect(await one.store.gatewayParts(gateway.id)).toMatchObject({ gateway, upstreams: [upstream] });
    expect((await one.store.list("gateways", { limit: 10, offset: 0 })).count).toBe(1);
  });

  test("a gateway from another node that does not compile: its last valid version stays active, and /readyz names it", async () => {
    const url = await createEmpty();
    const one = await started(url);
    const gateway = gatewayRecord({ name: "good" });
    await one.current.write(insertGateway(gateway));
    // A node with more plugins than this one can store a gateway that does not compile here.
    const otherNode = node(url);
    const bad = { ...gateway, name: "bad", required_plugins: [UNKNOWN_PLUGIN] };
    await otherNode.store.write((tx) => tx.update("gateways", bad));
    await one.current.refresh();
    expect(names(one)).toEqual(["good"]);
    expect(one.current.snapshot.revision).toBe(2);
    expect([...one.health.failedGateways.keys()]).toEqual([gateway.id]);
    expect(one.logged.join("")).toContain(gateway.id);
    expect(one.logged.join("")).toContain("required_plugins[0].name");
    // Other gateways are not affected, neither here nor in a node that never had a valid version.
    await otherNode.store.write(insertGateway(gatewayRecord({ name: "other" })));
    await one.current.refresh();
    expect(names(one)).toEqual(["good", "other"]);
    const fresh = await started(url);
    expect(names(fresh)).toEqual(["other"]);
    expect([...fresh.health.failedGateways.keys()]).toEqual([gateway.id]);
    await otherNode.store.write((tx) => tx.update("gateways", { ...gateway, name: "fixed" }));
    for (const each of [one, fresh]) {
      await each.current.refresh();
      expect(names(each)).toEqual(["fixed", "other"]);
      expect(each.health.failedGateways.size).toBe(0);
    }
  });

  test("two nodes follow each other with refresh", async () => {
    const url = await createEmpty();
    const [one, two] = [await started(url), await started(url)];
    const gateway = gatewayRecord({ name: "first", subdomain: "acme" });
    const key = apiKeyRecord(gateway.id);
    await one.current.write(insertGateway(gateway));
    await one.current.write((tx) => tx.insert("api_keys", key));
    expect(names(two)).toEqual([]);
    await two.current.refresh();
    expect(two.current.snapshot.gatewaysBySubdomain.get("acme")?.id).toBe(gateway.id);
    expect(two.current.snapshot.apiKeysByHash.get(key.hash)?.id).toBe(key.id);
    await two.current.write((tx) => tx.update("gateways", { ...gateway, subdomain: "moved" }));
    await one.current.refresh();
    expect(one.current.snapshot.gatewaysBySubdomain.get("acme")).toBeUndefined();
    expect(one.current.snapshot.gatewaysBySubdomain.get("moved")?.id).toBe(gateway.id);
    await one.current.write((tx) => tx.removeGateway(gateway.id, true));
    await two.current.refresh();
    expect(two.current.snapshot.gateways.size).toBe(0);
    expect(two.current.snapshot.apiKeysByHash.size).toBe(0);
    expect(two.current.snapshot.revision).toBe(one.current.snapshot.revision);
  });

  test("a refresh without changes keeps the snapshot", async () => {
    const one = await started(await createEmpty());
    await one.current.write(insertGateway(gatewayRecord()));
    const before = one.current.snapshot;
    await one.current.refresh();
    expect(one.current.snapshot).toBe(before);
  });

  test("a node that missed more revisions than are kept loads everything", async () => {
    const url = await createEmpty();
    const [one, two] = [await started(url), await started(url)];
    const deleted = gatewayRecord({ name: "deleted" });
    await one.current.write(insertGateway(deleted));
    await two.current.refresh();
    await one.current.write((tx) => tx.removeGateway(deleted.id, false));
    await one.store.write(insertGateway(gatewayRecord({ name: "new" })));
    await withSql(url, (sql) => sql.unsafe("DELETE FROM revisions WHERE number <= 2"));
    await two.current.refresh();
    expect(names(two)).toEqual(["new"]);
    expect(two.current.snapshot.revision).toBe(3);
  });

  test("two nodes write concurrently: each write is active in its node when it resolves, and finally in both", async () => {
    const url = await createEmpty();
    const nodes = [await started(url), await started(url)];
    let polling = true;
    const polls = nodes.map(async ({ current }) => {
      while (polling) {
        await current.refresh();
        await eventLoopTurns(1);
      }
    });
    const writes = nodes.flatMap((each, index) =>
      Array.from({ length: 20 }, async (_unused, number) => {
        const gateway = gatewayRecord({ name: `${index}/${String(number).padStart(2, "0")}` });
        // The deadline of the last write includes the time of all writes before it.
        await each.current.write(insertGateway(gateway), { deadlineMs: 60_000 });
        expect(each.current.snapshot.gateways.get(gateway.id)?.gateway.name).toBe(gateway.name);
        const revision = each.current.snapshot.revision;
        await eventLoopTurns(number);
        // Once active, it stays active.
        expect(each.current.snapshot.gateways.get(gateway.id)).toBeDefined();
        expect(each.current.snapshot.revision).toBeGreaterThanOrEqual(revision);
        return gateway.name;
      }),
    );
    const written = (await Promise.all(writes).finally(() => (polling = false))).sort();
    await Promise.all(polls);
    for (const each of nodes) {
      await each.current.refresh();
      expect(names(each)).toEqual(written);
      expect(each.current.snapshot.revision).toBe(40);
    }
  });

  test("a slow refresh never replaces a newer write", async () => {
    const held: { write: Promise<void> | null; inView: (() => Promise<void>) | null } = {
      write: null,
      inView: null,
    };
    const slow = (store: Store): Store =>
      new Proxy(store, {
        get(target, name) {
          if (name === "write") return write;
          if (name === "view") return view;
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
          // The result of a commit can arrive later than that of a view that began after the commit.
          async function write<T>(work: (transaction: Transaction) => Promise<T>) {
            const written = await target.write(work);
            await held.write;
            return written;
          }
          function view<T>(work: (view: ConsistentView) => Promise<T>) {
            return target.view(async (opened) => {
              await held.inView?.();
              return work(opened);
            });
          }
        },
      });
    const one = node(await createEmpty(), slow);
    await one.current.refresh();
    const { promise, resolve: release } = Promise.withResolvers<undefined>();
    held.write = promise.then(() => undefined);
    const first = one.current.write(insertGateway(gatewayRecord({ name: "first" })));
    await waitUntil(async () => (await one.store.revision()) > 0);
    held.inView = async () => {
      held.write = null;
      release(undefined);
      await first;
      await one.current.write(insertGateway(gatewayRecord({ name: "second" })));
      expect(names(one)).toEqual(["first", "second"]);
    };
    await one.current.refresh();
    expect(names(one)).toEqual(["first", "second"]);
    expect(one.current.snapshot.revision).toBe(2);
  });
});
