// Records in the Store, with every database: exact round trips, order, pages, and filters.
import { describe, expect, test } from "bun:test";
import { ALL, insert, insertWhole, openForTest, type StoreMaker } from "./store-fixture.ts";
import {
  apiKeyRecord,
  AWKWARD_TEXT,
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  targetRecord,
  upstreamRecord,
  withSql,
} from "./store-records.ts";

export function describeStoreRecords({ database, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe(`${database}: records`, () => {
    test("a gateway is read back exactly as it was written", async () => {
      const store = await openEmpty();
      const settings = {
        big: Number.MAX_SAFE_INTEGER,
        small: Number.MIN_SAFE_INTEGER,
        huge: 1e300,
        fraction: 0.1,
        tiny: 5e-324,
        text: AWKWARD_TEXT,
        nothing: null,
        empty: { list: [], object: {}, text: "" },
        nested: [[1, [2, [3, { deep: [true, false, null] }]]]],
        number_like: "0012",
        date_like: "2026-01-01T00:00:00.000Z",
      };
      const plugin = {
        name: "rate_limiter",
        stage: "pre_request",
        enabled: false,
        priority: -1_000_000,
        settings,
        on_error: "continue",
        mode: "enforce",
        sample: 1,
        isolation: "inline",
      } as const;
      const gateway = gatewayRecord({
        name: AWKWARD_TEXT,
        subdomain: "acme",
        required_plugins: [
          { ...plugin, id: "one" },
          { ...plugin, id: "two", settings: {} },
        ],
        require_api_key: true,
      });
      await insert(store, "gateways", gateway);
      expect(await store.get("gateways", gateway.id)).toStrictEqual(gateway);
    });

    test("every kind is read back exactly, with all fields set and with all fields empty", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      const full = {
        upstream: upstreamRecord(gateway.id, {
          name: AWKWARD_TEXT,
          algorithm: "ip-hash",
          health_checks: { passive: true, threshold: 1000, interval: 86_400 },
          model_routing: "require",
          timeouts: { connect: 1, first_byte: 2, first_content: 4, idle: 3, total: 86_400_000 },
          commit: { max_ms: 0, max_bytes: 1 },
          hedge: { after: "p95", budget: 0.05 },
          max_attempts: 10,
          targets: [
            targetRecord({ path: "", weight: 0, priority: -5, credentials: null }),
            targetRecord({
              path: "/v1/messages",
              default_model: "modèle-🜁",
              models: ["a", "b"],
              headers: { "X-Extra": "ÿ blank " },
              credentials: { header_name: "Authorization", header_value: `Bearer ${"ÿ".repeat(8000)}` },
              base_url: "https://provider.example",
              format: "anthropic",
            }),
          ],
        }),
        rule: ruleRecord(gateway.id, service.id, {
          name: AWKWARD_TEXT,
          methods: ["GET", "POST", "DELETE"],
          strip_path: true,
          preserve_host: true,
          priority: 1_000_000,
          headers: { "X-Team": "*" },
          require_api_key: false,
          active: false,
        }),
        apiKey: apiKeyRecord(gateway.id, {
          name: AWKWARD_TEXT,
          policies: [rule.id],
          expires_at: "2999-12-31T23:59:59.999Z",
          active: false,
          last_used_at: "2026-01-01T00:00:00.000Z",
          labels: { team: AWKWARD_TEXT },
          models: [AWKWARD_TEXT, "gpt-*"],
        }),
      };
      const fullService = serviceRecord(gateway.id, full.upstream.id, {
        name: AWKWARD_TEXT,
        description: `${AWKWARD_TEXT}\n\t`,
      });
      await insert(store, "upstreams", full.upstream);
      await insert(store, "services", fullService);
      await insert(store, "rules", full.rule);
      await insert(store, "api_keys", full.apiKey);
      expect((await store.list("gateways", ALL)).records).toStrictEqual([gateway]);
      expect((await store.list("upstreams", ALL)).records).toStrictEqual([upstream, full.upstream]);
      expect((await store.list("services", ALL)).records).toStrictEqual([service, fullService]);
      expect((await store.list("rules", ALL)).records).toStrictEqual([rule, full.rule]);
      expect((await store.list("api_keys", ALL)).records).toStrictEqual([apiKey, full.apiKey]);
    });

    test("an API key that an earlier version wrote has no labels and may use all models", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const { apiKey } = await insertWhole(store);
      const { name, subject_type, subject, policies, expires_at } = apiKey;
      const body = JSON.stringify({ name, subject_type, subject, policies, expires_at });
      await withSql(url, (sql) => sql`UPDATE api_keys SET body = ${body} WHERE id = ${apiKey.id}`);
      expect(await store.get("api_keys", apiKey.id)).toStrictEqual({ ...apiKey, labels: {}, models: null });
      const changed = { ...apiKey, labels: { team: "search" }, models: ["m"] };
      const { revision } = await store.write((tx) => tx.update("api_keys", changed));
      expect((await store.getRevision(revision))?.records).toMatchObject([
        { before: { labels: {}, models: null }, after: { labels: { team: "search" }, models: ["m"] } },
      ]);
    });

    test("an update replaces the whole record and nothing else", async () => {
      const store = await openEmpty();
      const whole = await insertWhole(store);
      const other = await insertWhole(store);
      const upstream = { ...whole.upstream, name: "renamed", targets: [targetRecord(), targetRecord()] };
      const gateway = { ...whole.gateway, subdomain: "now-set", updated_at: "2030-01-01T00:00:00.000Z" };
      const service = { ...whole.service, description: "changed" };
      const rule = { ...whole.rule, name: null, active: false };
      const apiKey = {
        ...whole.apiKey,
        policies: [],
        active: false,
        hash: "another-hash",
        prefix: "gw_other",
      };
      await store.write((transaction) => transaction.update("upstreams", upstream));
      await store.write((transaction) => transaction.update("gateways", gateway));
      await store.write((transaction) => transaction.update("services", service));
      await store.write((transaction) => transaction.update("rules", rule));
      await store.write((transaction) => transaction.update("api_keys", apiKey));
      expect(await store.gatewayParts(gateway.id)).toStrictEqual({
        gateway,
        upstreams: [upstream],
        mcp_servers: [],
        services: [service],
        rules: [rule],
        models: [],
        budgets: [],
        game_days: [],
      });
      expect(await store.get("api_keys", apiKey.id)).toStrictEqual(apiKey);
      expect(await store.gatewayParts(other.gateway.id)).toStrictEqual({
        gateway: other.gateway,
        upstreams: [other.upstream],
        mcp_servers: [],
        services: [other.service],
        rules: [other.rule],
        models: [],
        budgets: [],
        game_days: [],
      });
      expect(await store.get("api_keys", other.apiKey.id)).toStrictEqual(other.apiKey);
    });

    test("a record that does not exist is null, whatever the id", async () => {
      const store = await openEmpty();
      for (const id of ["", "nothing", "\0", "'; DROP TABLE gateways; --", "%", "🜁"]) {
        expect(await store.get("gateways", id)).toBeNull();
        expect(await store.get("api_keys", id)).toBeNull();
        expect(await store.gatewayParts(id)).toBeNull();
      }
    });

    test("lists are oldest first, paged, counted in full, filtered by name and by gateway", async () => {
      const store = await openEmpty();
      const first = await insert(store, "gateways", gatewayRecord());
      const second = await insert(store, "gateways", gatewayRecord());
      const mine = Array.from({ length: 7 }, (_, index) =>
        upstreamRecord(first.id, { name: index % 2 === 0 ? "even" : "odd" }),
      );
      const theirs = upstreamRecord(second.id, { name: "even" });
      // Written newest first, so that the order of insertion differs from the order of age.
      for (const upstream of [theirs, ...mine].reverse()) await insert(store, "upstreams", upstream);
      const list = (query: object) => store.list("upstreams", { ...ALL, gatewayId: first.id, ...query });

      expect(await list({})).toStrictEqual({ records: mine, count: 7 });
      expect(await list({ limit: 3 })).toStrictEqual({ records: mine.slice(0, 3), count: 7 });
      expect(await list({ limit: 3, offset: 6 })).toStrictEqual({ records: mine.slice(6), count: 7 });
      expect(await list({ offset: Number.MAX_SAFE_INTEGER })).toStrictEqual({ records: [], count: 7 });
      const even = mine.filter(({ name }) => name === "even");
      expect(await list({ name: "even", limit: 2 })).toStrictEqual({ records: even.slice(0, 2), count: 4 });
      expect(await list({ name: "EVEN" })).toStrictEqual({ records: [], count: 0 });
      expect(await list({ name: "e%" })).toStrictEqual({ records: [], count: 0 });
      expect(await list({ gatewayId: "none" })).toStrictEqual({ records: [], count: 0 });
      expect((await store.list("upstreams", { ...ALL, name: "even" })).count).toBe(5);
      expect((await store.list("gateways", ALL)).records).toStrictEqual([first, second]);
    });

    test("a name filter matches exactly", async () => {
      const store = await openEmpty();
      const gateway = await insert(store, "gateways", gatewayRecord({ name: AWKWARD_TEXT }));
      await insert(store, "gateways", gatewayRecord({ name: AWKWARD_TEXT.toUpperCase() }));
      const found = await store.list("gateways", { ...ALL, name: AWKWARD_TEXT });
      expect(found).toStrictEqual({ records: [gateway], count: 1 });
    });
  });
}
