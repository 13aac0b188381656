// Prices with all their parts: which list applies, what a request costs, and that a model without a price costs null.
import { describe, expect, test } from "bun:test";
import { create, expectProblemsAt } from "../support/admin-fixtures.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { totalAfter, usageReport } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);

const routeTo = (target: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, { upstream: { targets: [targetAt(provider, target)] } });

const chat = async (route: SeededRoute, body: object, usage: object | null = null) => {
  if (usage !== null)
    provider.behave({
      // In the formats of both providers.
      body: JSON.stringify({ object: "chat.completion", choices: [], type: "message", content: [], usage }),
      headers: [["Content-Type", "application/json"]],
    });
  const response = await postChat(gatehouse, route, { body: { ...CHAT, ...body } });
  expect(response.status).toBe(200);
  return response.text();
};

const lastRequest = (route: SeededRoute, model: string): Promise<ApiResponse["body"]> =>
  waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests?limit=10`);
    return body.requests.find((each: { model: string }) => each.model === model) ?? null;
  });

describe("the price of a model", () => {
  test("is the gateway's, then the installation's, then the built-in one", async () => {
    const price = (model: string, input: string) => ({ model, input, output: "0" });
    await gatehouse.api("PUT", "/prices", { prices: [price("gpt-4o-mini", "2"), price("own-b", "3")] });
    const route = await routeTo();
    provider.behave({ usage: { input: 1000, output: 0 } });
    const costs = async () => {
      const found: unknown[] = [];
      for (const model of ["own-b", "gpt-4o-mini", "gpt-4o", "nothing-has-this"]) {
        await chat(route, { model });
        found.push((await lastRequest(route, model)).cost);
      }
      return found;
    };
    expect(await costs()).toEqual([0.003, 0.002, 0.0025, null]);
    const prices = [price("own*", "7")];
    const changed = await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { prices });
    expect([changed.status, changed.body.prices]).toEqual([200, prices]);
    expect(await costs()).toEqual([0.007, 0.002, 0.0025, null]);
    const other = await routeTo();
    await chat(other, { model: "own-b" });
    expect((await lastRequest(other, "own-b")).cost).toBe(0.003);
    await gatehouse.api("DELETE", "/prices");
  });

  test("is validated field by field", async () => {
    const put = (price: object) => gatehouse.api("PUT", "/prices", { prices: [{ model: "m", ...price }] });
    expectProblemsAt(await put({}), "prices[0].input");
    expectProblemsAt(await put({ cached_input: "1" }), "prices[0].input");
    expectProblemsAt(await put({ input: "-1" }), "prices[0].input");
    expectProblemsAt(await put({ input: "1e3" }), "prices[0].input");
    expectProblemsAt(await put({ input: "1.0000000001" }), "prices[0].input");
    expectProblemsAt(await put({ input: "1000000.1" }), "prices[0].input");
    expectProblemsAt(await put({ input: -1 }), "prices[0].input");
    // A number below the last decimal place must not become a price of 0.
    expectProblemsAt(await put({ input: 1e-10 }), "prices[0].input");
    expectProblemsAt(await put({ input: "1", input_per_million: 1 }), "prices[0].input_per_million");
    expectProblemsAt(await put({ input: "1", above: { input: "2" } }), "prices[0].above.tokens");
    expectProblemsAt(await put({ input: "1", above: { tokens: 5, inptu: "2" } }), "prices[0].above.inptu");
    expectProblemsAt(await put({ input: "1", context_window: 0 }), "prices[0].context_window");
    const id = await create(gatehouse, "/gateways", { name: "with prices" });
    const patch = await gatehouse.api("PATCH", `/gateways/${id.id}`, { prices: [{ model: "m" }] });
    expectProblemsAt(patch, "prices[0].input");
  });

  test("is shown as it was written, with all its parts; a number becomes a decimal string", async () => {
    const whole = {
      ...{ model: "m", input: "2.50", output: "10", cached_input: "0.25", cache_write_5m: "3" },
      ...{ cache_write_1h: "5", reasoning: "11", audio_input: "40", audio_output: "80", per_request: "0.01" },
      above: { tokens: 200_000, input: "5", output: "20" },
      ...{ context_window: 400_000, max_output_tokens: 128_000 },
    };
    const old = { model: "old", input_per_million: 0.15, output_per_million: 0.6 };
    const put = await gatehouse.api("PUT", "/prices", {
      prices: [whole, old, { model: "number", input: 0.075 }],
    });
    expect(put.body.prices).toEqual([whole, old, { model: "number", input: "0.075" }]);
    await gatehouse.api("DELETE", "/prices");
  });

  test("of the built-in list has a date and sources, also while the installation has its own", async () => {
    const { body: active } = await gatehouse.api("GET", "/prices");
    await gatehouse.api("PUT", "/prices", { prices: [{ model: "m", input: "1" }] });
    const { status, body } = await gatehouse.api("GET", "/prices/builtin");
    expect([status, body.prices]).toEqual([200, active.prices]);
    expect(body.date).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(body.sources).toContain("https://platform.claude.com/docs/en/about-claude/pricing");
    await gatehouse.api("DELETE", "/prices");
  });

  test("is applied once from a document, numbers included, and shown in the diff of its revision", async () => {
    const prices = [{ model: "m", input: 0.1, cached_input: "0.01", above: { tokens: 5, input: 0.2 } }];
    const apply = async () => (await gatehouse.api("POST", "/apply", { gateways: [], prices })).body;
    expect((await apply()).changes[0].action).toBe("create");
    const again = await apply();
    expect(again.changes[0].action).toBe("none");
    const dearer = [{ ...prices[0], cached_input: "0.02" }];
    await gatehouse.api("POST", "/apply", { gateways: [], prices: dearer });
    const { body } = await gatehouse.api("GET", `/revisions/${Number(again.revision) + 1}`);
    expect(body.diff).toEqual([{ path: "prices[0].cached_input", before: "0.01", after: "0.02" }]);
    await gatehouse.api("POST", `/revisions/${again.revision}/rollback`);
    expect((await gatehouse.api("GET", "/prices")).body.prices[0]).toEqual({
      ...{ model: "m", input: "0.1", cached_input: "0.01" },
      above: { tokens: 5, input: "0.2" },
    });
    expectProblemsAt(
      await gatehouse.api("POST", "/apply", { gateways: [], prices: [{ model: "m", input: "x" }] }),
      "prices[0].input",
    );
    await gatehouse.api("DELETE", "/prices");
  });

  test("of a gateway is exported, applied without a change, and rolled back", async () => {
    const prices = [{ model: "m", input: "0.1", above: { tokens: 5, input: "0.2" } }];
    const { id } = await create(gatehouse, "/gateways", { name: "priced", prices });
    const { body: document } = await gatehouse.api("GET", "/export", undefined, {
      Accept: "application/json",
    });
    const found = document.gateways.find((each: { name: string }) => each.name === "priced");
    expect(found.prices).toEqual(prices);
    const applied = await gatehouse.api("POST", "/apply", { gateways: [found] });
    expect(applied.body.changes.map((each: { action: string }) => each.action)).toEqual(["none"]);
    const { revision } = applied.body;
    await gatehouse.api("PATCH", `/gateways/${id}`, { prices: [{ model: "m", input: "9" }] });
    await gatehouse.api("POST", `/revisions/${revision}/rollback`);
    expect((await gatehouse.api("GET", `/gateways/${id}`)).body.prices).toEqual(prices);
  });
});

describe("the cost of a request", () => {
  test("counts cached input and reasoning of OpenAI once, at their own prices", async () => {
    const prices = [{ model: "m-openai", input: "1.25", output: "10", cached_input: "0.125" }];
    const route = await routeTo();
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { prices });
    await chat(
      route,
      { model: "m-openai" },
      {
        prompt_tokens: 2006,
        completion_tokens: 300,
        total_tokens: 2306,
        prompt_tokens_details: { cached_tokens: 1920 },
        completion_tokens_details: { reasoning_tokens: 192 },
      },
    );
    expect(await lastRequest(route, "m-openai")).toMatchObject({
      tokens: { input: 2006, output: 300, cached_input: 1920, reasoning: 192 },
      cost: 0.0033475,
    });
    expect(await totalAfter(gatehouse, route, 1)).toMatchObject({ cost: 0.0033475, unpriced_requests: 0 });
  });

  test("counts cache reads and writes of Anthropic once, at their own prices", async () => {
    const price = {
      input: "3",
      output: "15",
      cached_input: "0.30",
      cache_write_5m: "3.75",
      cache_write_1h: "6",
    };
    const route = await routeTo({ provider: "anthropic", path: "/v1/messages" });
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      prices: [{ model: "m-anthropic", ...price }],
    });
    await chat(
      route,
      { model: "m-anthropic" },
      {
        input_tokens: 2048,
        cache_read_input_tokens: 1800,
        cache_creation_input_tokens: 248,
        cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
        output_tokens: 503,
      },
    );
    expect(await lastRequest(route, "m-anthropic")).toMatchObject({
      tokens: { input: 4096, output: 503, cached_input: 1800, cache_write: 248 },
      cost: 0.015384,
    });
  });

  test("adds up without a floating-point error", async () => {
    const route = await routeTo();
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      prices: [{ model: "tenth", per_request: "0.1" }],
    });
    for (let sent = 0; sent < 3; sent++) await chat(route, { model: "tenth" });
    expect((await totalAfter(gatehouse, route, 3)).cost).toBe(0.3);
  });

  test("of a price per request needs no tokens; errors cost nothing", async () => {
    const route = await routeTo();
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      prices: [{ model: "flat", per_request: "0.01" }],
    });
    await chat(route, { model: "flat" }, {});
    provider.behave({ status: 400 });
    await (await postChat(gatehouse, route, { body: { ...CHAT, model: "flat" } })).text();
    provider.behave({});
    await chat(route, { model: "flat" });
    expect(await totalAfter(gatehouse, route, 2)).toMatchObject({ requests: 2, cost: 0.02 });
  });
});

describe("a body that is not declared as JSON", () => {
  const sendTo = async (end: string, body: FormData | string) => {
    const route = await seedRoute(gatehouse, {
      gateway: { prices: [{ model: "m-form", input: "1", audio_input: "40", output: "10" }] },
      upstream: { targets: [targetAt(provider)] },
      rule: { path: `/${crypto.randomUUID()}/*`, operations: ["files"] },
    });
    const usage = { input_tokens: 14, input_token_details: { audio_tokens: 10 }, output_tokens: 45 };
    provider.behave({
      body: JSON.stringify({ text: "Good morning", usage }),
      headers: [["Content-Type", "application/json"]],
    });
    const url = gatehouse.proxyUrl + route.path.replace("*", end);
    const response = await fetch(url, { method: "POST", body });
    expect([response.status, await response.json()]).toMatchObject([200, { text: "Good morning" }]);
    return route;
  };
  const form = (size: number) => {
    const data = new FormData();
    data.set("file", new File([new Uint8Array(size)], "a.mp3"));
    data.set("model", "m-form");
    return data;
  };

  test.each<[string, string, FormData | string]>([
    ["a form with audio", "v1/audio/transcriptions", form(1000)],
    ["a form that takes long to read", "v1/images/edits", form(900_000)],
    ["JSON as text", "v1/embeddings", '{"model":"m-form","input":"Good morning"}'],
  ])("is charged with the price of its model: %s", async (_, end, body) => {
    const route = await sendTo(end, body);
    expect(await lastRequest(route, "m-form")).toMatchObject({ cost: 0.000854, requested_model: "m-form" });
    const { usage } = await usageReport(gatehouse, route, "?group_by=model");
    expect(usage).toMatchObject([{ model: "m-form", requests: 1, unpriced_requests: 0, cost: 0.000854 }]);
  });
});

describe("a model without a price", () => {
  test("costs null, never 0, and its requests are counted as unpriced", async () => {
    const route = await routeTo();
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, {
      prices: [{ model: "free", input: "0", output: "0" }],
    });
    provider.behave({ usage: { input: 11, output: 7 } });
    for (const model of ["nobody-prices-this", "nobody-prices-this", "free"]) await chat(route, { model });
    await totalAfter(gatehouse, route, 3);
    const { usage, total } = await usageReport(gatehouse, route, "?group_by=model");
    expect(usage).toMatchObject([
      { model: "free", requests: 1, unpriced_requests: 0, cost: 0 },
      { model: "nobody-prices-this", requests: 2, unpriced_requests: 2, cost: null },
    ]);
    expect(total).toMatchObject({ requests: 3, unpriced_requests: 2, cost: 0 });
    expect((await lastRequest(route, "nobody-prices-this")).cost).toBeNull();
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const metric = new RegExp(
      `^gatehouse_unpriced_requests_total\\{.*model="nobody-prices-this".*\\} 2$`,
      "m",
    );
    expect(text).toMatch(metric);
    expect(text).not.toMatch(/^gatehouse_cost_dollars_total\{.*nobody-prices-this/m);
    const traffic = await gatehouse.api("GET", `/traffic?gateway_id=${route.gateway}`);
    const sum = (name: string) =>
      traffic.body.points.reduce((all: number, point: Record<string, number>) => all + (point[name] ?? 0), 0);
    expect(sum("unpriced_requests")).toBe(2);
  });
});
