// Search, sort, and selection by id in lists of records.
import { describe, expect, test } from "bun:test";
import type { Kind } from "../../src/kinds/kind.ts";
import type { ListQuery } from "../../src/store/store.ts";
import { ALL, openForTest, type StoreMaker } from "./store-fixture.ts";
import { apiKeyRecord, budgetRecord, gatewayRecord } from "./store-records.ts";
import { ruleRecord, serviceRecord, upstreamRecord, virtualModelRecord } from "./store-records.ts";

export function describeStoreLists({ database, createMigrated }: StoreMaker): void {
  describe(`${database}: lists`, () => {
    test("records are found by part of a name, an id, or another identifying text", async () => {
      const store = openForTest(await createMigrated());
      const gateway = gatewayRecord({ name: "Änder 100%_done", subdomain: "north" });
      const other = gatewayRecord({ name: "beta", subdomain: null });
      const upstream = upstreamRecord(gateway.id, { name: "models" });
      const service = serviceRecord(gateway.id, upstream.id, { name: "chat" });
      const rule = ruleRecord(gateway.id, service.id, { name: null, path: "/v1/Embeddings" });
      const budget = budgetRecord(gateway.id, { name: "Team search" });
      const model = virtualModelRecord(gateway.id, upstream.id, { name: "Assistant-*" });
      const key = apiKeyRecord(gateway.id, { name: "mobile", prefix: "gw_Abc123" });
      await store.write(async (transaction) => {
        await transaction.insert("gateways", gateway);
        await transaction.insert("gateways", other);
        await transaction.insert("upstreams", upstream);
        await transaction.insert("services", service);
        await transaction.insert("rules", rule);
        await transaction.insert("budgets", budget);
        await transaction.insert("models", model);
        await transaction.insert("api_keys", key);
      });
      const find = async (kind: Kind, search: string) => {
        const { records, count } = await store.list(kind, { ...ALL, search });
        expect(count).toBe(records.length);
        return records.map(({ id }) => id);
      };
      expect(await find("gateways", "NORTH")).toEqual([gateway.id]);
      expect(await find("gateways", "Änder")).toEqual([gateway.id]);
      expect(await find("gateways", "100%_")).toEqual([gateway.id]);
      expect(await find("gateways", "e%a")).toEqual([]);
      expect(await find("gateways", "b_ta")).toEqual([]);
      expect(await find("gateways", "!")).toEqual([]);
      expect(await find("gateways", other.id)).toEqual([other.id]);
      expect(await find("gateways", "")).toHaveLength(2);
      expect(await find("gateways", "\0")).toEqual([]);
      expect(await find("rules", "v1/embed")).toEqual([rule.id]);
      expect(await find("budgets", "team S")).toEqual([budget.id]);
      expect(await find("models", "assist")).toEqual([model.id]);
      expect(await find("api_keys", "gw_abc")).toEqual([key.id]);
      expect(await find("services", "CHA")).toEqual([service.id]);
      expect(await find("upstreams", "ode")).toEqual([upstream.id]);
    });

    test("records are sorted and selected, and pages follow the order", async () => {
      const store = openForTest(await createMigrated());
      const gateways = ["b", "C", "a"].map((name) => gatewayRecord({ name }));
      await store.write(async (transaction) => {
        for (const gateway of gateways) await transaction.insert("gateways", gateway);
      });
      const names = async (query: Partial<ListQuery>) =>
        (await store.list("gateways", { ...ALL, ...query })).records.map(({ name }) => name);
      expect(await names({})).toEqual(["b", "C", "a"]);
      expect(await names({ sort: "created_at", descending: true })).toEqual(["a", "C", "b"]);
      expect(await names({ sort: "name" })).toEqual(["a", "b", "C"]);
      expect(await names({ sort: "name", descending: true, limit: 1, offset: 1 })).toEqual(["b"]);
      const ids = [gateways[0]!.id, gateways[2]!.id];
      expect(await names({ ids: [...ids, "none", "\0"] })).toEqual(["b", "a"]);
      expect(await names({ ids, search: "A" })).toEqual(["a"]);
      expect(await names({ ids: [] })).toEqual([]);
    });

    test("rules are sorted by priority as numbers", async () => {
      const store = openForTest(await createMigrated());
      const gateway = gatewayRecord();
      const upstream = upstreamRecord(gateway.id);
      const service = serviceRecord(gateway.id, upstream.id);
      await store.write(async (transaction) => {
        await transaction.insert("gateways", gateway);
        await transaction.insert("upstreams", upstream);
        await transaction.insert("services", service);
        for (const priority of [10, 9, 0])
          await transaction.insert("rules", ruleRecord(gateway.id, service.id, { priority }));
      });
      const priorities = async (query: Partial<ListQuery>) =>
        (await store.list("rules", { ...ALL, sort: "priority", ...query })).records.map(
          ({ priority }) => priority,
        );
      expect(await priorities({})).toEqual([0, 9, 10]);
      expect(await priorities({ descending: true })).toEqual([10, 9, 0]);
    });
  });
}
