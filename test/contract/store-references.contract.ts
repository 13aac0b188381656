// References between records: invalid ones are rejected, and so is the deletion of records that others use.
import { describe, expect, test } from "bun:test";
import type { GatehouseError } from "../../src/base/errors.ts";
import type { Transaction } from "../../src/store/store.ts";
import { ALL, insert, insertWhole, openForTest, rejectionOf, type StoreMaker } from "./store-fixture.ts";
import {
  apiKeyRecord,
  gatewayRecord,
  mcpServerRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "./store-records.ts";

export function describeStoreReferences({ database, createMigrated }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createMigrated());

  describe(`${database}: references`, () => {
    test("a service, a rule and an API key can refer only to records of their gateway", async () => {
      const store = await openEmpty();
      const own = await insertWhole(store);
      const foreign = await insertWhole(store);
      const foreignServer = mcpServerRecord(foreign.gateway.id);
      await insert(store, "mcp_servers", foreignServer);
      const before = await store.revision();
      const attempts: [string, (transaction: Transaction, id: string) => Promise<void>, string][] = [
        [
          "upstream_id",
          (transaction, id) => transaction.insert("services", serviceRecord(own.gateway.id, id)),
          foreign.upstream.id,
        ],
        [
          "upstream_id",
          (transaction, id) => transaction.update("services", { ...own.service, upstream_id: id }),
          foreign.upstream.id,
        ],
        [
          "mcp_server_ids[0]",
          (transaction, id) => {
            const fields = { type: "mcp" as const, mcp_server_ids: [id] };
            return transaction.insert("services", serviceRecord(own.gateway.id, null, fields));
          },
          foreignServer.id,
        ],
        [
          "service_id",
          (transaction, id) => transaction.insert("rules", ruleRecord(own.gateway.id, id)),
          foreign.service.id,
        ],
        [
          "service_id",
          (transaction, id) => transaction.update("rules", { ...own.rule, service_id: id }),
          foreign.service.id,
        ],
        [
          "policies[1]",
          (transaction, id) =>
            transaction.insert("api_keys", apiKeyRecord(own.gateway.id, { policies: [own.rule.id, id] })),
          foreign.rule.id,
        ],
        [
          "policies[1]",
          (transaction, id) =>
            transaction.update("api_keys", { ...own.apiKey, policies: [own.rule.id, id, own.rule.id] }),
          foreign.rule.id,
        ],
      ];
      for (const [path, attempt, foreignId] of attempts) {
        for (const id of ["no-such-id", foreignId]) {
          const error = await rejectionOf(store.write((transaction) => attempt(transaction, id)));
          expect(error.status).toBe(400);
          expect(error.details?.map((detail) => detail.path)).toEqual([path]);
          expect(error.message).toContain(id);
        }
      }
      expect(await store.revision()).toBe(before);
      expect((await store.list("services", ALL)).records).toStrictEqual([own.service, foreign.service]);
      expect((await store.list("api_keys", ALL)).records).toStrictEqual([own.apiKey, foreign.apiKey]);
    });

    test("a record of a gateway that does not exist is rejected", async () => {
      const store = await openEmpty();
      const orphan = upstreamRecord("no-such-gateway");
      const attempt = store.write((transaction) => transaction.insert("upstreams", orphan));
      expect(await attempt.then(() => "stored").catch(() => "rejected")).toBe("rejected");
      expect((await store.list("upstreams", ALL)).count).toBe(0);
    });

    test("a subdomain belongs to one gateway (409); several gateways can have none", async () => {
      const store = await openEmpty();
      const owner = await insert(store, "gateways", gatewayRecord({ name: "owner", subdomain: "acme" }));
      const other = await insert(store, "gateways", gatewayRecord());
      await insert(store, "gateways", gatewayRecord());
      const taken = [
        (transaction: Transaction) => transaction.insert("gateways", gatewayRecord({ subdomain: "acme" })),
        (transaction: Transaction) => transaction.update("gateways", { ...other, subdomain: "acme" }),
      ];
      for (const attempt of taken) {
        const error = await rejectionOf(store.write(attempt));
        expect(error.status).toBe(409);
        expect(error.details?.[0]?.path).toBe("subdomain");
        expect(error.message).toContain(owner.id);
        expect(error.message).toContain("owner");
      }
      await store.write((transaction) => transaction.update("gateways", { ...owner, name: "renamed" }));
      await store.write((transaction) => transaction.update("gateways", { ...owner, subdomain: null }));
      await store.write((transaction) => transaction.update("gateways", { ...other, subdomain: "acme" }));
      expect((await store.get("gateways", other.id))?.subdomain).toBe("acme");
    });

    test("two nodes cannot give the same subdomain to two gateways concurrently", async () => {
      const url = await createMigrated();
      const nodes = [openForTest(url), openForTest(url)];
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          insert(nodes[index % 2]!, "gateways", gatewayRecord({ subdomain: "contested" })),
        ),
      );
      expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const attempt of attempts) {
        if (attempt.status === "rejected") expect((attempt.reason as GatehouseError).code).toBe("duplicate");
      }
      expect((await nodes[0]!.list("gateways", ALL)).count).toBe(1);
    });

    test("a record that others use cannot be deleted (409 names them) until they are deleted", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      const used: [() => Promise<unknown>, string][] = [
        [() => store.write((transaction) => transaction.remove("upstreams", upstream.id)), service.id],
        [() => store.write((transaction) => transaction.remove("services", service.id)), rule.id],
        [() => store.write((transaction) => transaction.remove("rules", rule.id)), apiKey.id],
        [() => store.write((transaction) => transaction.removeGateway(gateway.id, false)), apiKey.id],
      ];
      const before = await store.revision();
      for (const [remove, user] of used) {
        const error = await rejectionOf(remove());
        expect(error.status).toBe(409);
        expect(error.code).toBe("in_use");
        expect(error.message).toContain(user);
        expect(error.details?.some((detail) => detail.message.includes(user))).toBe(true);
      }
      expect(await store.revision()).toBe(before);
      await store.write((transaction) => transaction.remove("api_keys", apiKey.id));
      await store.write((transaction) => transaction.remove("rules", rule.id));
      await store.write((transaction) => transaction.remove("services", service.id));
      await store.write((transaction) => transaction.remove("upstreams", upstream.id));
      await store.write((transaction) => transaction.removeGateway(gateway.id, false));
      expect(await store.gatewayParts(gateway.id)).toBeNull();
    });

    test("the error for a gateway that is in use names records of every kind", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      const error = await rejectionOf(
        store.write((transaction) => transaction.removeGateway(gateway.id, false)),
      );
      for (const { id } of [upstream, service, rule, apiKey]) expect(error.message).toContain(id);
      expect(error.message).toContain("cascade");
    });

    test("a revoked API key prevents the deletion of neither its rules nor its gateway", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      await store.write((transaction) => transaction.update("api_keys", { ...apiKey, active: false }));
      await store.write((transaction) => transaction.remove("rules", rule.id));
      await store.write((transaction) => transaction.remove("services", service.id));
      await store.write((transaction) => transaction.remove("upstreams", upstream.id));
      await store.write((transaction) => transaction.removeGateway(gateway.id, false));
      expect(await store.get("api_keys", apiKey.id)).toBeNull();
    });

    test("a cascade deletes all records of the gateway and no others", async () => {
      const store = await openEmpty();
      const deleted = await insertWhole(store);
      const kept = await insertWhole(store);
      await store.write((transaction) => transaction.removeGateway(deleted.gateway.id, true));
      expect((await store.list("gateways", ALL)).records).toStrictEqual([kept.gateway]);
      expect((await store.list("upstreams", ALL)).records).toStrictEqual([kept.upstream]);
      expect((await store.list("services", ALL)).records).toStrictEqual([kept.service]);
      expect((await store.list("rules", ALL)).records).toStrictEqual([kept.rule]);
      expect((await store.list("api_keys", ALL)).records).toStrictEqual([kept.apiKey]);
    });
  });
}
