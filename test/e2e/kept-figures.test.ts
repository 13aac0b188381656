// Records outlive configuration: usage, spent amounts and the audit log after deletions, rollbacks and
// prunes.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

const newestRevision = async (): Promise<number> =>
  (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision;

/** A gateway with a budget and a key, after two requests. `before` is the revision without it. */
async function usedGateway() {
  await create(gatehouse, "/gateways", { name: crypto.randomUUID() });
  const before = await newestRevision();
  const route = await seedRoute(gatehouse, {
    gateway: { name: `used ${crypto.randomUUID()}`, prices: [{ model: "gpt-fake", per_request: "0.01" }] },
    upstream: { targets: [targetAt(provider)] },
  });
  const { id: gateway } = { id: route.gateway };
  const budget = await create(gatehouse, `/gateways/${gateway}/budgets`, {
    ...{ name: "team", unit: "usd", amount: "0.05", scope: "api_key", each: true, period: "total" },
  });
  const { id: key, key: secret } = await seedKey(gatehouse, gateway, { name: "ci" });
  const { name } = (await gatehouse.api("GET", `/gateways/${gateway}`)).body;
  const send = async () => {
    const response = await fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-GW-API-Key": secret },
      body: JSON.stringify(CHAT),
    });
    await response.text();
    return response.status;
  };
  expect([await send(), await send()]).toEqual([200, 200]);
  const spent = () => gatehouse.api("GET", `/gateways/${gateway}/budgets/${budget.id}/state`);
  const used = { gateway, name, budget: budget.id, key, send, spent, before, after: await newestRevision() };
  await waitFor(async () => ((await spent()).body.spent === "0.02" ? true : null));
  expect(await usageOf(used.gateway)).toMatchObject({ gateway: name, requests: 2 });
  return used;
}

const usageOf = async (gateway: string) => {
  const { body } = await gatehouse.api("GET", "/usage?group_by=gateway,api_key");
  return body.usage.find((row: { gateway_id: string }) => row.gateway_id === gateway);
};

type Used = Awaited<ReturnType<typeof usedGateway>>;

const rollBack = async (revision: number) => {
  const { status } = await gatehouse.api("POST", `/revisions/${revision}/rollback`, {});
  expect(status).toBe(200);
};

const WAYS: readonly (readonly [string, (used: Used) => Promise<void>])[] = [
  [
    "DELETE with cascade",
    async ({ gateway }) => {
      const { status } = await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`);
      expect(status).toBe(204);
    },
  ],
  ["a rollback past its creation", ({ before }) => rollBack(before)],
  [
    "apply with prune_gateways",
    async ({ name }) => {
      const { gateways } = (await gatehouse.api("GET", "/gateways?limit=1000")).body;
      const others = gateways.filter((each: { name: string }) => each.name !== name);
      const document = {
        version: 1,
        gateways: others.map((each: { name: string }) => ({ name: each.name })),
      };
      const { status } = await gatehouse.api("POST", "/apply?prune_gateways=true", document);
      expect(status).toBe(200);
    },
  ],
];

describe.each(WAYS)("a gateway that is deleted by %s", (_, remove) => {
  test("keeps usage and audit; restored, it continues with its usage and spent amounts", async () => {
    const used = await usedGateway();
    const { gateway, name, key, send, spent, after } = used;
    await remove(used);
    expect((await gatehouse.api("GET", `/gateways/${gateway}`)).status).toBe(404);
    const deleted = { gateway: name, gateway_deleted: true, requests: 2, api_key_id: key, api_key: "ci" };
    expect(await usageOf(gateway)).toMatchObject({ ...deleted, cost: 0.02 });
    const own = await gatehouse.api("GET", `/gateways/${gateway}/usage?group_by=model`);
    expect(own).toMatchObject({ status: 200, body: { usage: [{ model: "gpt-fake", requests: 2 }] } });
    const audit = (await gatehouse.api("GET", `/audit?gateway_id=${gateway}&limit=100`)).body;
    expect(audit.count).toBeGreaterThan(3);
    await rollBack(after);
    expect((await spent()).body).toMatchObject({
      spent: "0.02",
      top_spenders: [{ subject: key, name: "ci" }],
    });
    expect([await send(), await send(), await send(), await send()]).toEqual([200, 200, 200, 402]);
    expect(await usageOf(gateway)).not.toHaveProperty("gateway_deleted");
    expect(await usageOf(gateway)).toMatchObject({ gateway: name, api_key: "ci", requests: 5 });
  });
});

test("a budget and an upstream that a document prunes keep what they have spent and used", async () => {
  const { gateway, name, budget, spent, after } = await usedGateway();
  const { body } = await gatehouse.api("GET", `/export?gateway_id=${gateway}`, undefined, {
    Accept: "application/json",
  });
  const pruned = { ...body, gateways: [{ ...body.gateways[0], budgets: [] }] };
  expect((await gatehouse.api("POST", "/apply?prune=true", pruned)).status).toBe(200);
  expect((await gatehouse.api("GET", `/gateways/${gateway}/budgets/${budget}`)).status).toBe(404);
  expect(await usageOf(gateway)).toMatchObject({ gateway: name, requests: 2 });
  await rollBack(after);
  expect((await spent()).body.spent).toBe("0.02");
});
