// Calls that lose something recorded: 409 with the losses, a dry run, and the digest that confirms exactly
// what was shown.
import { describe, expect, test } from "bun:test";
import { create, expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

/** A budget of $10.00 with requests of $0.01 each. */
async function budgetWith(fields: Record<string, unknown> = {}) {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "gpt-fake", per_request: "0.01" }] },
    upstream: { targets: [targetAt(provider)] },
  });
  const { id } = await create(gatehouse, `/gateways/${route.gateway}/budgets`, {
    ...{ name: "team", unit: "usd", amount: "10", period: "total", ...fields },
  });
  const at = `/gateways/${route.gateway}/budgets/${id}`;
  const spent = async () => (await gatehouse.api("GET", `${at}/state`)).body.spent as string | number;
  const spend = async (count: number, key?: string) => {
    const before = Number(await spent());
    for (let sent = 0; sent < count; sent++) {
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...(key !== undefined && { "X-GW-API-Key": key }) },
        body: JSON.stringify(CHAT),
      });
      await response.text();
      expect(response.status).toBe(200);
    }
    await waitFor(async () => (Number(await spent()) >= before + count / 100 - 1e-9 ? true : null));
  };
  const call = (action: string, body: object = {}, query = "") =>
    gatehouse.api("POST", `${at}/${action}${query}`, body);
  return { gateway: route.gateway, id, at, spent, spend, call };
}

const OPERATIONS = [
  ["reset", {}, "0.00"],
  ["adjust", { amount: "-0.03" }, "0.02"],
  ["adjust", { amount: "1" }, "1.05"],
] as const;

describe.each(OPERATIONS)("budget %s with %j", (action, body, after) => {
  test("is 409 with the losses, changes nothing, and runs with the digest", async () => {
    const { call, spend, spent, gateway } = await budgetWith();
    await spend(5);
    const refused = await call(action, body);
    expectError(refused, 409, "confirmation_required");
    const { error, losses, confirm: digest } = refused.body;
    expect(error).toContain("would lose budget_spent_usd 0.05");
    expect(losses).toEqual({ budget_spent_usd: "0.05" });
    expect(digest).toMatch(/^[\w.-]{8,}$/);
    expect(await spent()).toBe("0.05");
    const plan = await call(action, body, "?dry_run=true");
    expect(plan.status).toBe(200);
    expect(plan.body).toEqual({ losses, confirm: digest });
    expect(await spent()).toBe("0.05");
    const done = await call(action, body, `?confirm=${digest}`);
    expect(done).toMatchObject({ status: 200, body: { spent: after } });
    const { audit_entries } = (
      await gatehouse.api("GET", `/audit?gateway_id=${gateway}&resource=budget_state`)
    ).body;
    expect(audit_entries).toMatchObject([{ details: { lost: { budget_spent_usd: "0.05" } } }]);
  });

  test("runs at once if nothing is recorded", async () => {
    const { call } = await budgetWith();
    expect((await call(action, body, "?dry_run=true")).body).toMatchObject({ losses: {} });
    expect((await call(action, body)).status).toBe(200);
  });
});

describe("a confirmation", () => {
  test("of a plan that has changed since is 409 again: more is lost, less is left, another call", async () => {
    const { call, spend } = await budgetWith();
    await spend(5);
    const { confirm: digest } = (await call("reset")).body;
    // 1 % of the amount, or 10 % of the figure, is not material; more is.
    await spend(11);
    const stale = await call("reset", {}, `?confirm=${digest}`);
    expectError(stale, 409, "confirmation_required");
    expect(stale.body).toMatchObject({
      error: expect.stringContaining("has changed since it was confirmed"),
      losses: { budget_spent_usd: "0.16" },
    });
    expectError(
      await call("adjust", { amount: "-0.01" }, `?confirm=${stale.body.confirm}`),
      409,
      "confirmation_required",
    );
    const adjust = { amount: "-0.01" };
    const { confirm: adjusted } = (await call("adjust", adjust)).body;
    expectError(
      await call("adjust", { amount: "-0.02" }, `?confirm=${adjusted}`),
      409,
      "confirmation_required",
    );
    expect((await call("adjust", adjust, `?confirm=${adjusted}`)).body).toMatchObject({ spent: "0.15" });
    // The amount is below that of the plan now, so that repeating the call is another one.
    expectError(await call("adjust", adjust, `?confirm=${adjusted}`), 409, "confirmation_required");
  });

  test("covers what a busy budget spends meanwhile, up to 10 % of what was shown or 1 % of the amount", async () => {
    const { call, spend } = await budgetWith();
    await spend(5);
    const { confirm: digest } = (await call("reset")).body;
    await spend(10);
    expect((await call("reset", {}, `?confirm=${digest}`)).body).toMatchObject({ spent: "0.00" });
    await spend(120);
    const plan = (await call("reset")).body;
    await spend(12);
    expect((await call("reset", {}, `?confirm=${plan.confirm}`)).body).toMatchObject({ spent: "0.00" });
  });

  test("cannot be used again when as much is spent as before", async () => {
    const { call, spend, spent } = await budgetWith();
    for (const action of ["reset", "adjust"]) {
      const body = action === "reset" ? {} : { amount: "-0.05" };
      await spend(5);
      const { confirm: digest } = (await call(action, body)).body;
      expect(await call(action, body, `?confirm=${digest}`)).toMatchObject({ status: 200 });
      await spend(5);
      expectError(await call(action, body, `?confirm=${digest}`), 409, "confirmation_required");
      expect(await spent()).toBe("0.05");
      const { confirm: next } = (await call("reset")).body;
      await call("reset", {}, `?confirm=${next}`);
    }
  });

  test("is accepted once of several calls at the same time", async () => {
    const { call, spent, gateway } = await budgetWith({ unit: "tokens", amount: 1000 });
    await call("adjust", { amount: 500 });
    const { confirm: digest } = (await call("adjust", { amount: -1 }, "?dry_run=true")).body;
    const confirmed = () => call("adjust", { amount: -1 }, `?confirm=${digest}`);
    const statuses = (await Promise.all(Array.from({ length: 8 }, confirmed))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, ...Array.from({ length: 7 }, () => 409)]);
    expect(await spent()).toBe(499);
    const audit = await gatehouse.api("GET", `/audit?gateway_id=${gateway}&resource=budget_state`);
    expect(audit.body.count).toBe(2);
  });

  test("that was made up, is of another budget, or is empty does nothing", async () => {
    const [one, other] = [await budgetWith(), await budgetWith()];
    await one.spend(2);
    await other.spend(2);
    const { confirm: digest } = (await other.call("reset")).body;
    const forged = ["true", "20000000.0", digest, `9${digest}`, "-.", "1".repeat(256)];
    for (const each of forged)
      expectError(await one.call("reset", {}, `?confirm=${each}`), 409, "confirmation_required");
    expectProblemsAt(await one.call("reset", {}, `?confirm=${"1".repeat(257)}`), "?confirm");
    expectProblemsAt(await one.call("reset", {}, "?dry_run=yes"), "?dry_run");
    expect(await one.spent()).toBe("0.02");
  });

  test("of one subject does not confirm another one or all", async () => {
    const budget = await budgetWith({ scope: "api_key", each: true });
    const [ann, ben] = [
      await seedKey(gatehouse, budget.gateway, { name: "ann" }),
      await seedKey(gatehouse, budget.gateway, { name: "ben" }),
    ];
    await budget.spend(2, ann.key);
    await budget.spend(2, ben.key);
    const plan = (await budget.call("reset", { subject: ann.id })).body;
    expect(plan.losses).toEqual({ budget_spent_usd: "0.02" });
    for (const body of [{ subject: ben.id }, {}])
      expectError(await budget.call("reset", body, `?confirm=${plan.confirm}`), 409, "confirmation_required");
    await budget.call("reset", { subject: ann.id }, `?confirm=${plan.confirm}`);
    expect((await budget.call("reset")).body.losses).toEqual({ budget_spent_usd: "0.02" });
    expectProblemsAt(await budget.call("adjust", { amount: "1" }), "subject");
    expectProblemsAt(await budget.call("reset", { subject: "nobody" }), "subject");
  });

  test("of tokens shows tokens", async () => {
    const { call } = await budgetWith({ unit: "tokens", amount: 1000 });
    await call("adjust", { amount: 40 });
    expect((await call("reset")).body.losses).toEqual({ budget_spent_tokens: 40 });
  });

  test("is not asked for where nothing recorded is lost: configuration and kept responses", async () => {
    const { gateway, at, spend } = await budgetWith();
    await spend(1);
    expect((await gatehouse.api("DELETE", `/gateways/${gateway}/cache`)).status).toBe(204);
    expect((await gatehouse.api("DELETE", at)).status).toBe(204);
    expect((await gatehouse.api("DELETE", `/gateways/${gateway}?cascade=true`)).status).toBe(204);
  });
});
