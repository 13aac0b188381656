// Names of budgets are unique in their gateway: in writes, at the upgrade from versions that accepted any,
// and in rollbacks.
import { describe, expect, test } from "bun:test";
import { newId } from "../../src/base/ids.ts";
import { writeOldBudgets } from "./older-schema.ts";
import { ALL, insert, openForTest, rejectionOf, whenOpen, type StoreMaker } from "./store-fixture.ts";
import { apiKeyRecord, budgetRecord, gatewayRecord, withSql } from "./store-records.ts";

export function describeStoreBudgets({ database, createEmpty, createMigrated }: StoreMaker): void {
  describe(`${database}: names of budgets`, () => {
    test("a budget with the name of another one of the gateway is a duplicate", async () => {
      const store = openForTest(await createMigrated());
      const [gateway, other] = [
        await insert(store, "gateways", gatewayRecord()),
        await insert(store, "gateways", gatewayRecord()),
      ];
      const budget = await insert(store, "budgets", budgetRecord(gateway.id, { name: "team" }));
      await insert(store, "budgets", budgetRecord(other.id, { name: "team" }));
      const second = await insert(store, "budgets", budgetRecord(gateway.id, { name: "second" }));
      const again = rejectionOf(insert(store, "budgets", budgetRecord(gateway.id, { name: "team" })));
      expect(await again).toMatchObject({ code: "duplicate", details: [{ path: "name" }] });
      const renamed = store.write((tx) => tx.update("budgets", { ...second, name: "team" }));
      expect(await rejectionOf(renamed)).toMatchObject({ code: "duplicate" });
      await store.write((tx) => tx.update("budgets", { ...budget, amount: "1.00" }));
    });

    test("a UUID that is no API key of the gateway is rejected", async () => {
      const store = openForTest(await createMigrated());
      const gateway = await insert(store, "gateways", gatewayRecord());
      const key = await insert(store, "api_keys", apiKeyRecord(gateway.id));
      const budgetOf = (value: string) => budgetRecord(gateway.id, { name: value, scope: "api_key", value });
      await insert(store, "budgets", budgetOf(key.id));
      await insert(store, "budgets", budgetOf("a name"));
      await insert(store, "budgets", budgetOf("jwt_0123"));
      const error = await rejectionOf(insert(store, "budgets", budgetOf(newId())));
      expect(error).toMatchObject({ code: "validation_failed", details: [{ path: "value" }] });
    });

    test("stored duplicates get a suffix at the upgrade, the oldest keeps its name", async () => {
      const url = await createEmpty();
      const gateway = gatewayRecord();
      const long = "x".repeat(64);
      const names = ["team", "team", "team-2", "team", long, long, "alone"];
      const budgets = names.map((name, at) =>
        budgetRecord(gateway.id, { name, created_at: `2026-01-01T00:00:0${at}.000Z` }),
      );
      // The order of the rows does not matter.
      await writeOldBudgets(url, gateway, budgets.toReversed());
      const store = openForTest(url);
      await whenOpen(store);
      const { records } = await store.list("budgets", { ...ALL, sort: "created_at" });
      expect(records.map(({ name }) => name)).toEqual([
        ...["team", "team-3", "team-2", "team-4", long, `${"x".repeat(62)}-2`, "alone"],
      ]);
      expect(records.map(({ id }) => id)).toEqual(budgets.map(({ id }) => id));
      const [found] = (await store.list("budgets", { ...ALL, name: "team-3" })).records;
      expect(found).toStrictEqual({ ...budgets[1]!, name: "team-3" });
    });

    test("a rollback gives a restored budget a suffix if another one has its name", async () => {
      const url = await createMigrated();
      const store = openForTest(url);
      const gateway = await insert(store, "gateways", gatewayRecord());
      await insert(store, "budgets", budgetRecord(gateway.id, { name: "team" }));
      const second = await insert(store, "budgets", budgetRecord(gateway.id, { name: "late" }));
      await store.write((tx) => tx.update("budgets", { ...second, amount: "1.00" }));
      // An older version accepted the name of the first one for the second one.
      await withSql(url, (sql) =>
        sql.unsafe("UPDATE revisions SET records = REPLACE(records, 'late', 'team') WHERE number = 4"),
      );
      await store.write((tx) => tx.rollBackTo(3), { action: "rollback" });
      expect(await store.get("budgets", second.id)).toMatchObject({ name: "team-2", amount: second.amount });
      expect((await store.getRevision(5))?.records).toMatchObject([{ after: { name: "team-2" } }]);
    });

    test("a rollback restores names that two budgets have exchanged", async () => {
      const store = openForTest(await createMigrated());
      const gateway = await insert(store, "gateways", gatewayRecord());
      const one = await insert(store, "budgets", budgetRecord(gateway.id, { name: "one" }));
      const two = await insert(store, "budgets", budgetRecord(gateway.id, { name: "two" }));
      await store.write((tx) => tx.update("budgets", { ...one, name: "spare" }));
      await store.write((tx) => tx.update("budgets", { ...two, name: "one" }));
      await store.write((tx) => tx.update("budgets", { ...one, name: "two" }));
      await store.write((tx) => tx.rollBackTo(3), { action: "rollback" });
      expect(await store.get("budgets", one.id)).toMatchObject({ name: "one" });
      expect(await store.get("budgets", two.id)).toMatchObject({ name: "two" });
    });
  });
}
