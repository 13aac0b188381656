// Budgets: what counts, what is rejected, exactness under concurrency, settlement, periods, subjects, warnings, and state.
import { describe, expect, test } from "bun:test";
import { omit } from "../../src/model/record.ts";
import { confirmed } from "../support/confirmed.ts";
import { create, expectError, expectProblemsAt } from "../support/admin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { connectRaw } from "../support/raw-client.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { runs } from "../support/long-form.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const [gatehouse, provider, hooks] = await Promise.all([
  useGatehouse(),
  useFakeProvider(),
  useFakeProvider(),
]);

const PER_REQUEST = [{ model: "gpt-fake", per_request: "0.01" }];
const PER_TOKEN = [{ model: "gpt-fake", input: "1", output: "10" }];

interface Setup {
  readonly prices?: readonly object[];
  readonly gateway?: Record<string, unknown>;
  readonly target?: Record<string, unknown>;
  readonly upstream?: Record<string, unknown>;
  readonly rule?: Record<string, unknown>;
}

async function routeWith(
  budget: Record<string, unknown>,
  { prices = PER_REQUEST, gateway = {}, target = {}, upstream = {}, rule = {} }: Setup = {},
): Promise<{ route: SeededRoute; id: string }> {
  const route = await seedRoute(gatehouse, {
    gateway: { prices, ...gateway },
    upstream: { targets: [targetAt(provider, target)], ...upstream },
    rule,
  });
  const { id } = await addBudget(route, budget);
  return { route, id };
}

const addBudget = (route: SeededRoute, budget: Record<string, unknown>) =>
  create(gatehouse, `/gateways/${route.gateway}/budgets`, {
    name: "team",
    unit: "usd",
    amount: "1",
    ...budget,
  });

const send = (
  route: SeededRoute,
  { body = {}, headers = {}, key }: { body?: object; headers?: Record<string, string>; key?: string } = {},
) =>
  fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(key !== undefined && { "X-GW-API-Key": key }),
      ...headers,
    },
    body: JSON.stringify({ ...CHAT, ...body }),
  });

const sendAndRead = async (...call: Parameters<typeof send>): Promise<Response> => {
  const response = await send(...call);
  await response.clone().text();
  return response;
};

const stateOf = async (route: SeededRoute, id: string) =>
  (await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`)).body;

/** Waits until no request holds a reservation. */
const settled = (route: SeededRoute, id: string) =>
  waitFor(async () => {
    const state = await stateOf(route, id);
    return Number(state.reserved) === 0 ? state : null;
  });

/** Requests at once, of which a hundred fit. */
const MANY = runs({ short: 400, long: 10_000 });

describe("a budget in dollars", () => {
  test(`of $1.00 at $0.01 per request lets exactly 100 of ${MANY} requests reach the provider, 200 at a time`, async () => {
    const { route, id } = await routeWith({ amount: "1.00" });
    const statuses = new Map<number, number>();
    const worker = async (count: number) => {
      for (let done = 0; done < count; done++) {
        const { status } = await sendAndRead(route);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 200 }, () => worker(MANY / 200)));
    expect(Object.fromEntries(statuses)).toEqual({ 200: 100, 402: MANY - 100 });
    expect(provider.requests).toHaveLength(100);
    expect(await settled(route, id)).toMatchObject({ spent: "1.00", reserved: "0.00", remaining: "0.00" });
  }, 60_000);

  test.each<[string, Record<string, unknown>]>([
    ["in dollars", { amount: "0.001" }],
    ["in tokens", { unit: "tokens", amount: 100 }],
  ])("%s that is exhausted rejects files, whose input is not known before", async (_, budget) => {
    const prices = [{ model: "gpt-fake", input: "1000" }];
    const { route, id } = await routeWith(budget, { prices, rule: { path: `/${crypto.randomUUID()}/*` } });
    provider.behave({ usage: { input: 1000, output: 0 } });
    const url = gatehouse.proxyUrl + route.path.replace("*", "v1/audio/transcriptions");
    const upload = async () => {
      const form = new FormData();
      form.set("model", "gpt-fake");
      form.set("file", new File(["audio"], "a.mp3"));
      const response = await fetch(url, { method: "POST", body: form });
      await response.text();
      return response.status;
    };
    expect([await upload(), await upload()]).toEqual([200, 402]);
    expect(Number((await settled(route, id)).reserved)).toBe(0);
  });

  test.each<[string, Record<string, unknown>, number, string]>([
    ["a token per 1,000 bytes of a file", { amount: "1" }, 100_000, "0.899"],
    ["at most a quarter for a file", { amount: "1" }, 1_000_000, "0.75"],
    ["its tokens and the usual output", { unit: "tokens", amount: 10_000 }, 100_000, "8899"],
  ])("reserves %s", async (_, budget, size, remaining) => {
    const prices = [{ model: "gpt-fake", input: "1000" }];
    const { route, id } = await routeWith(budget, { prices, rule: { path: `/${crypto.randomUUID()}/*` } });
    provider.behave({ usage: { input: 50, output: 0 } });
    const form = new FormData();
    form.set("model", "gpt-fake");
    form.set("file", new File([new Uint8Array(size)], "a.mp3"));
    const url = gatehouse.proxyUrl + route.path.replace("*", "v1/audio/transcriptions");
    const response = await fetch(url, { method: "POST", body: form });
    await response.bytes();
    expect(response.headers.get("x-gw-budget-remaining")).toBe(`team=${remaining}`);
    expect(Number((await settled(route, id)).spent)).toBe("unit" in budget ? 50 : 0.05);
  });

  test("rejects with 402, its name and the start of the next period, and tells SDKs not to retry", async () => {
    const { route } = await routeWith({ amount: "0.005", period: "day", timezone: "Europe/Berlin" });
    const response = await send(route);
    const body = (await response.json()) as { resets_at: string };
    expect(response.status).toBe(402);
    expect(body).toMatchObject({ code: "budget_exceeded", budget: "team" });
    expect(Date.parse(body.resets_at)).toBeGreaterThan(Date.now());
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("x-gw-budget-remaining")).toBe("team=0.005");
    expect(provider.requests).toHaveLength(0);
  });

  test("shows what remains in X-GW-Budget-Remaining, one entry per budget", async () => {
    const { route } = await routeWith({ amount: "12.35" });
    await addBudget(route, { name: "tokens", unit: "tokens", amount: 1000 });
    const response = await sendAndRead(route, { body: { max_tokens: 10 } });
    expect(response.headers.get("x-gw-budget-remaining")).toMatch(/^team=12\.34, tokens=9\d\d$/);
  });

  test("is settled with the usage of the provider, and what was reserved too much is returned", async () => {
    const { route, id } = await routeWith({ amount: "1" }, { prices: PER_TOKEN });
    provider.behave({ usage: { input: 1000, output: 100 } });
    const response = await sendAndRead(route, { body: { max_tokens: 50_000 } });
    // 50,000 tokens at $10 per million are $0.50.
    expect(Number(response.headers.get("x-gw-budget-remaining")?.slice(5))).toBeLessThan(0.5);
    expect(await settled(route, id)).toMatchObject({ spent: "0.002", remaining: "0.998" });
  });

  /** Sends the head of a request and one byte of its body. Resolves to the response, or null if the gateway waits for the rest. */
  const sendHead = async (route: SeededRoute, rest: string) => {
    const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
    const body = JSON.stringify(CHAT);
    const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    client.send(`POST ${route.path} HTTP/1.1\r\n${head}${body.slice(0, 1)}`);
    if (rest !== "") client.send(rest);
    const text = await client.until((received) => received.includes("\r\n\r\n"));
    client.disconnect();
    return text;
  };

  test("that is used up rejects before the body has arrived, in the same way, unless a model is free", async () => {
    for (const budget of [{ amount: "0.01" }, { unit: "tokens", amount: 5 }]) {
      const { route, id } = await routeWith(budget);
      provider.behave({ usage: { input: 3, output: 2 } });
      await confirmed(gatehouse, `/gateways/${route.gateway}/budgets/${id}/adjust`, {
        amount: budget.amount,
      });
      const early = await sendHead(route, "");
      const late = await send(route);
      expect(early).toStartWith("HTTP/1.1 402 ");
      expect(early.toLowerCase()).toContain("x-should-retry: false");
      expect(late.status).toBe(402);
      expect(early.toLowerCase()).toContain(
        `x-gw-budget-remaining: ${late.headers.get("x-gw-budget-remaining")}`,
      );
      const reset = await confirmed(gatehouse, `/gateways/${route.gateway}/budgets/${id}/reset`, {});
      expect(reset.status).toBe(200);
    }
    expect(provider.requests).toHaveLength(0);
    const { route, id } = await routeWith(
      { amount: "0.01" },
      { prices: [{ model: "gpt-fake", input: "0", output: "0" }] },
    );
    await confirmed(gatehouse, `/gateways/${route.gateway}/budgets/${id}/adjust`, { amount: "0.01" });
    expect(await sendHead(route, JSON.stringify(CHAT).slice(1))).toStartWith("HTTP/1.1 200 ");
  });

  test("returns everything if the provider rejects the request or cannot be reached", async () => {
    const { route, id } = await routeWith({ amount: "1" });
    provider.behave({ status: 400 });
    expect((await sendAndRead(route)).status).toBe(400);
    expect(await settled(route, id)).toMatchObject({ spent: "0.00", remaining: "1.00" });
    const unreachable = await routeWith({ amount: "1" }, { target: { base_url: "http://127.0.0.1:1" } });
    expect((await sendAndRead(unreachable.route)).status).toBe(502);
    expect(await settled(unreachable.route, unreachable.id)).toMatchObject({ spent: "0.00" });
  });

  test("charges a client that disconnects before the response of the provider", async () => {
    const { route, id } = await routeWith({ amount: "1" });
    provider.behave({ delayMs: 60_000 });
    const abort = new AbortController();
    const request = fetch(gatehouse.proxyUrl + route.path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(CHAT),
      signal: abort.signal,
    }).catch(() => null);
    await waitUntil(() => provider.requests.length === 1);
    abort.abort();
    await request;
    expect(await settled(route, id)).toMatchObject({ spent: "0.01" });
  });

  test("charges a stream that was cut or whose client disconnected with its input and the text that was relayed", async () => {
    const request = { ...CHAT, stream: true, max_tokens: 10_000 };
    for (const [behavior, isAborted] of [
      [{ chunks: 50, cutAfterChunks: 4 }, false],
      [{ chunks: 50, stallAfterChunks: 4 }, true],
    ] as const) {
      const { route, id } = await routeWith({ amount: "1" }, { prices: PER_TOKEN });
      provider.behave(behavior);
      const abort = new AbortController();
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(request),
        signal: abort.signal,
      });
      const reader = response.body!.getReader();
      await reader.read();
      if (isAborted) abort.abort();
      await reader.closed.catch(() => undefined);
      const { spent } = await settled(route, id);
      // The input costs $0.000009; $0.1 were reserved for the output.
      expect(Number(spent)).toBeWithin(0.000009, 0.0001);
    }
  });

  test("rejects a model without a price, unless on_unknown_price is free or the budget only warns", async () => {
    const { route, id } = await routeWith({});
    const other = { body: { model: "nothing-has-this" } };
    const response = await send(route, other);
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({ code: "price_unknown", budget: "team" });
    expect(provider.requests).toHaveLength(0);
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    await gatehouse.api("PATCH", at, { on_unknown_price: "free" });
    expect((await sendAndRead(route, other)).status).toBe(200);
    await gatehouse.api("PATCH", at, { on_unknown_price: "refuse", mode: "warn" });
    expect((await sendAndRead(route, other)).status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ spent: "0.00" });
  });

  test("rejects a request that names several models, of which a cheap one could be charged", async () => {
    const { route } = await routeWith({}, { target: { path: "" } });
    const url = gatehouse.proxyUrl + route.path;
    const post = (query: string, body: object) =>
      fetch(url + query, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...CHAT, ...body }),
      });
    for (const [query, body] of [
      ["?model=dear", {}],
      ["?deployment=dear", {}],
      ["", { models: ["dear"] }],
      ["", { fallbacks: ["gpt-fake", "dear"] }],
      ["", { Model: "dear" }],
    ] as const) {
      const response = await post(query, body);
      expect([query, body, response.status]).toEqual([query, body, 400]);
      await response.bytes();
    }
    expect(provider.requests).toHaveLength(0);
    const same = await post("?model=gpt-fake", { models: ["gpt-fake"] });
    expect(same.status).toBe(200);
    await same.bytes();
  });

  test("charges JSON that is declared as a form for the model that it names", async () => {
    const { route, id } = await routeWith({ models: ["gpt-fake"], on_unknown_price: "free" });
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    expect((await send(route, { headers })).status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ spent: "0.01" });
  });

  test("rejects a path that names another model, after requests to other paths of the same target", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { prices: PER_REQUEST },
      upstream: { targets: [targetAt(provider, { path: "" })] },
      rule: { path: "/several-paths/*", strip_path: true },
    });
    await addBudget(route, {});
    for (const [path, status] of [
      ["/v1/chat/completions", 200],
      ["/deployments/dear/chat/completions", 400],
      ["/v1/chat/completions", 200],
      ["/deployments/gpt-fake/chat/completions", 200],
      ["/deployments/dear/chat/completions", 400],
    ] as const) {
      const response = await sendAndRead({ ...route, path: `/several-paths${path}` });
      expect([path, response.status]).toEqual([path, status]);
    }
  });

  test("charges the model in the path for a body that names none", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { prices: PER_REQUEST },
      upstream: { targets: [targetAt(provider, { path: "" })] },
      rule: { path: "/deployed/*", strip_path: true },
    });
    const { id } = await addBudget(route, { on_unknown_price: "free", models: ["gpt-*"] });
    const at = { ...route, path: "/deployed/deployments/gpt-fake/chat/completions" };
    expect((await sendAndRead(at, { body: { model: undefined } })).status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ spent: "0.01" });
  });

  test.each(["/v1/batches", "/v1/fine_tuning/jobs"])(
    "has no price for %s, whatever model the body names",
    async (path) => {
      const route = await seedRoute(gatehouse, {
        gateway: { prices: PER_REQUEST },
        upstream: { targets: [targetAt(provider, { path: "" })] },
        rule: { path: `/jobs${path}/*`, strip_path: true },
      });
      const { id } = await addBudget(route, {});
      const at = `/gateways/${route.gateway}/upstreams/${route.upstream}`;
      for (const target of [{ path }, { path, default_model: "gpt-fake" }]) {
        await gatehouse.api("PATCH", at, { targets: [targetAt(provider, target)] });
        const rejected = await sendAndRead({ ...route, path: `/jobs${path}` });
        expect([rejected.status, await rejected.json()]).toEqual([
          402,
          expect.objectContaining({ code: "price_unknown" }),
        ]);
      }
      await gatehouse.api("PATCH", `/gateways/${route.gateway}/budgets/${id}`, { on_unknown_price: "free" });
      await sendAndRead({ ...route, path: `/jobs${path}` });
      expect(provider.requests).toHaveLength(1);
    },
  );

  test("charges a form for the model that it names", async () => {
    const { route, id } = await routeWith({}, { target: { path: "/v1/audio/transcriptions" } });
    const form = new FormData();
    form.set("model", "gpt-fake");
    form.set("file", new Blob(["sound"]), "a.wav");
    const response = await fetch(gatehouse.proxyUrl + route.path, { method: "POST", body: form });
    await response.bytes();
    expect(response.status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ spent: "0.01" });
  });

  test("counts a request whose path looks like one without cost if the target has its own path", async () => {
    const { route, id } = await routeWith({});
    const upstream = (await gatehouse.api("GET", `/gateways/${route.gateway}/upstreams`)).body.upstreams[0];
    const service = (await gatehouse.api("GET", `/gateways/${route.gateway}/services`)).body.services[0];
    const targets = [targetAt(provider, { path: "/v1/chat/completions" })];
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/upstreams/${upstream.id}`, { targets });
    const path = `${route.path}-any`;
    await create(gatehouse, `/gateways/${route.gateway}/rules`, {
      service_id: service.id,
      path: `${path}/*`,
      methods: ["POST"],
    });
    for (const end of ["files", "batches", "models"])
      expect((await sendAndRead({ ...route, path: `${path}/${end}` })).status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ spent: "0.03" });
  });

  test("does not concern requests that run no model", async () => {
    const { route } = await routeWith({ amount: "0" });
    const models = await fetch(`${gatehouse.proxyUrl}/v1/models`, { headers: { Host: "localhost" } });
    expect(models.status).not.toBe(402);
    expect((await send(route)).status).toBe(402);
  });
});

test.each([
  ["usd", "1,5", 'must be a decimal such as "25.00", or a whole number of tokens'],
  ["usd", "1000001", "must be at most 1000000 dollars"],
  ["usd", 1e21, "must be at most 1000000 dollars, with at most 9 decimal places"],
  ["tokens", "a lot", 'must be a decimal such as "25.00", or a whole number of tokens'],
  ["tokens", "1.5", "must be a whole number of tokens"],
])("an amount in %s of %p has one problem", async (unit, amount, message) => {
  const { route } = await routeWith({ amount: "1" });
  const budget = { name: "wrong", unit, amount, scope: "gateway" };
  const response = await gatehouse.api("POST", `/gateways/${route.gateway}/budgets`, budget);
  expect(response.body.details).toEqual([{ path: "amount", message }]);
});

test("a budget in dollars reserves limited output at the dearest price that it may have", async () => {
  const prices = [{ model: "gpt-fake", input: "0", output: "1", reasoning: "1000" }];
  const { route } = await routeWith({ amount: "1" }, { prices });
  expect((await send(route, { body: { max_tokens: 1001 } })).status).toBe(402);
  expect((await sendAndRead(route, { body: { max_tokens: 1000 } })).status).toBe(200);
});

describe("a budget in tokens", () => {
  test("reserves the estimated input and max_tokens times n, and is settled with the usage", async () => {
    const { route, id } = await routeWith({ unit: "tokens", amount: 1000 });
    expect((await send(route, { body: { max_tokens: 400, n: 3 } })).status).toBe(402);
    provider.behave({ usage: { input: 30, output: 70 } });
    expect((await sendAndRead(route, { body: { max_tokens: 900 } })).status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ amount: 1000, spent: 100, remaining: 900 });
  });

  test("reserves at most a quarter of its amount for the output of a request without max_tokens", async () => {
    const { route } = await routeWith({ unit: "tokens", amount: 400 });
    const response = await sendAndRead(route);
    expect(response.status).toBe(200);
    expect(Number(response.headers.get("x-gw-budget-remaining")?.slice(5))).toBeGreaterThan(250);
  });
});

describe("the scope of a budget", () => {
  const TIGHT = { amount: "0.01" };
  const spend = async (route: SeededRoute, ...calls: NonNullable<Parameters<typeof send>[1]>[]) => {
    const statuses: number[] = [];
    for (const call of calls) statuses.push((await sendAndRead(route, call)).status);
    return statuses;
  };

  test("is one API key by id or name, or each of them", async () => {
    const { route, id } = await routeWith({ ...TIGHT, scope: "api_key", value: "mobile" });
    const mobile = await seedKey(gatehouse, route.gateway, { name: "mobile" });
    const other = await seedKey(gatehouse, route.gateway, { name: "other" });
    const calls = [{ key: mobile.key }, { key: mobile.key }, { key: other.key }, { key: other.key }];
    expect(await spend(route, ...calls)).toEqual([200, 402, 200, 200]);
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    await gatehouse.api("PATCH", at, { value: null, each: true });
    expect(await spend(route, ...calls)).toEqual([200, 402, 200, 402]);
    const { top_spenders } = await stateOf(route, id);
    expect(top_spenders).toEqual(
      expect.arrayContaining([{ subject: mobile.id, name: "mobile", spent: "0.01", reserved: "0.00" }]),
    );
  });

  test("is one value of a label, or each of them; keys without the label do not count", async () => {
    const { route, id } = await routeWith({ ...TIGHT, scope: "label", label: "team", value: "search" });
    const search = await seedKey(gatehouse, route.gateway, { labels: { team: "search" } });
    const ads = await seedKey(gatehouse, route.gateway, { labels: { team: "ads" } });
    const none = await seedKey(gatehouse, route.gateway);
    const calls = [search, search, ads, ads, none, none].map(({ key }) => ({ key }));
    expect(await spend(route, ...calls)).toEqual([200, 402, 200, 200, 200, 200]);
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/budgets/${id}`, { value: null, each: true });
    expect(await spend(route, ...calls)).toEqual([200, 402, 200, 402, 200, 200]);
  });

  test("is changed by its name, whatever characters that has", async () => {
    const { route, id } = await routeWith({ ...TIGHT, scope: "label", label: "team", each: true });
    const { key } = await seedKey(gatehouse, route.gateway, { labels: { team: "søk" } });
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    await confirmed(gatehouse, `${at}/adjust`, { subject: "søk", amount: "0.01" });
    expect(await spend(route, { key })).toEqual([402]);
    await confirmed(gatehouse, `${at}/reset`, { subject: "søk" });
    expect(await spend(route, { key })).toEqual([200]);
    expect(await settled(route, id)).toMatchObject({ spent: "0.01" });
  });

  test("is each pair of API key and user, or with trust_user_header each X-User-ID", async () => {
    const { route } = await routeWith({ ...TIGHT, scope: "user", each: true });
    const one = await seedKey(gatehouse, route.gateway);
    const two = await seedKey(gatehouse, route.gateway);
    const ana = { "X-User-ID": "ana" };
    const calls = [
      { key: one.key, headers: ana },
      { key: one.key, headers: ana },
      { key: two.key, headers: ana },
      { key: one.key, body: { user: "ben" } },
    ];
    expect(await spend(route, ...calls)).toEqual([200, 402, 200, 200]);
    await gatehouse.api("PATCH", `/gateways/${route.gateway}`, { trust_user_header: true });
    expect(await spend(route, ...calls.slice(0, 3))).toEqual([200, 402, 402]);
  });

  test("is one user id, with an amount for each API key that sends it, which can be read and changed", async () => {
    const { route, id } = await routeWith({ ...TIGHT, scope: "user", value: "ana" });
    const one = await seedKey(gatehouse, route.gateway);
    const two = await seedKey(gatehouse, route.gateway);
    const headers = { "X-User-ID": "ana" };
    const calls = [
      { key: one.key, headers },
      { key: one.key, headers },
      { key: two.key, headers },
    ];
    expect(await spend(route, ...calls, { key: one.key, body: { user: "ben" } })).toEqual([
      200, 402, 200, 200,
    ]);
    const subjects = [`${one.id}/ana`, `${two.id}/ana`];
    const state = await settled(route, id);
    expect(state).toMatchObject({ spent: "0.02", remaining: null });
    expect(state.top_spenders.map(({ subject }: { subject: string }) => subject).sort()).toEqual(
      subjects.sort(),
    );
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    await confirmed(gatehouse, `${at}/adjust`, { subject: `${one.id}/ana`, amount: "-0.01" });
    expect(await spend(route, ...calls)).toEqual([200, 402, 402]);
    for (const body of [undefined, "", {}]) {
      const headers = body === "" ? { "Content-Type": "application/x-www-form-urlencoded" } : {};
      await confirmed(gatehouse, `${at}/reset`, body, headers);
      expect(await spend(route, ...calls)).toEqual([200, 402, 200]);
    }
  });

  test("has the name of an API key that was deleted", async () => {
    const { route, id } = await routeWith({ ...TIGHT, scope: "api_key", each: true });
    const key = await seedKey(gatehouse, route.gateway, { name: "retired" });
    expect(await spend(route, { key: key.key })).toEqual([200]);
    await settled(route, id);
    expect((await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`)).status).toBe(204);
    expect((await stateOf(route, id)).top_spenders).toMatchObject([{ subject: key.id, name: "retired" }]);
  });

  test("is changed for one subject only if requests can have it", async () => {
    const { route, id } = await routeWith({ ...TIGHT, scope: "api_key", each: true });
    const users = await addBudget(route, { ...TIGHT, name: "users", scope: "user", each: true });
    const key = await seedKey(gatehouse, route.gateway, { name: "søk app" });
    const at = `/gateways/${route.gateway}/budgets`;
    const change = (budget: string, subject: string) =>
      confirmed(gatehouse, `${at}/${budget}/adjust`, { subject, amount: "0.01" });
    expect((await change(id, "søk app")).body.top_spenders).toMatchObject([
      { subject: key.id, name: "søk app", spent: "0.01" },
    ]);
    expect(await spend(route, { key: key.key })).toEqual([402]);
    for (const budget of [id, users.id])
      for (const subject of ["søk", "mobile", "ana/ben"]) {
        expectProblemsAt(await change(budget, subject), "subject");
        expectProblemsAt(await confirmed(gatehouse, `${at}/${budget}/reset`, { subject }), "subject");
      }
    expect(await stateOf(route, users.id)).toMatchObject({ spent: "0.00", top_spenders: [] });
    await confirmed(gatehouse, `${at}/${id}/reset`, { subject: "søk app" });
    for (const subject of [`${key.id}/ana`, "anonymous/søk", "/ana", "*"])
      expect((await change(users.id, subject)).status).toBe(200);
    expect(await spend(route, { key: key.key, body: { user: "ana" } })).toEqual([402]);
    await seedKey(gatehouse, route.gateway, { name: "søk app" });
    expectProblemsAt(await change(id, "søk app"), "subject");
  });

  test("a user in the body without an API key is not the user that a trusted header names", async () => {
    const { route } = await routeWith(
      { ...TIGHT, scope: "user", each: true },
      { gateway: { trust_user_header: true } },
    );
    const calls = [{ headers: { "X-User-ID": "ana" } }, { body: { user: "ana" } }, { body: { user: "ana" } }];
    expect(await spend(route, ...calls)).toEqual([200, 200, 402]);
  });

  test("is one model, each model, or the models of a list", async () => {
    const prices = ["a-1", "a-2", "b"].map((model) => ({ model, per_request: "0.01" }));
    const calls = ["a-1", "a-1", "a-2", "b", "b"].map((model) => ({ body: { model } }));
    const one = await routeWith({ ...TIGHT, scope: "model", value: "b" }, { prices });
    expect(await spend(one.route, ...calls)).toEqual([200, 200, 200, 200, 402]);
    const each = await routeWith({ ...TIGHT, scope: "model", each: true }, { prices });
    expect(await spend(each.route, ...calls)).toEqual([200, 402, 200, 200, 402]);
    const listed = await routeWith({ ...TIGHT, models: ["a-*"] }, { prices });
    expect(await spend(listed.route, ...calls)).toEqual([200, 402, 402, 200, 200]);
  });

  test("with several targets, the dearest model that may be used is reserved, and the one that was used is charged", async () => {
    const prices = [
      { model: "cheap", per_request: "0.01" },
      { model: "dear", per_request: "0.50" },
    ];
    const targets = [
      targetAt(provider, { default_model: "cheap", models: ["cheap"], priority: 1 }),
      targetAt(provider, { default_model: "dear", models: ["dear"], priority: 2 }),
    ];
    const { route, id } = await routeWith(
      { amount: "0.51" },
      { prices, upstream: { targets, model_routing: "prefer" } },
    );
    const first = await sendAndRead(route, { body: { model: "any" } });
    expect(first.headers.get("x-gw-budget-remaining")).toBe("team=0.01");
    expect(await settled(route, id)).toMatchObject({ spent: "0.01" });
    expect((await sendAndRead(route, { body: { model: "any" } })).status).toBe(200);
    expect((await sendAndRead(route, { body: { model: "any" } })).status).toBe(402);
  });
});

describe("warnings of a budget", () => {
  test("each share of warn_at is counted and posted to the webhook once per period, and warn rejects nothing", async () => {
    const { route, id } = await routeWith({
      amount: "0.05",
      mode: "warn",
      warn_at: [0.4, 1],
      webhook: `${hooks.url}/hook?token=x`,
    });
    for (let count = 0; count < 8; count++) expect((await sendAndRead(route)).status).toBe(200);
    expect(await settled(route, id)).toMatchObject({ spent: "0.08", remaining: "0.00" });
    await waitUntil(() => hooks.requests.length >= 2);
    const sent = hooks.requests.map(({ body }) => JSON.parse(String(body)));
    expect(sent.map(({ share }) => share).sort()).toEqual([0.4, 1]);
    expect(sent[0]).toMatchObject({ type: "budget_threshold", budget: "team", unit: "usd", amount: "0.05" });
    const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const counted = metrics.split("\n").filter((line) => line.startsWith("gatehouse_budget_warnings_total{"));
    expect(counted.filter((line) => line.endsWith(" 1")).length).toBeGreaterThanOrEqual(2);
  });

  test("a share is reported again after a reset, and for another amount", async () => {
    const { route, id } = await routeWith({
      ...{ amount: "0.02", period: "total", warn_at: [0.5, 1] },
      webhook: `${hooks.url}/again`,
    });
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    const reports = () =>
      hooks.requests.map(({ body }) => JSON.parse(String(body))).map(({ share, amount }) => [share, amount]);
    const spend = async (count: number, expected: [number, string][]) => {
      for (let sent = 0; sent < count; sent++) expect((await sendAndRead(route)).status).toBe(200);
      await settled(route, id);
      await waitUntil(() => hooks.requests.length >= expected.length);
      expect(reports().sort()).toEqual([...expected].sort());
      hooks.reset();
    };
    const both = (amount: string): [number, string][] => [
      [0.5, amount],
      [1, amount],
    ];
    await spend(2, both("0.02"));
    await confirmed(gatehouse, `${at}/reset`, {});
    await spend(2, both("0.02"));
    await gatehouse.api("PATCH", at, { amount: "0.06" });
    await spend(2, [[0.5, "0.06"]]);
    await spend(2, [[1, "0.06"]]);
  });

  test("a threshold that only settlements above their reservations reached is reported by a rejection", async () => {
    const { route, id } = await routeWith({ amount: "1", warn_at: [0.9] }, { prices: PER_TOKEN });
    provider.behave({ usage: { input: 0, output: 50_000 }, delayMs: 50 });
    // Each reserves little and costs $0.50.
    await Promise.all([1, 2].map(() => sendAndRead(route, { body: { max_tokens: 1 } })));
    await settled(route, id);
    expect((await send(route, { body: { max_tokens: 1 } })).status).toBe(402);
    const { name } = (await gatehouse.api("GET", `/gateways/${route.gateway}`)).body;
    await waitUntil(async () => {
      const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
      return metrics.includes(`gatehouse_budget_warnings_total{gateway="${String(name)}"`);
    });
  });

  test("a webhook is shown without its path, and its mask keeps it as long as it is sent to the same place", async () => {
    const { route, id } = await routeWith({
      amount: "0.02",
      warn_at: [0.5],
      webhook: `${hooks.url}/services/T0/secret-of-hook`,
    });
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    const mask = `${hooks.url}/***hook`;
    const budget = (await gatehouse.api("GET", at)).body;
    expect(budget.webhook).toBe(mask);
    expect((await gatehouse.api("PATCH", at, { amount: "0.01" })).body.webhook).toBe(mask);
    const fields = omit(budget, "id", "gateway_id", "created_at", "updated_at", "warnings");
    expect((await gatehouse.api("PUT", at, { ...fields, amount: "0.02" })).body.webhook).toBe(mask);
    const other = { webhook: "https://elsewhere.example.com/***hook" };
    expect((await gatehouse.api("PATCH", at, other)).body).toMatchObject({ code: "credential_required" });
    const created = { ...fields, name: "second", webhook: mask };
    const refused = await gatehouse.api("POST", `/gateways/${route.gateway}/budgets`, created);
    expect(refused.body).toMatchObject({ code: "validation_failed", details: [{ path: "webhook" }] });
    const changed = { webhook: `${hooks.url}/services/T1/secret-of-hook` };
    expect((await gatehouse.api("PATCH", at, changed)).status).toBe(200);

    const { name } = (await gatehouse.api("GET", `/gateways/${route.gateway}`)).body;
    const team = { name: "team", unit: "usd", amount: "0.02", warn_at: [0.5] };
    const exported = await gatehouse.api("GET", `/export?gateway_id=${route.gateway}&format=json`);
    const applied = await gatehouse.api("POST", "/apply", {
      version: 1,
      gateways: [{ name, prices: PER_REQUEST, budgets: [{ ...team, webhook: mask }] }],
    });
    expect(applied.status).toBe(200);
    const shown = [
      exported,
      applied,
      await gatehouse.api("GET", `/gateways/${route.gateway}/budgets`),
      await gatehouse.api("GET", "/revisions?limit=100"),
      await gatehouse.api("GET", `/revisions?resource_id=${id}`),
    ];
    for (const { body } of shown) expect(JSON.stringify(body)).not.toContain("/services/T");
    await sendAndRead(route);
    const [call] = await waitFor(() => (hooks.requests.length > 0 ? hooks.requests : null));
    expect(call?.target).toBe("/services/T1/secret-of-hook");
  });

  test("a webhook at a metadata or link-local address is rejected", async () => {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const budget = { name: "b", unit: "usd", amount: "1", webhook: "http://169.254.169.254/latest" };
    const response = await gatehouse.api("POST", `/gateways/${route.gateway}/budgets`, budget);
    expectError(response, 400, "validation_failed");
  });
});

describe("the state of a budget", () => {
  test("can be reset and adjusted, which the audit log records", async () => {
    const { route, id } = await routeWith({ amount: "0.02" });
    const at = `/gateways/${route.gateway}/budgets/${id}`;
    await sendAndRead(route);
    await sendAndRead(route);
    expect((await send(route)).status).toBe(402);
    expect((await confirmed(gatehouse, `${at}/reset`, {})).body).toMatchObject({ spent: "0.00" });
    expect((await sendAndRead(route)).status).toBe(200);
    const adjusted = await confirmed(gatehouse, `${at}/adjust`, { amount: "0.01" });
    expect(adjusted.body).toMatchObject({ spent: "0.02", remaining: "0.00" });
    expect((await send(route)).status).toBe(402);
    expect((await confirmed(gatehouse, `${at}/adjust`, { amount: "-5" })).body).toMatchObject({
      spent: "0.00",
    });
    const { body } = await gatehouse.api("GET", `/audit?resource=budget_state`);
    expect(body.audit_entries.length).toBeGreaterThanOrEqual(3);
  });

  test("keeps its unit: a cent is not ten million tokens", async () => {
    const { route, id } = await routeWith({ amount: "1" });
    await sendAndRead(route);
    await settled(route, id);
    const path = `/gateways/${route.gateway}/budgets/${id}`;
    const tokens = { name: "team", unit: "tokens", amount: 1000 };
    for (const response of [
      await gatehouse.api("PATCH", path, tokens),
      await gatehouse.api("PUT", path, tokens),
    ])
      expectProblemsAt(response, "unit");
    expect(await stateOf(route, id)).toMatchObject({ unit: "usd", spent: "0.01" });
  });

  test("cannot be adjusted by more than the ledger holds", async () => {
    const { route, id } = await routeWith({});
    const tokens = await addBudget(route, { name: "tokens", unit: "tokens", amount: 5 });
    for (const [budget, amount] of [
      [id, "999999999999999"],
      [id, "-9999999.999999999"],
      [tokens.id, Number.MAX_SAFE_INTEGER + 1],
    ] as const)
      expectProblemsAt(
        await confirmed(gatehouse, `/gateways/${route.gateway}/budgets/${budget}/adjust`, { amount }),
        "amount",
      );
  });

  test("of another gateway or of an unknown budget is 404", async () => {
    const { id } = await routeWith({});
    const { route } = await routeWith({});
    const path = `/gateways/${route.gateway}/budgets/${id}/state`;
    expectError(await gatehouse.api("GET", path), 404, "not_found");
  });

  test("is listed for several budgets at once", async () => {
    const { route, id } = await routeWith({});
    const { id: second } = await addBudget(route, { name: "tokens", unit: "tokens", amount: 500 });
    const { id: unlisted } = await addBudget(route, { name: "third" });
    const { id: foreign } = await routeWith({});
    await confirmed(gatehouse, `/gateways/${route.gateway}/budgets/${id}/adjust`, { amount: "0.25" });
    const path = `/gateways/${route.gateway}/budget-states`;
    const { status, body } = await gatehouse.api("GET", `${path}?ids=${id},${second},${foreign},none`);
    expect(status).toBe(200);
    expect(body.states).toMatchObject([
      { budget_id: id, unit: "usd", amount: "1", spent: "0.25", remaining: "0.75" },
      { budget_id: second, unit: "tokens", amount: 500, spent: 0, reserved: 0, remaining: 500 },
    ]);
    expect(JSON.stringify(body)).not.toContain(unlisted);
    expectError(await gatehouse.api("GET", path), 400, "validation_failed");
    expectError(await gatehouse.api("GET", "/gateways/none/budget-states?ids=a"), 404, "not_found");
  });

  test("survives a change of the configuration", async () => {
    const { route, id } = await routeWith({});
    await sendAndRead(route);
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/budgets/${id}`, { amount: "2" });
    expect(await settled(route, id)).toMatchObject({ spent: "0.01", remaining: "1.99" });
  });
});

test("explain shows the budgets of a request, and whether it fits, without reserving anything", async () => {
  const { route, id } = await routeWith({ amount: "0.01" });
  const explain = async () =>
    (await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, { path: route.path, body: CHAT }))
      .body;
  const expected = { id, name: "team", subject: null, unit: "usd", requested: "0.01" };
  for (let count = 0; count < 2; count++)
    expect((await explain()).budgets).toMatchObject([{ ...expected, remaining: "0.00", fits: true }]);
  await sendAndRead(route);
  await settled(route, id);
  const explained = await explain();
  expect(explained.budgets).toMatchObject([{ ...expected, remaining: "0.00", fits: false }]);
  expect(explained.answer).toMatchObject({ status: 402, code: "budget_exceeded" });
});

test("a budget is part of export and apply, of revisions and of rollback", async () => {
  const { route, id } = await routeWith({ amount: "3.50", warn_at: [0.5] });
  const { body: gateway } = await gatehouse.api("GET", `/gateways/${route.gateway}`);
  const exported = await fetch(`${gatehouse.adminUrl}/api/v1/export`, {
    headers: { Authorization: `Bearer ${gatehouse.token}`, Accept: "application/json" },
  });
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the document is arbitrary JSON
  const document = (await exported.json()) as any;
  const found = document.gateways.find(({ name }: { name: string }) => name === gateway.name);
  expect(found.budgets).toEqual([{ name: "team", unit: "usd", amount: "3.50", warn_at: [0.5] }]);
  const { body: before } = await gatehouse.api("GET", "/revisions?limit=1");
  found.budgets[0].amount = "4";
  const applied = await gatehouse.api("POST", "/apply", { gateways: [found] });
  expect(applied.body.changes).toContainEqual(
    expect.objectContaining({ resource: "budget", action: "update", name: "team" }),
  );
  const read = async () =>
    (await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}`)).body.amount;
  expect(await read()).toBe("4");
  const revision = before.revisions[0].revision;
  expect((await gatehouse.api("POST", `/revisions/${revision}/rollback`)).status).toBe(200);
  expect(await read()).toBe("3.50");
  found.budgets[0] = { name: "team", unit: "tokens", amount: 4 };
  const refused = await gatehouse.api("POST", "/apply", { gateways: [found] });
  expectProblemsAt(refused, "gateways[0].budgets[0].unit");
  found.budgets = [{ name: "new", unit: "tokens", amount: 4 }];
  expect((await gatehouse.api("POST", "/apply", { gateways: [found] })).body.changes).toContainEqual(
    expect.objectContaining({ resource: "budget", action: "create", name: "new" }),
  );
});
