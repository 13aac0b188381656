// Property tests of export and apply with the Admin API in this process: an export restores the configuration on another
// node, and changes nothing on the same one.
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { systemClock } from "../base/clock.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "../http/body-budget.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { SignJWT } from "jose";
import { ENCRYPTION_SECRET, temporarySqliteUrl } from "../../test/contract/store-records.ts";
import { compileContext } from "../../test/support/compile-context.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import { escapeReferences, mapTexts, resolveVariables } from "../model/document-variables.ts";
import { parseYamlObject } from "../base/yaml.ts";
import { openBudgets } from "../runtime/open-budgets.ts";
import { OffLoop } from "../off-loop/off-loop.ts";
import { Metrics } from "../telemetry/metrics/metrics.ts";
import { UpstreamPool } from "../upstream/upstream-pool.ts";
import { PluginRegistry } from "../plugins/registry.ts";
import { Blocks } from "../runtime/blocks.ts";
import { ResponseStores } from "../runtime/responses/response-stores.ts";
import { CurrentConfiguration } from "../runtime/current-configuration.ts";
import { CredentialCipher } from "../store/credential-cipher.ts";
import { openStore } from "../store/sql-store.ts";
import type { Store } from "../store/store.ts";
import { UsageTotals } from "../usage/usage-totals.ts";
import { EMPTY_SHADOW_REPORT } from "../telemetry/requests/shadow-report.ts";
import { TrafficRollups } from "../runtime/traffic-rollups.ts";
import { Observation } from "../telemetry/observation.ts";
import { Health } from "../telemetry/health.ts";
import { createLog } from "../telemetry/log/log.ts";
import { createAdminApi } from "./api.ts";
import { runs } from "../../test/support/long-form.ts";

const SECRET = "a secret for these tests that is long enough";
const opened: Store[] = [];
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
});

interface Node {
  call(method: string, path: string, body?: string, headers?: Record<string, string>): Promise<Response>;
  /** Deletes all gateways. */
  empty(): Promise<void>;
}

async function startNode(): Promise<Node> {
  const store = openStore(temporarySqliteUrl(), new CredentialCipher(ENCRYPTION_SECRET));
  opened.push(store);
  const log = createLog({ level: "silent", format: "json" }, { write: () => undefined });
  const current = new CurrentConfiguration(store, compileContext(), new Health(), log);
  await current.refresh();
  const observation = new Observation(new Metrics(), log, {
    requestLogSize: 0,
    tracer: null,
    sink: null,
  });
  const deadlines = new CoarseDeadlines(systemClock);
  const parts = {
    current,
    registry: new PluginRegistry(),
    blocks: new Blocks(store, new MemoryLedger(), 1, log, new ManualClock()),
    responses: new ResponseStores(systemClock, null),
    gameDays: { flush: () => Promise.resolve() },
    budgetBook: openBudgets(
      { ledger: new MemoryLedger(), store },
      new Metrics(),
      log,
      new UpstreamPool(deadlines),
      systemClock,
    ),
    toolPins: { refresh: () => Promise.resolve(), lookalikes: () => new Map() },
    usageTotals: new UsageTotals(store, log, systemClock),
    upstreamPool: new UpstreamPool(deadlines),
    explain: () => Promise.resolve(null),
    requests: observation.requests,
    logs: log.recent,
    traffic: observation.traffic,
    trafficRollups: new TrafficRollups(store.traffic, observation, log, new ManualClock()),
    shadow: { read: () => Promise.resolve(EMPTY_SHADOW_REPORT) },
    targetHealth: { ofUpstream: () => Promise.resolve([]), ofGateways: () => Promise.resolve([]) },
    log,
    deadlines,
    bodyBudget: new BodyBudget(Infinity, systemClock),
  };
  const api = createAdminApi({
    ...parts,
    secret: SECRET,
    signIn: null,
    maxBodyBytes: 10_000_000,
    offLoop: new OffLoop(),
    version: "0",
    addresses: { publicUrl: null, baseDomain: null, proxyPort: () => null },
  });
  const key = new TextEncoder().encode(SECRET);
  const token = await new SignJWT({}).setProtectedHeader({ alg: "HS256" }).sign(key);
  const call: Node["call"] = (method, path, body, headers = {}) =>
    api.respond(
      new Request(`http://admin/api/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, ...headers },
        ...(body !== undefined && { body }),
      }),
      "127.0.0.1",
    );
  const empty = async () => {
    const { records } = await store.list("gateways", { limit: 1000, offset: 0 });
    await current.write(async (transaction) => {
      for (const { id } of records) await transaction.removeGateway(id, true);
    });
  };
  return { call, empty };
}

interface Applied {
  readonly changes: { action: string; resource: string; name: string }[];
  readonly revision: number;
}

async function apply(node: Node, document: unknown, query = ""): Promise<Applied> {
  const headers = { "Content-Type": "application/json" };
  const response = await node.call("POST", `/apply${query}`, JSON.stringify(document), headers);
  const body = (await response.json()) as Applied & { error?: string };
  if (response.status !== 200) throw new Error(`${response.status} ${body.error ?? ""}`);
  return body;
}

async function exported(node: Node, accept: string): Promise<string> {
  const response = await node.call("GET", "/export", undefined, { Accept: accept });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return text;
}

const actions = ({ changes }: Applied) => [...new Set(changes.map(({ action }) => action))];

/** Texts that need care in YAML, and texts that look like references. */
const text = fc.oneof(
  fc.string({
    minLength: 1,
    maxLength: 12,
    unit: fc.constantFrom("a", "B", "7", " ", "$", "{", "}", ":", "-", "#"),
  }),
  fc.constantFrom(
    "no",
    "~",
    "1e3",
    "${HOME}",
    "$${",
    "é 日本 🜁",
    "'\"\\",
    "- x",
    "null",
    "0x1F",
    "\u2028",
    "a: b",
  ),
);
const some = <T>(item: fc.Arbitrary<T>, min = 0, max = 3) =>
  fc.array(item, { minLength: min, maxLength: max });
const optional = <T>(item: fc.Arbitrary<T>) => fc.option(item, { nil: undefined });
const named = <T extends { name: string }>(item: fc.Arbitrary<T>, min: number, max: number) =>
  fc.uniqueArray(item, { minLength: min, maxLength: max, selector: ({ name }) => name });
const record = <T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(shape);

const secret = fc
  .string({ minLength: 1, maxLength: 30, unit: fc.constantFrom("s", "k", "-", "1", "$", "{", "}", " ", "*") })
  .filter((value) => !value.includes("***"));
const target = record({
  provider: fc.constantFrom("custom", "another"),
  base_url: fc.constantFrom("http://127.0.0.1:9", "https://models.example"),
  path: optional(fc.constantFrom("", "/v1/x")),
  weight: optional(fc.nat(9)),
  models: optional(some(text)),
  headers: optional(fc.constantFrom({ "X-A": "${x}" }, { "X-B": "$$" })),
  credentials: optional(record({ header_name: fc.constant("Authorization"), header_value: secret })),
});
const upstream = record({
  name: text,
  targets: some(target, 1, 3),
  algorithm: optional(fc.constantFrom("random", "ip-hash")),
  timeouts: optional(fc.constant({ total: 5000 })),
  max_attempts: optional(fc.integer({ min: 1, max: 10 })),
});
const rule = record({
  name: optional(text),
  path: fc.constantFrom("/a", "/b/*", "/c/{d}"),
  methods: fc.constantFrom(["POST"], ["GET", "POST"], ["PUT"]),
  headers: optional(fc.constantFrom({ "X-Team": "$" }, { "X-Team": "${T}" })),
  priority: optional(fc.nat(9)),
  require_api_key: optional(fc.boolean()),
  active: optional(fc.boolean()),
});
const plugin = fc.constantFrom(
  {
    name: "rate_limiter",
    stage: "pre_request",
    settings: { limits: { global: { limit: 5, window: "1m" } } },
  },
  {
    name: "rate_limiter",
    stage: "pre_request",
    enabled: false,
    settings: { limits: { per_ip: { limit: 1, window: "1s" } } },
  },
);
const hash = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString("base64url"));

const gateway = fc
  .record({
    name: text,
    subdomain: optional(fc.constantFrom("a", "b", "c", "d")),
    required_plugins: optional(some(plugin)),
    require_api_key: optional(fc.boolean()),
    upstreams: named(upstream, 1, 3),
    services: named(record({ name: text, description: optional(text), of: fc.nat() }), 1, 3),
    rules: some(fc.tuple(rule, fc.nat()), 0, 4),
    api_keys: named(
      record({
        name: text,
        expires_at: optional(fc.constantFrom("2099-01-01T00:00:00.000Z", "2001-01-01T00:00:00.000Z")),
        key_sha256: hash,
        prefix: fc.constantFrom("gw_abc123", "gw_"),
        of: some(fc.nat()),
      }),
      0,
      3,
    ),
  })
  .map(({ upstreams, services, rules, api_keys, ...fields }) => {
    const pick = <T>(list: readonly T[], number: number) => list[number % Math.max(1, list.length)];
    const labelled = rules.map(([each, of]) => ({ ...each, service: pick(services, of)?.name }));
    const distinct = [...new Map(labelled.map((each) => [labelOf(each), each])).values()];
    return {
      ...fields,
      upstreams,
      services: services.map(({ of, ...service }) => ({ ...service, upstream: pick(upstreams, of)?.name })),
      rules: distinct,
      api_keys: api_keys.map(({ of, ...key }) => {
        const policies = of.flatMap((number) => pick(distinct, number) ?? []).map((each) => labelOf(each));
        return { ...key, policies: [...new Set(policies)] };
      }),
    };
  });

function labelOf({
  name,
  path,
  methods,
  headers,
}: {
  name?: string | undefined;
  path: string;
  methods: readonly string[];
  headers?: { "X-Team": string } | undefined;
}): string {
  if (name !== undefined) return name;
  return `${methods.join(",")} ${path}${headers === undefined ? "" : ` [x-team=${headers["X-Team"]}]`}`;
}

const documents = fc
  .uniqueArray(gateway, { minLength: 1, maxLength: 3, selector: ({ name }) => name })
  .filter((gateways) => {
    const taken = gateways.flatMap(({ subdomain }) => subdomain ?? []);
    return new Set(taken).size === taken.length;
  })
  .map(
    (gateways) =>
      JSON.parse(JSON.stringify({ gateways })) as { gateways: { upstreams: { targets: object[] }[] }[] },
  );

/** The variables that an export refers to, with the secrets of the document `from`. */
function environmentOf(document: unknown, from: unknown): Record<string, string> {
  const values = (value: unknown): string[] => {
    if (typeof value !== "object" || value === null) return [];
    if ("header_value" in value) return [String(value.header_value)];
    return Object.values(value).flatMap(values);
  };
  const references = values(document);
  const secrets = values(from);
  expect(references).toHaveLength(secrets.length);
  return Object.fromEntries(
    references.map((reference, index) => [/^\$\{(\w+)/.exec(reference)?.[1] ?? "", secrets[index] ?? ""]),
  );
}

test("an export restores the configuration on an empty node, and changes nothing on its own node", async () => {
  const [one, two] = [await startNode(), await startNode()];
  await fc.assert(
    fc.asyncProperty(documents, async (document) => {
      await one.empty();
      await two.empty();
      const first = await apply(one, mapTexts(document, escapeReferences));
      expect(actions(first)).toEqual(["create"]);
      const yaml = await exported(one, "application/yaml");
      const parsed = parseYamlObject(new TextEncoder().encode(yaml));
      expect(parsed).toEqual(JSON.parse(await exported(one, "application/json")));
      for (const query of ["", "?prune=true"]) {
        const again = await apply(one, parsed, query);
        expect({ actions: actions(again), revision: again.revision }).toEqual({
          actions: ["none"],
          revision: first.revision,
        });
      }
      const resolved = resolveVariables(parsed, environmentOf(parsed, document));
      expect({ unset: resolved.unset, problems: resolved.problems }).toEqual({ unset: [], problems: [] });
      const tried = await apply(two, resolved.document, "?dry_run=true");
      expect(await exported(two, "application/json")).toBe(`{\n  "version": 1,\n  "gateways": []\n}\n`);
      const applied = await apply(two, resolved.document);
      expect(tried.changes).toEqual(applied.changes);
      expect(await exported(two, "application/yaml")).toBe(yaml);
      expect(actions(await apply(two, resolved.document))).toEqual(["none"]);
      // With the secrets from the environment, the first node has nothing to change either.
      expect(actions(await apply(one, resolved.document))).toEqual(["none"]);
    }),
    { numRuns: runs({ short: 4, long: 12 }), endOnFailure: true },
  );
}, 60_000);

test("apply with prune makes the gateways equal to the document", async () => {
  const [one, two] = [await startNode(), await startNode()];
  await fc.assert(
    fc.asyncProperty(documents, documents, async (before, after) => {
      await one.empty();
      await two.empty();
      // Both documents have the same gateways, so that their records are changed, kept, or pruned.
      for (const [index, each] of after.gateways.entries())
        Object.assign(each, { name: `gateway ${index}`, subdomain: null });
      for (const [index, each] of before.gateways.entries())
        Object.assign(each, { name: `gateway ${index}`, subdomain: null });
      before.gateways.splice(after.gateways.length);
      await apply(one, mapTexts(before, escapeReferences));
      const raw = mapTexts(after, escapeReferences);
      const tried = await apply(one, raw, "?prune=true&dry_run=true");
      const done = await apply(one, raw, "?prune=true");
      expect(tried.changes).toEqual(done.changes);
      await apply(two, raw);
      // Variables with the same name are numbered in the order of the records, which differs between the nodes.
      const exportedText = async (node: Node) =>
        (await exported(node, "application/json")).replaceAll(/(\$\{\w*KEY)_\d+/g, "$1");
      const byName = async (node: Node) => sorted(JSON.parse(await exportedText(node)));
      expect(await byName(one)).toEqual(await byName(two));
      expect(actions(await apply(one, raw, "?prune=true"))).toEqual(["none"]);
    }),
    { numRuns: runs({ short: 4, long: 12 }), endOnFailure: true },
  );
}, 60_000);

/** Sorts lists of records: an export lists older records first, whatever the order of the document. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sorted);
    const isRecords = items.every(
      (item) => typeof item === "object" && item !== null && !("provider" in item),
    );
    return isRecords ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, sorted(item)]));
}
