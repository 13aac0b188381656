// Virtual models on the request path: which target serves a name, what is sent and reported, who may use it, and fallbacks.
import { describe, expect, test } from "bun:test";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const [gatehouse, east, west] = await Promise.all([useGatehouse(), useFakeProvider(), useFakeProvider()]);

/** A rule whose service uses targets at any upstream, with a second upstream. */
async function twoUpstreams(
  fields: Record<string, unknown> = {},
  service: object = { virtual_models: "any" },
) {
  const route = await seedRoute(gatehouse, {
    gateway: fields,
    upstream: { targets: [targetAt(east)] },
  });
  const at = `/gateways/${route.gateway}`;
  const second = await create(gatehouse, `${at}/upstreams`, {
    name: "west",
    targets: [targetAt(west, { provider: "groq" })],
  });
  await gatehouse.api("PATCH", `${at}/services/${route.service}`, service);
  return { route, east: route.upstream, west: second.id as string };
}

const addModel = (route: SeededRoute, fields: Record<string, unknown>) =>
  create(gatehouse, `/gateways/${route.gateway}/models`, fields);

const send = (route: SeededRoute, model: string, body: object = {}, headers: Record<string, string> = {}) =>
  fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ ...CHAT, model, ...body }),
  });

const sentModels = ({ requests }: FakeProvider) =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { model: string }).model);

describe("a requested name", () => {
  test("is served by a target with the target's model, which the headers name", async () => {
    const { route, east: upstream } = await twoUpstreams();
    await addModel(route, { name: "fast", aliases: ["quick"], targets: [{ upstream, model: "gpt-5-mini" }] });
    for (const name of ["fast", "quick"]) {
      const response = await send(route, name);
      expect(response.status).toBe(200);
      expect(response.headers.get("x-gw-virtual-model")).toBe("fast");
      expect(response.headers.get("x-gw-model")).toBe("gpt-5-mini");
    }
    expect(sentModels(east)).toEqual(["gpt-5-mini", "gpt-5-mini"]);
    const other = await send(route, "gpt-fake");
    expect(other.headers.get("x-gw-virtual-model")).toBeNull();
    expect(other.headers.get("x-gw-model")).toBe("gpt-fake");
  });

  test("matches an exact name before an alias of a provider, and that before the longest pattern", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    await addModel(route, { name: "*", targets: [{ upstream: first, model: "any" }] });
    await addModel(route, { name: "gpt-*", targets: [{ upstream: second }] });
    await addModel(route, { name: "gpt-5*", targets: [{ upstream: first, model: "five" }] });
    await addModel(route, { name: "gpt-5.1", targets: [{ upstream: second, model: "exact" }] });
    const served = async (name: string) => {
      const { headers } = await send(route, name);
      return [headers.get("x-gw-virtual-model"), headers.get("x-gw-model")];
    };
    expect(await served("gpt-5.1")).toEqual(["gpt-5.1", "exact"]);
    expect(await served("gpt-5.2")).toEqual(["gpt-5*", "five"]);
    expect(await served("gpt-4")).toEqual(["gpt-*", "gpt-4"]);
    expect(await served("other")).toEqual(["*", "any"]);
    expect(await served("openai/five")).toEqual(["gpt-5*", "five"]);
    expect(await served("groq/exact")).toEqual(["gpt-5.1", "exact"]);
    expect(await served("groq/gpt-4")).toEqual(["gpt-*", "gpt-4"]);
    // No target of this provider sends it, so that it is an ordinary name.
    expect(await served("openai/gpt-4")).toEqual(["*", "any"]);
  });

  test("is replaced in a streamed request and in other formats too", async () => {
    const { route, west: upstream } = await twoUpstreams();
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/upstreams/${upstream}`, {
      targets: [targetAt(west, { provider: "anthropic" })],
    });
    await addModel(route, { name: "claude", targets: [{ upstream, model: "claude-sonnet-5" }] });
    const response = await send(route, "claude", { stream: true });
    expect(await response.text()).toContain("[DONE]");
    expect(response.headers.get("x-gw-virtual-model")).toBe("claude");
    expect(west.requests[0]).toMatchObject({ path: "/v1/messages" });
    expect(sentModels(west)).toEqual(["claude-sonnet-5"]);
  });
});

describe("a rule", () => {
  test("serves a virtual model only through the upstream of its service, unless virtual_models is any", async () => {
    const { route, east: first, west: second } = await twoUpstreams({}, { virtual_models: "own" });
    await addModel(route, {
      name: "both",
      strategy: "fallback",
      targets: [
        { upstream: second, model: "at-west" },
        { upstream: first, model: "at-east" },
      ],
    });
    await addModel(route, { name: "west-only", targets: [{ upstream: second, model: "at-west" }] });
    expect((await send(route, "both")).headers.get("x-gw-model")).toBe("at-east");
    // Not a name that this rule knows.
    const foreign = await send(route, "west-only");
    expect(foreign.headers.get("x-gw-virtual-model")).toBeNull();
    expect(foreign.headers.get("x-gw-model")).toBe("west-only");
    expect(west.requests).toHaveLength(0);
    await gatehouse.api("PATCH", `/gateways/${route.gateway}/services/${route.service}`, {
      virtual_models: "any",
    });
    expect((await send(route, "both")).headers.get("x-gw-model")).toBe("at-west");
    expect((await send(route, "west-only")).headers.get("x-gw-model")).toBe("at-west");
  });
});

describe("an API key with models", () => {
  test("needs the requested name and the model that is sent; other targets are not eligible", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    await addModel(route, {
      name: "mixed",
      targets: [
        { upstream: first, model: "allowed-1" },
        { upstream: second, model: "secret-1" },
      ],
    });
    const keyFor = async (models: string[]) => (await seedKey(gatehouse, route.gateway, { models })).key;
    const both = await keyFor(["mixed", "allowed-*"]);
    for (let count = 0; count < 6; count++) {
      const response = await send(route, "mixed", {}, { "X-GW-API-Key": both });
      expect(response.headers.get("x-gw-model")).toBe("allowed-1");
    }
    expect(west.requests).toHaveLength(0);
    for (const models of [["mixed"], ["allowed-*"], ["mixed", "other"]]) {
      const refused = await send(route, "mixed", {}, { "X-GW-API-Key": await keyFor(models) });
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
        403,
        "model_not_allowed",
      ]);
    }
  });
});

describe("strategies", () => {
  test("weighted: each target gets its share, and weight 0 none", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    await addModel(route, {
      name: "split",
      targets: [
        { upstream: first, model: "three", weight: 3 },
        { upstream: second, model: "one", weight: 1 },
        { upstream: second, model: "none", weight: 0 },
      ],
    });
    for (let count = 0; count < 40; count++) await (await send(route, "split")).text();
    expect([east.requests.length, west.requests.length]).toEqual([30, 10]);
  });

  test("weighted and sticky: the turns of a conversation go to the same target", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    await addModel(route, {
      name: "sticky",
      sticky: true,
      targets: [
        { upstream: first, model: "a" },
        { upstream: second, model: "b" },
      ],
    });
    const models = new Set<string | null>();
    for (let conversation = 0; conversation < 20; conversation++) {
      const text = `Question ${conversation}`;
      const opening = { role: "user", content: text };
      const mark = { cache_control: { type: "ephemeral" } };
      const turns = [
        // The mark for the provider's cache moves to the last message.
        [{ role: "user", content: [{ type: "text", text, ...mark }] }],
        [opening, { role: "assistant", content: "Yes" }, { role: "user", content: "More", ...mark }],
        [{ ...opening, ...mark }],
      ];
      const chosen = await Promise.all(
        turns.map(async (messages) => (await send(route, "sticky", { messages })).headers.get("x-gw-model")),
      );
      expect(new Set(chosen).size).toBe(1);
      models.add(chosen[0]!);
    }
    expect(models).toEqual(new Set(["a", "b"]));
    const byHeader = await Promise.all(
      Array.from({ length: 8 }, async (_, turn) => {
        const messages = [{ role: "user", content: `Turn ${turn}` }];
        const response = await send(route, "sticky", { messages }, { "X-Session-Id": "one" });
        return response.headers.get("x-gw-model");
      }),
    );
    expect(new Set(byHeader).size).toBe(1);
  });

  test("cache-affinity: a conversation stays at one account, and returns to it after an ejection", async () => {
    const accounts = [targetAt(east, { models: [] }), targetAt(west)];
    const health = { passive: true, threshold: 1, interval: 1 };
    const route = await seedRoute(gatehouse, { upstream: { targets: accounts, health_checks: health } });
    await addModel(route, {
      name: "warm",
      strategy: "cache-affinity",
      targets: [{ upstream: route.upstream, model: "m" }],
    });
    const ask = async (key: string) => {
      const before = [east.requestCount, west.requestCount];
      const response = await send(route, "warm", { prompt_cache_key: key });
      await response.text();
      return {
        status: response.status,
        isEast: east.requestCount > before[0]!,
        isWest: west.requestCount > before[1]!,
      };
    };
    const keys = Array.from({ length: 20 }, (_, index) => `conversation ${index}`);
    const first: boolean[] = [];
    for (const key of keys) first.push((await ask(key)).isEast);
    expect(new Set(first)).toEqual(new Set([true, false]));
    for (const [index, key] of keys.entries()) expect((await ask(key)).isEast).toBe(first[index]!);
    const moved = keys[first.indexOf(true)]!;
    east.behave({ status: 500 });
    expect(await ask(moved)).toEqual({ status: 200, isEast: true, isWest: true });
    expect(await ask(moved)).toEqual({ status: 200, isEast: false, isWest: true });
    east.behave({});
    await waitFor(async () => ((await ask(moved)).isEast ? true : null));
    for (const [index, key] of keys.entries()) expect((await ask(key)).isEast).toBe(first[index]!);
    const explained = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
      path: route.path,
      body: { ...CHAT, model: "warm", prompt_cache_key: moved },
    });
    expect(explained.body.upstream_request.url).toStartWith(east.url);
  });

  test("fallback: the first target that is available serves", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    await addModel(route, {
      name: "ordered",
      strategy: "fallback",
      targets: [
        { upstream: first, model: "main" },
        { upstream: second, model: "spare" },
      ],
    });
    expect((await send(route, "ordered")).headers.get("x-gw-model")).toBe("main");
    east.behave({ status: 503 });
    const spare = await send(route, "ordered");
    expect([spare.status, spare.headers.get("x-gw-model"), spare.headers.get("x-gw-attempts")]).toEqual([
      200,
      "spare",
      "2",
    ]);
  });

  test("weight 0: a drained target gets no requests, not even if no other is available", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    const targets = [
      { upstream: first, model: "drained", weight: 0 },
      { upstream: second, model: "active" },
    ];
    await addModel(route, { name: "partly", strategy: "fallback", targets });
    await addModel(route, { name: "wholly", targets: [targets[0]] });
    await addModel(route, { name: "spared", targets: [targets[0]], fallback: ["partly"] });
    expect((await send(route, "partly")).headers.get("x-gw-model")).toBe("active");
    const spared = await send(route, "spared");
    expect(spared.headers.get("x-gw-fallback")).toBe("partly; reason=unavailable");
    west.behave({ status: 503 });
    for (let count = 0; count < 8; count++) expect((await send(route, "partly")).status).toBe(503);
    for (const name of ["wholly", "openai/drained"]) {
      const response = await send(route, name);
      const { code } = (await response.json()) as { code: string };
      expect([response.status, code, response.headers.has("retry-after")]).toEqual([
        503,
        "no_healthy_target",
        true,
      ]);
    }
    expect(east.requests).toHaveLength(0);
    const explained = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
      path: route.path,
      body: { ...CHAT, model: "partly" },
    });
    expect(explained.body.virtual_model.targets[0]).toMatchObject({ next: false, reason: "its weight is 0" });
  });

  test("lowest-cost: the cheapest target serves, and what it has cached makes it cheaper", async () => {
    const prices = [
      { model: "dear", input: "10", output: "10", cached_input: "0.1" },
      { model: "cheap", input: "4", output: "10" },
    ];
    const { route, east: first, west: second } = await twoUpstreams({ prices });
    await addModel(route, {
      name: "thrifty",
      strategy: "lowest-cost",
      targets: [
        { upstream: first, model: "dear" },
        { upstream: second, model: "cheap" },
      ],
    });
    const chosen = async () => {
      const response = await send(route, "thrifty", {
        messages: [{ role: "user", content: "x".repeat(8000) }],
      });
      await response.text();
      return response.headers.get("x-gw-model");
    };
    west.behave({ usage: { input: 2000, output: 10 } });
    expect(await chosen()).toBe("cheap");
    // The cheap target fails once, and the dear one reports that the input was cached.
    west.behave({ status: 503 });
    east.behave({ usage: { input: 2000, output: 10, cached: 2000 } });
    expect(await chosen()).toBe("dear");
    west.behave({});
    expect(await chosen()).toBe("dear");
  });
});

describe("fallback to another virtual model", () => {
  async function withFallback(fields: Record<string, unknown> = {}, gateway: Record<string, unknown> = {}) {
    const seeded = await twoUpstreams(gateway);
    await addModel(seeded.route, { name: "spare", targets: [{ upstream: seeded.west, model: "spare-1" }] });
    await addModel(seeded.route, {
      name: "main",
      targets: [{ upstream: seeded.east, model: "main-1" }],
      fallback: ["spare"],
      ...fields,
    });
    return seeded.route;
  }

  const served = async (response: Promise<Response>) => {
    const { status, headers } = await response;
    return [
      status,
      headers.get("x-gw-virtual-model"),
      headers.get("x-gw-model"),
      headers.get("x-gw-fallback"),
    ];
  };

  test("because no target is available", async () => {
    const route = await withFallback();
    east.behave({ status: 500 });
    expect(await served(send(route, "main"))).toEqual([200, "main", "spare-1", "spare; reason=unavailable"]);
    east.behave({ closeBeforeAnswer: true });
    expect(await served(send(route, "main"))).toEqual([200, "main", "spare-1", "spare; reason=unavailable"]);
    const strict = await withFallback({ fallback_on: ["rate_limited"] });
    east.behave({ status: 500 });
    expect((await served(send(strict, "main")))[0]).toBe(500);
  });

  test("because the provider limits the rate, also while its targets rest", async () => {
    const route = await withFallback();
    east.behave({ rateLimited: { retryAfter: 30 } });
    expect(await served(send(route, "main"))).toEqual([200, "main", "spare-1", "spare; reason=rate_limited"]);
    const asked = east.requests.length;
    expect(await served(send(route, "main"))).toEqual([200, "main", "spare-1", "spare; reason=rate_limited"]);
    expect(east.requests).toHaveLength(asked);
  });

  test("because the input does not fit, before anything is sent", async () => {
    const prices = [
      { model: "main-1", input: "1", output: "1", context_window: 50 },
      { model: "spare-1", input: "1", output: "1", context_window: 5000 },
    ];
    const long = { messages: [{ role: "user", content: "word ".repeat(200) }] };
    const route = await withFallback({}, { prices });
    expect(await served(send(route, "main", long))).toEqual([
      200,
      "main",
      "spare-1",
      "spare; reason=context",
    ]);
    expect(east.requests).toHaveLength(0);
    expect(await served(send(route, "main"))).toEqual([200, "main", "main-1", null]);
  });

  test("because the provider says that the input does not fit, or filters it", async () => {
    const route = await withFallback({ fallback_on: ["context", "content_filter"] });
    const error = (fields: object) => ({ status: 400, body: JSON.stringify({ error: fields }) });
    east.behave(error({ code: "context_length_exceeded", message: "Too long." }));
    expect((await served(send(route, "main")))[3]).toBe("spare; reason=context");
    // The error response is not in progress any more.
    const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    expect(metrics).not.toMatch(/^gatehouse_target_in_flight\{.*\} [1-9]/m);
    east.behave(error({ code: "content_filter", message: "Filtered." }));
    expect((await served(send(route, "main")))[3]).toBe("spare; reason=content_filter");
    east.behave(error({ code: "invalid_value", message: "No." }));
    expect((await served(send(route, "main")))[0]).toBe(400);
  });

  test("because a budget is used up", async () => {
    const prices = [
      { model: "main-1", per_request: "1" },
      { model: "spare-1", per_request: "0.01" },
    ];
    const route = await withFallback({ fallback_on: ["budget"] }, { prices });
    const budget = { name: "b", unit: "usd", amount: "0.50" };
    await create(gatehouse, `/gateways/${route.gateway}/budgets`, budget);
    expect(await served(send(route, "main"))).toEqual([200, "main", "spare-1", "spare; reason=budget"]);
    expect(east.requests).toHaveLength(0);
  });

  test("goes on to the fallbacks of a fallback, in the order of the list", async () => {
    const { route, east: first, west: second } = await twoUpstreams();
    await addModel(route, { name: "d", targets: [{ upstream: second, model: "last" }] });
    await addModel(route, { name: "c", targets: [{ upstream: first, model: "c-1" }] });
    await addModel(route, { name: "b", targets: [{ upstream: first, model: "b-1" }], fallback: ["c"] });
    await addModel(route, { name: "a", targets: [{ upstream: first, model: "a-1" }], fallback: ["b", "d"] });
    east.behave({ status: 503 });
    const response = await send(route, "a");
    expect([response.status, response.headers.get("x-gw-model")]).toEqual([200, "last"]);
    expect(sentModels(east)).toEqual(["a-1", "b-1", "c-1"]);
  });

  test("returns the last error if all fail", async () => {
    const route = await withFallback();
    east.behave({ status: 500 });
    west.behave({ status: 503 });
    expect((await send(route, "main")).status).toBe(503);
  });
});

test("an input that no target can hold is 400 with both figures, and nothing is sent or spent", async () => {
  const prices = [{ model: "small", input: "1", output: "1", context_window: 100 }];
  const { route, east: upstream } = await twoUpstreams({ prices });
  await addModel(route, { name: "short", targets: [{ upstream, model: "small" }] });
  const budget = { name: "b", unit: "usd", amount: "1" };
  const { id } = await create(gatehouse, `/gateways/${route.gateway}/budgets`, budget);
  const response = await send(route, "short", {
    messages: [{ role: "user", content: "word ".repeat(2000) }],
  });
  const body = (await response.json()) as Record<string, unknown>;
  expect([response.status, body["code"], body["context_window"]]).toEqual([
    400,
    "context_length_exceeded",
    100,
  ]);
  expect(Number(body["input_tokens"])).toBeGreaterThan(1500);
  expect(east.requests).toHaveLength(0);
  const state = await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`);
  expect(state.body).toMatchObject({ spent: "0.00", reserved: "0.00" });
});

test("a budget reserves the dearest model that the request may use", async () => {
  const prices = [
    { model: "cheap", per_request: "0.01" },
    { model: "dear", per_request: "2" },
  ];
  const { route, east: first, west: second } = await twoUpstreams({ prices });
  await addModel(route, {
    name: "any",
    strategy: "fallback",
    targets: [
      { upstream: first, model: "cheap" },
      { upstream: second, model: "dear" },
    ],
  });
  await create(gatehouse, `/gateways/${route.gateway}/budgets`, { name: "b", unit: "usd", amount: "1" });
  const response = await send(route, "any");
  expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
    402,
    "budget_exceeded",
  ]);
});

test("with limits, a target that cannot hold the input does not count for the budget", async () => {
  const prices = [
    { model: "cheap", per_request: "0.01" },
    { model: "dear", per_request: "2", context_window: 100 },
  ];
  const limits = {
    name: "rate_limiter",
    stage: "pre_request",
    settings: { limits: { global: { limit: 9, window: "1h" } } },
  };
  const { route, east: first, west: second } = await twoUpstreams({ prices, required_plugins: [limits] });
  await addModel(route, {
    name: "any",
    strategy: "fallback",
    targets: [
      { upstream: second, model: "dear" },
      { upstream: first, model: "cheap" },
    ],
  });
  const budget = { name: "b", unit: "usd", amount: "1" };
  const { id } = await create(gatehouse, `/gateways/${route.gateway}/budgets`, budget);
  const long = { messages: [{ role: "user", content: "word ".repeat(2000) }] };
  const response = await send(route, "any", long);
  await response.text();
  expect([response.status, response.headers.get("x-ratelimit-global-remaining")]).toEqual([200, "8"]);
  await waitUntil(async () => {
    const state = await gatehouse.api("GET", `/gateways/${route.gateway}/budgets/${id}/state`);
    return state.body.spent === "0.01" && state.body.reserved === "0.00";
  });
  expect((await send(route, "any")).status).toBe(402);
});

test("GET /v1/models lists visible names that the key may use, and finds one by any of its names", async () => {
  const { route, east: upstream } = await twoUpstreams();
  await addModel(route, { name: "shown", aliases: ["nick"], targets: [{ upstream, model: "m-1" }] });
  await addModel(route, { name: "hidden", visible: false, targets: [{ upstream, model: "m-1" }] });
  await addModel(route, { name: "pattern-*", targets: [{ upstream }] });
  const { key } = await seedKey(gatehouse, route.gateway);
  const limited = await seedKey(gatehouse, route.gateway, { models: ["shown"] });
  const list = async (apiKey: string, path = "") =>
    (await fetch(`${gatehouse.proxyUrl}/v1/models${path}`, { headers: { "X-GW-API-Key": apiKey } })).json();
  const ids = (listed: unknown) => (listed as { data: { id: string }[] }).data.map(({ id }) => id);
  expect(ids(await list(key))).toEqual(["shown"]);
  // The model that would be sent is not allowed.
  expect(ids(await list(limited.key))).toEqual([]);
  expect(await list(key, "/shown")).toMatchObject({ id: "shown" });
  expect(await list(key, "/nick")).toMatchObject({ id: "nick" });
  for (const name of ["openai/m-1", "pattern-x", "openai/pattern-x"])
    for (const path of [`/${name}`, `/${encodeURIComponent(name)}`]) {
      expect(await list(key, path)).toMatchObject({ id: name, owned_by: "openai" });
      expect(await list(limited.key, path)).toMatchObject({ code: "model_not_found" });
    }
  for (const name of ["groq/m-1", "hidden", "pattern-*", "openai/other"])
    expect(await list(key, `/${name}`)).toMatchObject({ code: "model_not_found" });
});

test("the request log has the requested name, the virtual model, the model and the fallback", async () => {
  const { route, east: first, west: second } = await twoUpstreams();
  await addModel(route, { name: "spare", targets: [{ upstream: second, model: "spare-1" }] });
  await addModel(route, {
    name: "main",
    aliases: ["nick"],
    targets: [{ upstream: first, model: "main-1" }],
    fallback: ["spare"],
  });
  east.behave({ status: 500 });
  await (await send(route, "nick")).text();
  const record = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    return body.requests[0] ?? null;
  });
  expect(record).toMatchObject({
    requested_model: "nick",
    model: "spare-1",
    virtual_model: { name: "main", fallback: "spare", reason: "unavailable" },
    attempts: [{ model: "main-1" }, { model: "spare-1" }],
  });
});

test("metrics have the cached input of each target, and what it saved", async () => {
  const prices = [{ model: "m", input: "10", cached_input: "1", output: "10" }];
  const { route, east: upstream } = await twoUpstreams({ name: "cached", prices });
  await addModel(route, { name: "warm", strategy: "cache-affinity", targets: [{ upstream, model: "m" }] });
  east.behave({ usage: { input: 100_000, cached: 80_000, output: 1 } });
  await (await send(route, "warm")).text();
  const values = await waitFor(async () => {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const found = text
      .split("\n")
      .filter((line) => /^gatehouse_virtual_model_(?:input|cache)/.test(line) && line.includes("cached"));
    return found.length === 3
      ? found.map((line) => [/cache="(\w+)"/.exec(line)?.[1], Number(line.split(" ").at(-1))])
      : null;
  });
  expect(values).toContainEqual(["none", 20_000]);
  expect(values).toContainEqual(["read", 80_000]);
  // 80,000 tokens at $9 less per million.
  expect(values.find(([cache]) => cache === undefined)?.[1]).toBeCloseTo(0.72, 6);
});

test("metrics count requests by virtual model, and fallbacks by reason", async () => {
  const { route, east: first, west: second } = await twoUpstreams({ name: "counted" });
  await addModel(route, { name: "spare", targets: [{ upstream: second, model: "spare-1" }] });
  await addModel(route, {
    name: "main",
    targets: [{ upstream: first, model: "main-1" }],
    fallback: ["spare"],
  });
  await (await send(route, "main")).text();
  east.behave({ status: 500 });
  await (await send(route, "main")).text();
  const lines = await waitFor(async () => {
    const text = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    const found = text
      .split("\n")
      .filter(
        (line) => /^gatehouse_virtual_model_(?:requests|fallbacks)/.test(line) && line.includes("counted"),
      );
    return found.length >= 3 ? found : null;
  });
  expect(lines.sort()).toEqual([
    'gatehouse_virtual_model_fallbacks_total{gateway="counted",virtual_model="main",fallback="spare",reason="unavailable"} 1',
    'gatehouse_virtual_model_requests_total{gateway="counted",virtual_model="main",upstream="models",model="main-1",outcome="complete"} 1',
    'gatehouse_virtual_model_requests_total{gateway="counted",virtual_model="main",upstream="west",model="spare-1",outcome="complete"} 1',
  ]);
});

test("explain shows the virtual model, its targets, and which is next, and changes nothing", async () => {
  const { route, east: first, west: second } = await twoUpstreams();
  await addModel(route, { name: "spare", targets: [{ upstream: second, model: "spare-1" }] });
  await addModel(route, {
    name: "main",
    aliases: ["nick"],
    strategy: "fallback",
    targets: [
      { upstream: second, model: "first-1" },
      { upstream: first, model: "second-1" },
    ],
    fallback: ["spare"],
  });
  const explain = async () =>
    (
      await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
        path: route.path,
        body: { ...CHAT, model: "nick" },
      })
    ).body;
  const explained = await explain();
  expect(explained.virtual_model).toEqual({
    requested: "nick",
    name: "main",
    strategy: "fallback",
    fallback: null,
    canary: null,
    mirror: null,
    targets: [
      {
        virtual_model: "main",
        upstream: "west",
        model: "first-1",
        canary: false,
        weight: 1,
        eligible: true,
        next: true,
        reason: "receives this request",
      },
      {
        virtual_model: "main",
        upstream: "models",
        model: "second-1",
        canary: false,
        weight: 1,
        eligible: true,
        next: false,
        reason: "another target is next",
      },
      {
        virtual_model: "spare",
        upstream: "west",
        model: "spare-1",
        canary: false,
        weight: 1,
        eligible: true,
        next: false,
        reason: "another target is next",
      },
    ],
  });
  expect(explained.targets).toMatchObject([{ provider: "groq", model: "first-1", next: true }]);
  expect(JSON.parse(explained.upstream_request.body).model).toBe("first-1");
  expect(await explain()).toEqual(explained);
});

test("embeddings never change the model", async () => {
  const route = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(east)] },
    rule: { path: "/emb/v1/*", methods: ["*"] },
  });
  const { upstream } = route;
  await addModel(route, {
    name: "vectors",
    targets: [
      { upstream, model: "embed-a" },
      { upstream, model: "embed-b", weight: 100 },
    ],
  });
  for (let count = 0; count < 5; count++) {
    const response = await fetch(`${gatehouse.proxyUrl}/emb/v1/embeddings`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "vectors", input: "text" }),
    });
    expect(response.headers.get("x-gw-model")).toBe("embed-a");
  }
});

test("the model is replaced whatever the content type is", async () => {
  const { route, east: upstream } = await twoUpstreams();
  await addModel(route, { name: "fast", targets: [{ upstream, model: "m" }] });
  const body = JSON.stringify({ ...CHAT, model: "fast" });
  const filler = JSON.stringify({ ...CHAT, model: "fast", filler: "x".repeat(2_000_000) });
  const types = ["application/json", "text/plain", "application/octet-stream", ""];
  for (const [index, type] of types.entries())
    for (const sent of [body, filler]) {
      east.reset();
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": type },
        body: Buffer.from(sent),
      });
      expect([index, response.status, response.headers.get("x-gw-virtual-model")]).toEqual([
        index,
        200,
        "fast",
      ]);
      expect(sentModels(east)).toEqual(["m"]);
    }
});

test("a compressed body is rejected where virtual models need it", async () => {
  const { route, east: upstream } = await twoUpstreams();
  await addModel(route, { name: "fast", targets: [{ upstream, model: "m" }] });
  const response = await fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" },
    body: Bun.gzipSync(JSON.stringify({ ...CHAT, model: "fast" })),
  });
  const { code } = (await response.json()) as { code: string };
  expect([response.status, code]).toEqual([415, "unsupported_media_type"]);
});
