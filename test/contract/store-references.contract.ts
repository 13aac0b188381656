// What refers to what: a reference that dangles or leads abroad is refused, and so is removing what is used.
import { describe, expect, test } from "bun:test";
import type { GatehouseError } from "../../src/base/errors.ts";
import type { Transaction } from "../../src/store/store.ts";
import { ALL, insert, insertWhole, openForTest, refusal, type StoreMaker } from "./store-fixture.ts";
import {
  apiKeyRecord,
  blockRecord,
  gatewayRecord,
  ruleRecord,
  serviceRecord,
  upstreamRecord,
} from "./store-records.ts";

export function describeStoreReferences({ database, createEmpty }: StoreMaker): void {
  const openEmpty = async () => openForTest(await createEmpty());

  describe(`${database}: references`, () => {
    test("a block's name is taken once, over all gateways, and free again when it is removed", async () => {
      const store = await openEmpty();
      const [one, two] = [await insertWhole(store), await insertWhole(store)];
      const block = await insert(store, "blocks", blockRecord(one.gateway.id));
      const before = await store.revision();
      for (const { gateway } of [one, two]) {
        const again = blockRecord(gateway.id, { name: block.name });
        const error: unknown = await insert(store, "blocks", again).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(Error);
      }
      expect(await store.revision()).toBe(before);
      expect((await store.list("blocks", ALL)).records).toStrictEqual([block]);
      await store.write((transaction) => transaction.remove("blocks", block.id));
      await insert(store, "blocks", blockRecord(two.gateway.id, { name: block.name }));
    });

    test("blocks go with their gateway, and alone do not keep it", async () => {
      const store = await openEmpty();
      const { gateway } = await insertWhole(store);
      const bare = await insert(store, "gateways", gatewayRecord());
      const kept = await insert(store, "gateways", gatewayRecord());
      const stays = await insert(store, "blocks", blockRecord(kept.id));
      for (const { id } of [gateway, bare]) await insert(store, "blocks", blockRecord(id));
      await store.write((transaction) => transaction.removeGateway(gateway.id, true));
      await store.write((transaction) => transaction.removeGateway(bare.id, false));
      expect((await store.list("blocks", ALL)).records).toStrictEqual([stays]);
    });

    test("a service, a rule and a key may refer only to what is in their gateway", async () => {
      const store = await openEmpty();
      const own = await insertWhole(store);
      const foreign = await insertWhole(store);
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
          const error = await refusal(store.write((transaction) => attempt(transaction, id)));
          expect(error.status).toBe(400);
          expect(error.details?.map((detail) => detail.path)).toEqual([path]);
          expect(error.message).toContain(id);
        }
      }
      expect(await store.revision()).toBe(before);
      expect((await store.list("services", ALL)).records).toStrictEqual([own.service, foreign.service]);
      expect((await store.list("api_keys", ALL)).records).toStrictEqual([own.apiKey, foreign.apiKey]);
    });

    test("a part of a gateway that does not exist is not kept", async () => {
      const store = await openEmpty();
      const orphan = upstreamRecord("no-such-gateway");
      const attempt = store.write((transaction) => transaction.insert("upstreams", orphan));
      expect(await attempt.then(() => "kept").catch(() => "refused")).toBe("refused");
      expect((await store.list("upstreams", ALL)).count).toBe(0);
    });

    test("a subdomain belongs to one gateway (409); several may have none, and the owner may keep it", async () => {
      const store = await openEmpty();
      const owner = await insert(store, "gateways", gatewayRecord({ name: "owner", subdomain: "acme" }));
      const other = await insert(store, "gateways", gatewayRecord());
      await insert(store, "gateways", gatewayRecord());
      const taken = [
        (transaction: Transaction) => transaction.insert("gateways", gatewayRecord({ subdomain: "acme" })),
        (transaction: Transaction) => transaction.update("gateways", { ...other, subdomain: "acme" }),
      ];
      for (const attempt of taken) {
        const error = await refusal(store.write(attempt));
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

    test("two gateways cannot take one subdomain at once, from two nodes", async () => {
      const url = await createEmpty();
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

    test("what others use is not removed (409 names them); from the outside in everything goes", async () => {
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
        const error = await refusal(remove());
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

    test("a gateway's users are all named, of every kind", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      const error = await refusal(store.write((transaction) => transaction.removeGateway(gateway.id, false)));
      for (const { id } of [upstream, service, rule, apiKey]) expect(error.message).toContain(id);
      expect(error.message).toContain("cascade");
    });

    test("a revoked key keeps neither its rules nor its gateway alive", async () => {
      const store = await openEmpty();
      const { gateway, upstream, service, rule, apiKey } = await insertWhole(store);
      await store.write((transaction) => transaction.update("api_keys", { ...apiKey, active: false }));
      await store.write((transaction) => transaction.remove("rules", rule.id));
      await store.write((transaction) => transaction.remove("services", service.id));
      await store.write((transaction) => transaction.remove("upstreams", upstream.id));
      await store.write((transaction) => transaction.removeGateway(gateway.id, false));
      expect(await store.get("api_keys", apiKey.id)).toBeNull();
    });

    test("a cascade takes everything of that gateway and nothing of another", async () => {
      const store = await openEmpty();
      const gone = await insertWhole(store);
      const kept = await insertWhole(store);
      await store.write((transaction) => transaction.removeGateway(gone.gateway.id, true));
      expect((await store.list("gateways", ALL)).records).toStrictEqual([kept.gateway]);
      expect((await store.list("upstreams", ALL)).records).toStrictEqual([kept.upstream]);
      expect((await store.list("services", ALL)).records).toStrictEqual([kept.service]);
      expect((await store.list("rules", ALL)).records).toStrictEqual([kept.rule]);
      expect((await store.list("api_keys", ALL)).records).toStrictEqual([kept.apiKey]);
    });
  });
}
