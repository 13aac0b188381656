// Usage and prices in the Store: totals add up, batches count once, and a change of prices is a revision.
import { describe, expect, test } from "bun:test";
import { initialSchema } from "../../src/store/migrations/0001-initial.ts";
import { addBlocks } from "../../src/store/migrations/0002-blocks.ts";
import { addUsage } from "../../src/store/migrations/0003-usage.ts";
import { addRevisionHistory } from "../../src/store/migrations/0004-revisions.ts";
import { omit } from "../../src/model/record.ts";
import type { UsageGroup } from "../../src/model/usage-group.ts";
import type { UsageTotal } from "../../src/store/usage.ts";
import { insert, insertWhole, openForTest, type StoreMaker } from "./store-fixture.ts";
import { labelSetOf } from "../../src/usage/label-set.ts";
import { apiKeyRecord, AWKWARD_TEXT, gatewayRecord, ruleRecord, withSql } from "./store-records.ts";

export function describeStoreUsage({ database, createEmpty, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  const total = (gatewayId: string, fields: Partial<UsageTotal> = {}): UsageTotal => ({
    gatewayId,
    day: "2026-11-10",
    apiKeyId: "",
    apiKeyName: "",
    model: "m",
    ruleId: "r",
    ruleName: "rule",
    provider: "openai",
    labels: "{}",
    labelSet: "",
    purpose: "request",
    requests: 1,
    partialRequests: 0,
    inputTokens: 10,
    outputTokens: 20,
    costNanos: 250,
    unpricedRequests: 0,
    ...fields,
  });

  const usageQuery = (gatewayId: string | null, ...groupBy: UsageGroup[]) => ({
    gatewayId,
    from: "2026-11-01",
    to: "2026-11-30",
    groupBy,
    limit: 1000,
  });

  describe(`${database}: usage`, () => {
    test("adds up over batches and processes", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      const sums = {
        unpriced_requests: 1,
        cached_requests: 0,
        saved_input_tokens: 0,
        saved_output_tokens: 0,
        saved_nanos: 0,
        unpriced_cached: 0,
      };
      const unpriced = total(id, { model: "n", unpricedRequests: 1 });
      await store.addUsage({
        writer: "a",
        number: 1,
        totals: [total(id, { unpricedRequests: 1 }), unpriced],
      });
      await store.addUsage({ writer: "a", number: 2, totals: [total(id, { partialRequests: 1 })] });
      await store.addUsage({ writer: "b", number: 1, totals: [total(id, { inputTokens: 5 })] });
      expect(await store.sumUsage(usageQuery(id, "model"))).toEqual([
        {
          model: "m",
          ...sums,
          requests: 3,
          partial_requests: 1,
          input_tokens: 25,
          output_tokens: 60,
          cost_nanos: 750,
        },
        {
          model: "n",
          ...sums,
          requests: 1,
          partial_requests: 0,
          input_tokens: 10,
          output_tokens: 20,
          cost_nanos: 250,
        },
      ]);
    });

    test("a batch counts once, however often it is written", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      const batch = { writer: "a", number: 1, totals: [total(id)] };
      for (let times = 0; times < 3; times++) await store.addUsage(batch);
      await store.addUsage({ ...batch, number: 2 });
      await store.addUsage(batch);
      expect((await store.sumUsage(usageQuery(id, "day")))[0]?.requests).toBe(2);
    });

    test("two stores that write concurrently lose nothing", async () => {
      const url = await createMigrated();
      const [one, two] = [openForTest(url), openForTest(url)];
      const { id } = await insert(one, "gateways", gatewayRecord());
      const models = Array.from({ length: 150 }, (_, serial) => `m${serial}`);
      const add = async (store: typeof one, writer: string, order: readonly string[]) => {
        for (let number = 1; number <= 5; number++)
          await store.addUsage({ writer, number, totals: order.map((model) => total(id, { model })) });
      };
      await Promise.all([add(one, "one", models), add(two, "two", models.toReversed())]);
      const rows = await one.sumUsage(usageQuery(id, "model"));
      expect(rows).toHaveLength(150);
      for (const row of rows)
        expect(row).toMatchObject({ requests: 10, input_tokens: 100, output_tokens: 200, cost_nanos: 2500 });
    });

    test("groups by day, model and API key, in their order, within the requested days", async () => {
      const store = await openEmpty();
      const { gateway, apiKey } = await insertWhole(store);
      const other = await insert(store, "gateways", gatewayRecord());
      const keyed = { apiKeyId: apiKey.id, apiKeyName: "old name" };
      const totals = [
        total(gateway.id, { day: "2026-10-31" }),
        total(gateway.id, { day: "2026-11-01" }),
        total(gateway.id, { day: "2026-11-01", ...keyed }),
        total(gateway.id, { day: "2026-11-30", ...keyed, model: "" }),
        total(gateway.id, { day: "2026-12-01" }),
        total(other.id),
      ];
      await store.addUsage({ writer: "a", number: 1, totals });
      const counted = async (...groupBy: UsageGroup[]) => {
        const rows = await store.sumUsage(usageQuery(gateway.id, ...groupBy));
        return rows.map((row) => [row.day, row.model, row.api_key_id, row.api_key, row.requests]);
      };
      const none = undefined;
      expect(await counted("day")).toEqual([
        ["2026-11-01", none, none, none, 2],
        ["2026-11-30", none, none, none, 1],
      ]);
      expect(await counted("model")).toEqual([
        [none, null, none, none, 1],
        [none, "m", none, none, 2],
      ]);
      expect(await counted("api_key")).toEqual([
        [none, none, null, null, 1],
        [none, none, apiKey.id, apiKey.name, 2],
      ]);
      expect(await counted("api_key", "day", "model")).toEqual([
        ["2026-11-01", "m", null, null, 1],
        ["2026-11-01", "m", apiKey.id, apiKey.name, 1],
        ["2026-11-30", null, apiKey.id, apiKey.name, 1],
      ]);
      expect(await store.sumUsage({ ...usageQuery(gateway.id, "day"), limit: 0 })).toHaveLength(1);
    });

    test("groups by rule with its current or last name, by provider, and by labels", async () => {
      const store = await openEmpty();
      const { gateway, rule, service } = await insertWhole(store);
      const unnamed = await insert(store, "rules", ruleRecord(gateway.id, service.id, { name: null }));
      const labeled = (labels: Record<string, string>) => ({
        labels: JSON.stringify(labels),
        labelSet: JSON.stringify(labels),
      });
      const totals = [
        total(gateway.id, { ruleId: rule.id, ruleName: "old name", ...labeled({ team: "search" }) }),
        total(gateway.id, { ruleId: unnamed.id, ruleName: "/path", ...labeled({ team: AWKWARD_TEXT }) }),
        total(gateway.id, { ruleId: "gone", ruleName: "deleted", provider: "anthropic" }),
        total(gateway.id, {
          ruleId: "gone",
          ruleName: "deleted",
          ...labeled({ "a-1_b": "x", team: "search" }),
        }),
      ];
      await store.addUsage({ writer: "a", number: 1, totals });
      await store.addUsage({ writer: "a", number: 2, totals: totals.slice(0, 1) });
      const counted = async (...groupBy: UsageGroup[]) =>
        (await store.sumUsage(usageQuery(gateway.id, ...groupBy))).map((row) =>
          omit(
            row,
            "partial_requests",
            "input_tokens",
            "output_tokens",
            "cost_nanos",
            "unpriced_requests",
            "cached_requests",
            "saved_input_tokens",
            "saved_output_tokens",
            "saved_nanos",
            "unpriced_cached",
          ),
        );
      expect(await counted("rule")).toEqual(
        [
          { rule_id: rule.id, rule: rule.name ?? "old name", requests: 2 },
          { rule_id: unnamed.id, rule: "/path", requests: 1 },
          { rule_id: "gone", rule: "deleted", requests: 2 },
        ].sort((a, b) => (a.rule_id < b.rule_id ? -1 : 1)),
      );
      expect(await counted("provider")).toEqual([
        { provider: "anthropic", requests: 1 },
        { provider: "openai", requests: 4 },
      ]);
      expect((await counted("label:team"))[0]).toEqual({ labels: { team: null }, requests: 1 });
      expect(new Set(await counted("label:team"))).toEqual(
        new Set([
          { labels: { team: null }, requests: 1 },
          { labels: { team: "search" }, requests: 3 },
          { labels: { team: AWKWARD_TEXT }, requests: 1 },
        ]),
      );
      expect(await counted("label:a-1_b", "label:team", "day")).toContainEqual({
        labels: { "a-1_b": "x", team: "search" },
        day: "2026-11-10",
        requests: 1,
      });
      expect((await counted("label:none"))[0]).toEqual({ labels: { none: null }, requests: 5 });
    });

    test("groups by purpose", async () => {
      const store = await openEmpty();
      const { gateway } = await insertWhole(store);
      const totals = [total(gateway.id), total(gateway.id, { purpose: "hedge", costNanos: 7 })];
      await store.addUsage({ writer: "a", number: 1, totals });
      await store.addUsage({ writer: "a", number: 2, totals: totals.slice(1) });
      const rows = await store.sumUsage(usageQuery(gateway.id, "purpose"));
      expect(rows.map((row) => [row.purpose, row.requests, row.cost_nanos])).toEqual([
        ["hedge", 2, 14],
        ["request", 1, 250],
      ]);
    });

    test("sums over all gateways, by gateway", async () => {
      const store = await openEmpty();
      const [one, two] = [
        await insert(store, "gateways", gatewayRecord({ name: "one" })),
        await insert(store, "gateways", gatewayRecord({ name: "two" })),
      ];
      await store.addUsage({
        writer: "a",
        number: 1,
        totals: [total(one.id), total(two.id), total(two.id, { model: "n" })],
      });
      expect(await store.sumUsage(usageQuery(null, "gateway"))).toMatchObject([
        { gateway_id: one.id, gateway: "one", requests: 1 },
        { gateway_id: two.id, gateway: "two", requests: 2 },
      ]);
      expect(await store.sumUsage(usageQuery(null, "provider"))).toMatchObject([{ requests: 3 }]);
    });

    test("rows that an earlier version wrote count, without rule, provider, and labels", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const { gateway, apiKey } = await insertWhole(store);
      await store.addUsage({ writer: "a", number: 1, totals: [total(gateway.id, { apiKeyId: apiKey.id })] });
      await withSql(
        url,
        (sql) => sql`INSERT INTO usage_totals (gateway_id, day, api_key_id, model, api_key_name, requests,
          partial_requests, input_tokens, output_tokens, cost)
          VALUES (${gateway.id}, '2026-11-10', ${apiKey.id}, 'm', 'old', 5, 1, 50, 100, 1)`,
      );
      const sums = (...groupBy: UsageGroup[]) => store.sumUsage(usageQuery(gateway.id, ...groupBy));
      expect(await sums("model", "api_key")).toMatchObject([
        { model: "m", api_key: apiKey.name, requests: 6, partial_requests: 1, input_tokens: 60 },
      ]);
      expect(await sums("rule")).toMatchObject([
        { rule_id: null, rule: null, requests: 5 },
        { rule_id: "r", rule: "rule", requests: 1 },
      ]);
      expect(await sums("provider", "label:team")).toMatchObject([
        { provider: null, labels: { team: null }, requests: 5 },
        { provider: "openai", labels: { team: null }, requests: 1 },
      ]);
      await store.write((transaction) => transaction.removeGateway(gateway.id, true));
      expect(await sums("api_key")).toMatchObject([{ requests: 6 }]);
    });

    test("stores the longest labels and names", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      // Text that does not compress: PostgreSQL compresses long keys before it rejects them.
      const value = (seed: number) =>
        Array.from({ length: 128 }, (_, at) =>
          String.fromCharCode(0x4e00 + ((seed * 7919 + at * at * 31 + at * 104_729) % 20_000)),
        ).join("");
      const names = Array.from({ length: 8 }, (_, index) => `${index}`.padEnd(32, "x"));
      const { json, id: labelSet } = labelSetOf(
        Object.fromEntries(names.map((name, index) => [name, value(index + 1)])),
      );
      const long = total(id, { model: "🜁".repeat(127), provider: "p".repeat(64), labels: json, labelSet });
      await store.addUsage({ writer: "a", number: 1, totals: [long] });
      expect(await store.sumUsage(usageQuery(id, `label:${names[7] ?? ""}`))).toMatchObject([
        { labels: { [names[7] ?? ""]: value(8) }, requests: 1 },
      ]);
    });

    test("a deleted API key keeps its last name", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      const key = await insert(store, "api_keys", apiKeyRecord(id, { name: "renamed since" }));
      const of = (apiKeyId: string, apiKeyName: string) => total(id, { apiKeyId, apiKeyName });
      await store.addUsage({ writer: "a", number: 1, totals: [of(key.id, "before"), of("gone", "first")] });
      await store.addUsage({ writer: "a", number: 2, totals: [of("gone", AWKWARD_TEXT)] });
      const rows = await store.sumUsage(usageQuery(id, "api_key"));
      expect(new Map(rows.map((row) => [row.api_key_id, row.api_key]))).toEqual(
        new Map([
          [key.id, "renamed since"],
          ["gone", AWKWARD_TEXT],
        ]),
      );
    });

    test("stores any name and large numbers", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      const large = {
        inputTokens: 9e15,
        outputTokens: 1e12,
        requests: 2 ** 40,
        costNanos: Number.MAX_SAFE_INTEGER,
      };
      await store.addUsage({
        writer: "a",
        number: 1,
        totals: [total(id, { ...large, model: AWKWARD_TEXT })],
      });
      await store.addUsage({
        writer: "a",
        number: 2,
        totals: [total(id, { model: "whole", costNanos: 3 }), total(id, { model: "none", costNanos: 0 })],
      });
      const rows = await store.sumUsage(usageQuery(id, "model"));
      expect(rows.find((row) => row.model === AWKWARD_TEXT)).toEqual({
        model: AWKWARD_TEXT,
        requests: 2 ** 40,
        partial_requests: 0,
        input_tokens: 9e15,
        output_tokens: 1e12,
        cost_nanos: Number.MAX_SAFE_INTEGER,
        unpriced_requests: 0,
        cached_requests: 0,
        saved_input_tokens: 0,
        saved_output_tokens: 0,
        saved_nanos: 0,
        unpriced_cached: 0,
      });
      expect(rows.map((row) => row.cost_nanos).sort((a, b) => a - b)).toEqual([
        0,
        3,
        Number.MAX_SAFE_INTEGER,
      ]);
    });

    test("costs above 64 bits do not make a batch fail", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      const huge = { costNanos: Number.MAX_SAFE_INTEGER * 1000 };
      for (const number of [1, 2, 3])
        await store.addUsage({ writer: "a", number, totals: [total(id, huge), total(id, { model: "n" })] });
      const [sum, other] = await store.sumUsage(usageQuery(id, "model"));
      expect(sum?.cost_nanos).toBeCloseTo(3 * huge.costNanos, -6);
      expect(other?.cost_nanos).toBe(750);
    });

    test("of an older schema keeps its costs; tokens with a cost of 0 had no price", async () => {
      const url = await createEmpty();
      const idType = url.startsWith("sqlite:") ? "TEXT" : 'TEXT COLLATE "C"';
      const gateway = omit(gatewayRecord(), "prices");
      await withSql(url, async (sql) => {
        const steps = [initialSchema(idType), addBlocks(idType), addUsage(idType), addRevisionHistory()];
        for (const statement of steps.flat()) await sql.unsafe(statement);
        await sql.unsafe(
          "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
        );
        await sql.unsafe(`INSERT INTO schema_versions VALUES (1, ''), (2, ''), (3, ''), (4, '')`);
        await sql`INSERT INTO gateways (id, body, created_at, updated_at, name)
          VALUES (${gateway.id}, ${JSON.stringify(gateway)}, ${gateway.created_at}, ${gateway.updated_at}, 'g')`;
        for (const [model, cost] of [
          ["m", 0.1],
          ["n", 0],
        ] as const)
          await sql`INSERT INTO usage_totals VALUES (${gateway.id}, '2026-11-10', '', ${model}, '', 2, 0, 5, 6, ${cost})`;
      });
      const store = openForTest(url);
      await store.addUsage({ writer: "a", number: 1, totals: [total(gateway.id)] });
      expect(await store.sumUsage(usageQuery(gateway.id, "model"))).toMatchObject([
        { model: "m", requests: 3, unpriced_requests: 0, cost_nanos: 100_000_250 },
        { model: "n", requests: 2, unpriced_requests: 2, cost_nanos: 0 },
      ]);
      expect(await store.get("gateways", gateway.id)).toMatchObject({ prices: [] });
    });

    test("outlives its gateway, with its name, and later batches count", async () => {
      const store = await openEmpty();
      const { gateway } = await insertWhole(store);
      await store.write((tx) => tx.update("gateways", { ...gateway, name: "renamed" }));
      await store.addUsage({ writer: "a", number: 1, totals: [total(gateway.id)] });
      expect(await store.sumUsage(usageQuery(null, "gateway"))).toMatchObject([
        { gateway: "renamed", requests: 1 },
      ]);
      const before = await store.revision();
      await store.write((transaction) => transaction.removeGateway(gateway.id, true));
      expect(await store.sumUsage(usageQuery(gateway.id, "day"))).toMatchObject([{ requests: 1 }]);
      await store.addUsage({ writer: "a", number: 2, totals: [total(gateway.id)] });
      expect(await store.sumUsage(usageQuery(null, "gateway"))).toMatchObject([
        { gateway_id: gateway.id, gateway: "renamed", gateway_deleted: true, requests: 2 },
      ]);
      // Restored, it continues with its usage; deleted again, it has its newest name.
      await store.write((tx) => tx.rollBackTo(before), { action: "rollback" });
      await store.addUsage({ writer: "a", number: 3, totals: [total(gateway.id)] });
      expect(await store.sumUsage(usageQuery(null, "gateway"))).toMatchObject([
        { gateway: "renamed", requests: 3 },
      ]);
      await store.write((tx) => tx.update("gateways", { ...gateway, name: "newest" }));
      await store.write((transaction) => transaction.removeGateway(gateway.id, true));
      expect(await store.sumUsage(usageQuery(null, "gateway"))).toMatchObject([
        { gateway: "newest", gateway_deleted: true },
      ]);
    });

    test("creates no revision", async () => {
      const store = await openEmpty();
      const { id } = await insert(store, "gateways", gatewayRecord());
      const before = await store.revision();
      await store.addUsage({ writer: "a", number: 1, totals: [total(id)] });
      expect(await store.revision()).toBe(before);
    });
  });

  describe(`${database}: prices`, () => {
    const stored = {
      prices: [
        { model: AWKWARD_TEXT, input_per_million: 0.0375, output_per_million: 1e6 },
        { model: "*", input_per_million: 0, output_per_million: 0 },
      ],
      updated_at: "2026-11-15T00:00:00.000Z",
    };

    test("are absent at first, read back exactly, replaced as a whole, and removed", async () => {
      const store = await openEmpty();
      expect(await store.prices()).toBeNull();
      await store.write((transaction) => transaction.setPrices(stored));
      expect(await store.prices()).toStrictEqual(stored);
      const fewer = { ...stored, prices: stored.prices.slice(1) };
      await store.write((transaction) => transaction.setPrices(fewer));
      expect(await store.prices()).toStrictEqual(fewer);
      await store.write((transaction) => transaction.setPrices(null));
      expect(await store.prices()).toBeNull();
    });

    test("a change of prices is a revision that belongs to no gateway", async () => {
      const store = await openEmpty();
      await insertWhole(store);
      const { revision, changes } = await store.write((transaction) => transaction.setPrices(stored));
      expect(changes).toEqual([{ gatewayId: "", apiKeyId: null }]);
      const seen = await store.view(async (view) => ({
        changes: await view.changesAfter(revision - 1),
        prices: await view.prices(),
      }));
      expect(seen).toEqual({ changes: [...changes], prices: stored });
    });
  });
}
