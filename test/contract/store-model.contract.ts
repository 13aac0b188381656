// Random writes and rollbacks on the store and on a naive model in memory: same results, same records, same revisions.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatehouseError } from "../../src/base/errors.ts";
import type { Kind, RecordOf, StoredApiKey } from "../../src/kinds/kind.ts";
import type { Change, Store, Transaction } from "../../src/store/store.ts";
import {
  apiKeyRecord,
  budgetRecord,
  gameDayRecord,
  gatewayRecord,
  mcpServerRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
  virtualModelRecord,
} from "./store-records.ts";
import { runs } from "../support/long-form.ts";
import { openForTest, type StoreMaker } from "./store-fixture.ts";

type Child = Exclude<Kind, "gateways">;
const KINDS: readonly Kind[] = [
  "gateways",
  "upstreams",
  "mcp_servers",
  "services",
  "rules",
  "models",
  "budgets",
  "game_days",
  "api_keys",
];
const THROWN = new Error("thrown on purpose");

interface AnyRecord {
  readonly id: string;
  readonly gateway_id?: string;
}

class Oracle {
  revision: number;
  records: Record<Kind, Map<string, AnyRecord>> = {
    gateways: new Map(),
    upstreams: new Map(),
    mcp_servers: new Map(),
    services: new Map(),
    rules: new Map(),
    models: new Map(),
    budgets: new Map(),
    game_days: new Map(),
    api_keys: new Map(),
  };

  /** The records at every revision so far, and the last state of each API key. */
  readonly past = new Map<number, Oracle["records"]>();
  readonly lastKeys = new Map<string, StoredApiKey>();

  constructor(revision: number) {
    this.revision = revision;
    this.remember();
  }

  remember(): void {
    const copies = KINDS.map((kind) => [kind, new Map(this.records[kind])] as const);
    this.past.set(this.revision, Object.fromEntries(copies) as Oracle["records"]);
    for (const key of this.all("api_keys")) this.lastKeys.set(key.id, key);
  }

  /** The records at a revision, but with API keys that stay revoked or rotated, and the game days of now. */
  restored(revision: number): Oracle["records"] {
    const then = this.past.get(revision)!;
    const keys = [...then.api_keys.values()].map((key) => {
      const { hash, prefix, active } = this.lastKeys.get(key.id)!;
      return { ...key, hash, prefix, active };
    });
    const byId = (records: AnyRecord[]) => new Map(records.map((record) => [record.id, record]));
    const same = KINDS.map((kind) => [kind, new Map(then[kind])] as const);
    const copies = Object.fromEntries(same) as Oracle["records"];
    const gameDays = this.all("game_days").filter(({ gateway_id }) => then.gateways.has(gateway_id));
    return { ...copies, game_days: byId(gameDays), api_keys: byId(keys) };
  }

  all<K extends Kind>(kind: K): RecordOf[K][] {
    const records = [...this.records[kind].values()] as unknown as RecordOf[K][];
    return records.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Selects a record by number; undefined if there is none. */
  pick<K extends Kind>(kind: K, number: number): RecordOf[K] | undefined {
    const records = this.all(kind);
    return records[number % Math.max(1, records.length)];
  }

  #has(kind: Kind, id: string, gatewayId: string): boolean {
    return this.records[kind].get(id)?.gateway_id === gatewayId;
  }

  /** Returns 0 if the record is accepted, otherwise the HTTP status of the error. */
  put(kind: Kind, record: RecordOf[Kind]): number {
    if (kind === "gateways") {
      const { subdomain, id } = record as RecordOf["gateways"];
      if (subdomain !== null && this.all("gateways").some((g) => g.subdomain === subdomain && g.id !== id))
        return 409;
    } else if (kind === "services") {
      const { upstream_id, mcp_server_ids, gateway_id } = record as RecordOf["services"];
      if (upstream_id !== null && !this.#has("upstreams", upstream_id, gateway_id)) return 400;
      if (!mcp_server_ids.every((id) => this.#has("mcp_servers", id, gateway_id))) return 400;
    } else if (kind === "rules") {
      const { service_id, gateway_id } = record as RecordOf["rules"];
      if (!this.#has("services", service_id, gateway_id)) return 400;
    } else if (kind === "models") {
      const { targets, gateway_id } = record as RecordOf["models"];
      if (!targets.every(({ upstream }) => this.#has("upstreams", upstream, gateway_id))) return 400;
    } else if (kind === "budgets") {
      const { id, name, gateway_id } = record as RecordOf["budgets"];
      const others = this.all("budgets").filter((each) => each.id !== id && each.gateway_id === gateway_id);
      if (others.some((each) => each.name === name)) return 409;
    } else if (kind === "api_keys") {
      const { policies, gateway_id } = record as StoredApiKey;
      if (!policies.every((id) => this.#has("rules", id, gateway_id))) return 400;
    }
    this.records[kind].set(record.id, record);
    return 0;
  }

  remove(kind: Child, id: string): number {
    const used =
      (kind === "upstreams" && this.all("services").some((each) => each.upstream_id === id)) ||
      (kind === "mcp_servers" && this.all("services").some((each) => each.mcp_server_ids.includes(id))) ||
      (kind === "upstreams" &&
        this.all("models").some(({ targets }) => targets.some(({ upstream }) => upstream === id))) ||
      (kind === "services" && this.all("rules").some((each) => each.service_id === id)) ||
      (kind === "rules" && this.all("api_keys").some((each) => each.active && each.policies.includes(id)));
    if (used) return 409;
    this.records[kind].delete(id);
    return 0;
  }

  removeGateway(id: string, cascade: boolean): number {
    const parts = KINDS.slice(1).flatMap((kind) =>
      this.all(kind).filter((each) => "gateway_id" in each && each.gateway_id === id),
    );
    const holds = (part: object) => !("active" in part && "hash" in part) || part.active;
    if (!cascade && parts.some(holds)) return 409;
    for (const kind of KINDS) for (const part of parts) this.records[kind].delete(part.id);
    this.records.gateways.delete(id);
    return 0;
  }
}

/** One write: how to run it on the store, the result of the oracle, and the change that is reported for it. */
interface Step {
  readonly run: (transaction: Transaction) => Promise<void>;
  readonly expectedStatus: () => number;
  readonly change: Change;
}

class Write implements fc.AsyncCommand<Oracle, Store> {
  readonly #name: string;
  readonly #plan: (oracle: Oracle) => Step | null;

  constructor(name: string, plan: (oracle: Oracle) => Step | null) {
    this.#name = name;
    this.#plan = plan;
  }

  check(): boolean {
    return true;
  }

  async run(oracle: Oracle, store: Store): Promise<void> {
    const step = this.#plan(oracle);
    if (step === null) return;
    const expected = step.expectedStatus();
    const outcome = await store.write(step.run).catch((error: unknown) => error);
    if (expected === 0) {
      expect(outcome).toMatchObject({ revision: ++oracle.revision, changes: [step.change] });
      oracle.remember();
    } else {
      expect(outcome).toBeInstanceOf(GatehouseError);
      expect((outcome as GatehouseError).status).toBe(expected);
    }
    await compare(oracle, store);
  }

  toString(): string {
    return this.#name;
  }
}

/** A transaction that changes many records and then throws. */
class FailedWrite implements fc.AsyncCommand<Oracle, Store> {
  check(): boolean {
    return true;
  }

  async run(oracle: Oracle, store: Store): Promise<void> {
    const outcome = await store
      .write(async (transaction) => {
        for (const gateway of oracle.all("gateways")) await transaction.removeGateway(gateway.id, true);
        await transaction.insert("gateways", gatewayRecord());
        throw THROWN;
      })
      .catch((error: unknown) => error);
    expect(outcome).toBe(THROWN);
    await compare(oracle, store);
  }

  toString(): string {
    return "a write that throws";
  }
}

/** A rollback to an earlier revision, which may be a rollback itself. */
class Rollback implements fc.AsyncCommand<Oracle, Store> {
  readonly #which: number;

  constructor(which: number) {
    this.#which = which;
  }

  check(): boolean {
    return true;
  }

  async run(oracle: Oracle, store: Store): Promise<void> {
    const revisions = [...oracle.past.keys()].filter((revision) => revision > 0);
    const revision = revisions[this.#which % Math.max(1, revisions.length)];
    if (revision === undefined) return;
    const expected = oracle.restored(revision);
    const differs = !Bun.deepEquals(withoutKeyTimes(expected), withoutKeyTimes(oracle.records));
    const written = await store.write((tx) => tx.rollBackTo(revision), { action: "rollback" });
    expect(written.revision).toBe(differs ? ++oracle.revision : oracle.revision);
    // A restored key that stays revoked or rotated is a new version and has a new time.
    for (const key of await store.view((view) => view.allApiKeys())) {
      const { updated_at } = key;
      const isNewVersion = !Bun.deepEquals(key, oracle.past.get(revision)?.api_keys.get(key.id));
      if (isNewVersion)
        expected.api_keys.set(key.id, { ...expected.api_keys.get(key.id)!, updated_at } as AnyRecord);
    }
    oracle.records = expected;
    if (differs) oracle.remember();
    await compare(oracle, store);
  }

  toString(): string {
    return `rollback ${this.#which}`;
  }
}

function withoutKeyTimes(records: Oracle["records"]): unknown {
  const keys = [...records.api_keys].map(([id, key]) => [id, { ...key, updated_at: "" }] as const);
  return { ...records, api_keys: new Map(keys) };
}

async function compare(oracle: Oracle, store: Store): Promise<void> {
  await store.view(async (view) => {
    expect(view.revision).toBe(oracle.revision);
    for (const kind of KINDS) {
      const { records, count } = await view.list(kind, { limit: 1000, offset: 0 });
      expect(records as unknown[]).toEqual(oracle.all(kind));
      expect(count).toBe(records.length);
    }
    expect(await view.allApiKeys()).toEqual(oracle.all("api_keys"));
    expect((await view.allGatewayParts()).flatMap(({ rules }) => [...rules])).toHaveLength(
      oracle.all("rules").length,
    );
  });
}

function changeOf(gatewayId: string, kind: Kind, id: string): Change {
  return { gatewayId, apiKeyId: kind === "api_keys" ? id : null };
}

function put<K extends Kind>(oracle: Oracle, verb: "insert" | "update", kind: K, record: RecordOf[K]): Step {
  const owner = (record as AnyRecord).gateway_id ?? record.id;
  return {
    run: (transaction) => transaction[verb](kind, record),
    expectedStatus: () => oracle.put(kind, record),
    change: changeOf(owner, kind, record.id),
  };
}

const number = fc.nat(20);
const subdomain = fc.constantFrom(null, "acme", "beta", "gamma");

/** Parents are selected from all gateways, so some references lead to another gateway and must be rejected. */
function newChild(oracle: Oracle, kind: Child, gateway: number, parent: number): Step | null {
  const gatewayId = oracle.pick("gateways", gateway)?.id;
  if (gatewayId === undefined) return null;
  if (kind === "upstreams") return put(oracle, "insert", kind, upstreamRecord(gatewayId));
  if (kind === "mcp_servers") return put(oracle, "insert", kind, mcpServerRecord(gatewayId));
  if (kind === "services" && parent % 3 === 0) {
    const server = oracle.pick("mcp_servers", parent)?.id ?? "none";
    const fields: Partial<RecordOf["services"]> = { type: "mcp", mcp_server_ids: [server] };
    return put(oracle, "insert", kind, serviceRecord(gatewayId, null, fields));
  }
  if (kind === "services") {
    const upstream = oracle.pick("upstreams", parent)?.id ?? "none";
    return put(oracle, "insert", kind, serviceRecord(gatewayId, upstream));
  }
  if (kind === "rules") {
    const service = oracle.pick("services", parent)?.id ?? "none";
    return put(oracle, "insert", kind, ruleRecord(gatewayId, service));
  }
  if (kind === "models") {
    const upstream = oracle.pick("upstreams", parent)?.id ?? "none";
    return put(oracle, "insert", kind, virtualModelRecord(gatewayId, upstream));
  }
  if (kind === "budgets")
    return put(oracle, "insert", kind, budgetRecord(gatewayId, { name: `budget ${parent % 3}` }));
  if (kind === "game_days") return put(oracle, "insert", kind, gameDayRecord(gatewayId));
  const policies = oracle.all("rules").slice(parent % 3, (parent % 3) + 1);
  return put(oracle, "insert", kind, apiKeyRecord(gatewayId, { policies: policies.map(({ id }) => id) }));
}

const childKind = fc.constantFrom<Child>(
  "upstreams",
  "mcp_servers",
  "services",
  "rules",
  "models",
  "budgets",
  "game_days",
  "api_keys",
);
const addChild = fc
  .tuple(childKind, number, number)
  .map(
    ([kind, gateway, parent]) =>
      new Write(`add to ${kind}`, (oracle) => newChild(oracle, kind, gateway, parent)),
  );

const commands: fc.Arbitrary<fc.AsyncCommand<Oracle, Store>>[] = [
  subdomain.map(
    (label) =>
      new Write(`new gateway ${String(label)}`, (oracle) =>
        put(oracle, "insert", "gateways", gatewayRecord({ subdomain: label })),
      ),
  ),
  addChild,
  addChild,
  fc.tuple(number, subdomain).map(
    ([which, label]) =>
      new Write(`gateway ${which} takes ${String(label)}`, (oracle) => {
        const gateway = oracle.pick("gateways", which);
        return gateway === undefined
          ? null
          : put(oracle, "update", "gateways", { ...gateway, subdomain: label });
      }),
  ),
  fc.tuple(number, number).map(
    ([which, parent]) =>
      new Write(`rule ${which} moves`, (oracle) => {
        const rule = oracle.pick("rules", which);
        const service = oracle.pick("services", parent);
        if (rule === undefined || service === undefined) return null;
        return put(oracle, "update", "rules", { ...rule, service_id: service.id, priority: parent });
      }),
  ),
  fc.tuple(number, fc.boolean()).map(
    ([which, active]) =>
      new Write(`key ${which} active ${active}`, (oracle) => {
        const key = oracle.pick("api_keys", which);
        return key === undefined ? null : put(oracle, "update", "api_keys", { ...key, active });
      }),
  ),
  fc.tuple(childKind, number).map(
    ([kind, which]) =>
      new Write(`remove from ${kind}`, (oracle) => {
        const record = oracle.pick(kind, which);
        if (record === undefined) return null;
        return {
          run: (transaction) => transaction.remove(kind, record.id),
          expectedStatus: () => oracle.remove(kind, record.id),
          change: changeOf(record.gateway_id, kind, record.id),
        };
      }),
  ),
  fc.tuple(number, fc.boolean()).map(
    ([which, cascade]) =>
      new Write(`remove gateway ${which}${cascade ? " with its parts" : ""}`, (oracle) => {
        const gateway = oracle.pick("gateways", which);
        if (gateway === undefined) return null;
        return {
          run: (transaction) => transaction.removeGateway(gateway.id, cascade),
          expectedStatus: () => oracle.removeGateway(gateway.id, cascade),
          change: { gatewayId: gateway.id, apiKeyId: null },
        };
      }),
  ),
  fc.constant(new FailedWrite()),
  number.map((which) => new Rollback(which)),
];

export function describeStoreModel({ database, createMigrated }: StoreMaker): void {
  describe(`${database}: model`, () => {
    test("the store agrees with the model after any sequence of writes", async () => {
      const store = openForTest(await createMigrated());
      await fc.assert(
        fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: "max" }), async (sequence) => {
          for (const { id } of (await store.list("gateways", { limit: 1000, offset: 0 })).records) {
            await store.write((transaction) => transaction.removeGateway(id, true));
          }
          const revision = await store.revision();
          await fc.asyncModelRun(() => ({ model: new Oracle(revision), real: store }), sequence);
        }),
        // Each write takes ten times as long with PostgreSQL.
        { numRuns: runs({ short: database === "SQLite" ? 12 : 6, long: 30 }) },
      );
    }, 60_000);
  });
}
