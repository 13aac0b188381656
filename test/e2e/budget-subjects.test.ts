// Names of budgets, and budgets that no request can match: an error where the mistake is certain, else a
// warning.
import { afterAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create, expectError } from "../support/admin-fixtures.ts";
import { PROGRAM, temporaryDirectory } from "../support/gatehouse-process.ts";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const fields = { name: "team", unit: "usd", amount: "1" };
const UNKNOWN_KEY = "01890a5d-ac96-774b-bcce-b302099a8057";

const newGateway = async () =>
  (await create(gatehouse, "/gateways", { name: crypto.randomUUID() })).id as string;
const post = (gateway: string, budget: object) =>
  gatehouse.api("POST", `/gateways/${gateway}/budgets`, { ...fields, ...budget });
const apply = (gateways: object[], query = "") =>
  gatehouse.api("POST", `/apply${query}`, { version: 1, gateways });
const nameOf = async (gateway: string) =>
  (await gatehouse.api("GET", `/gateways/${gateway}`)).body.name as string;

/** Applies a document with one gateway. Returns the warnings about its budgets. */
const budgetWarnings = async (gateway: object, query = "") => {
  const { status, body } = await apply([gateway], query);
  expect(status).toBe(200);
  return body.warnings.filter(({ path }: { path: string }) => path.includes("budgets"));
};

describe("the name of a budget", () => {
  test("is unique in its gateway, whatever writes it", async () => {
    const [gateway, other] = [await newGateway(), await newGateway()];
    const { id } = (await post(gateway, {})).body;
    const refused = await post(gateway, {});
    expectError(refused, 409, "duplicate");
    expect(refused.body).toMatchObject({
      error: expect.stringContaining(`"team" is already the name of budget "team" (${id})`),
      details: [{ path: "name" }],
    });
    expect((await post(other, {})).status).toBe(201);
    const second = (await post(gateway, { name: "Team" })).body;
    const at = `/gateways/${gateway}/budgets/${second.id}`;
    expectError(await gatehouse.api("PATCH", at, { name: "team" }), 409, "duplicate");
    expectError(await gatehouse.api("PUT", at, fields), 409, "duplicate");
    expect((await gatehouse.api("PATCH", at, { amount: "2" })).status).toBe(200);
    expect((await gatehouse.api("PATCH", `/gateways/${gateway}/budgets/${id}`, fields)).status).toBe(200);
    const results = await Promise.all(Array.from({ length: 8 }, () => post(gateway, { name: "at once" })));
    expect(results.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(409)]);
  });
});

describe("a budget for one API key", () => {
  test("whose value is a UUID that is no key of the gateway is 400", async () => {
    const [gateway, other] = [await newGateway(), await newGateway()];
    const elsewhere = await seedKey(gatehouse, other);
    for (const value of [UNKNOWN_KEY, UNKNOWN_KEY.toUpperCase(), elsewhere.id]) {
      const refused = await post(gateway, { scope: "api_key", value });
      expectError(refused, 400, "validation_failed");
      expect(refused.body.details).toEqual([
        { path: "value", message: expect.stringContaining(`there is no API key "${value}" in this gateway`) },
      ]);
    }
    const applied = await apply([
      { name: await nameOf(gateway), budgets: [{ ...fields, scope: "api_key", value: UNKNOWN_KEY }] },
    ]);
    expectError(applied, 400, "validation_failed");
    expect(applied.body.details[0].path).toBe("gateways[0].budgets[0].value");
    // A user id or a label may look the same.
    expect((await post(gateway, { scope: "user", value: UNKNOWN_KEY })).status).toBe(201);
  });

  test("is exported with the name of the key, so that it can be applied elsewhere, and applies as no change here", async () => {
    const gateway = await newGateway();
    const key = await seedKey(gatehouse, gateway, { name: "ci" });
    await post(gateway, { scope: "api_key", value: key.id });
    const exported = await gatehouse.api("GET", `/export?gateway_id=${gateway}`, undefined, {
      Accept: "application/json",
    });
    expect(exported.body.gateways[0].budgets).toMatchObject([{ value: "ci" }]);
    const again = await apply(exported.body.gateways);
    expect(again.body.changes.map(({ action }: { action: string }) => action)).not.toContain("update");
    const [budget] = (await gatehouse.api("GET", `/gateways/${gateway}/budgets`)).body.budgets;
    expect(budget.value).toBe(key.id);
    const copy = { ...exported.body.gateways[0], name: "copy of the keys", api_keys: [{ name: "ci" }] };
    expect(await budgetWarnings(copy)).toEqual([]);
  });
});

describe("a budget that matches nothing is reported", () => {
  const NO_KEY = {
    path: "value",
    message: expect.stringContaining('no active API key has the id or name "ci"'),
  };

  test("for an API key, by name, until there is one", async () => {
    const gateway = await newGateway();
    const budget = { scope: "api_key", value: "ci" };
    const created = (await post(gateway, budget)).body;
    expect(created.warnings).toEqual([NO_KEY]);
    const key = await seedKey(gatehouse, gateway, { name: "ci" });
    const at = `/gateways/${gateway}/budgets/${created.id}`;
    expect((await gatehouse.api("PATCH", at, { amount: "2" })).body).not.toHaveProperty("warnings");
    expect((await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`)).status).toBe(204);
    expect((await gatehouse.api("PATCH", at, { amount: "3" })).body.warnings).toEqual([NO_KEY]);
  });

  test.each([
    [
      { scope: "label", label: "team", value: "serch" },
      "value",
      'no active API key has the label team with the value "serch"',
    ],
    [{ scope: "label", label: "tema", each: true }, "label", "no active API key has the label tema"],
    [{ scope: "model", value: "gpt-typo" }, "value", 'no target serves "gpt-typo"'],
    [{ models: ["gpt-fake", "gpt-typo-*"] }, "models[1]", 'no target serves "gpt-typo-*"'],
  ])("%j", async (budget, path, message) => {
    const route = await seedRoute(gatehouse, {
      gateway: {},
      upstream: { targets: [targetAt(provider, { models: ["gpt-fake"] })] },
    });
    await seedKey(gatehouse, route.gateway, { labels: { team: "search" } });
    const { body } = await post(route.gateway, budget);
    expect(body.warnings).toEqual([{ path, message: expect.stringContaining(message) }]);
  });

  test.each([
    [{ scope: "label", label: "team", value: "search" }],
    [{ scope: "label", label: "team", each: true }],
    [{ scope: "api_key", each: true }],
    [{ scope: "user", each: true }],
    [{ scope: "model", value: "gpt-fake" }],
    [{ models: ["gpt-*"] }],
  ])("and %j is not", async (budget) => {
    const route = await seedRoute(gatehouse, {
      gateway: {},
      upstream: { targets: [targetAt(provider, { models: ["gpt-fake"] })] },
    });
    await seedKey(gatehouse, route.gateway, { labels: { team: "search" } });
    const created = await post(route.gateway, budget);
    expect(created.status).toBe(201);
    expect(created.body).not.toHaveProperty("warnings");
  });

  test("by apply and by check, which knows the keys only if the document has them", async () => {
    const budgets = [{ ...fields, scope: "api_key", value: "ci" }];
    const gateway = { name: `documented ${crypto.randomUUID()}`, budgets };
    const warning = { ...NO_KEY, path: "gateways[0].budgets[0].value" };
    expect(await budgetWarnings(gateway)).toEqual([warning]);
    expect(await budgetWarnings({ ...gateway, api_keys: [{ name: "ci" }] })).toEqual([]);
    // The stored key counts, unless the document replaces it.
    expect(await budgetWarnings(gateway)).toEqual([]);
    expect(await budgetWarnings({ ...gateway, api_keys: [] }, "?prune=true")).toEqual([warning]);
    const check = async (document: object) => {
      const file = join(directory, "document.json");
      await Bun.write(file, JSON.stringify({ version: 1, gateways: [document] }));
      const run = Bun.spawn([PROGRAM, "check", file], { stdout: "pipe", stderr: "pipe" });
      return `${await run.stdout.text()}${await run.stderr.text()}`;
    };
    expect(await check({ ...gateway, api_keys: [{ name: "other" }] })).toContain(
      'no active API key has the id or name "ci"',
    );
    expect(await check(gateway)).not.toContain("API key");
  });
});
