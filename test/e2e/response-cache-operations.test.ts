// response_cache in one process, on a clock that the test advances: operations, expiry, directives, budgets, sealed ids and masked values.
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { MemoryResponses } from "../../src/runtime/responses/memory-responses.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import type { Fields } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("models");
const [provider] = providers;
const kept = spyOn(MemoryResponses.prototype, "set");
afterAll(() => kept.mockRestore());

const cache = (settings: Fields = {}): Fields => ({ name: "response_cache", stage: "pre_request", settings });

interface Seeded extends SeededRoute {
  readonly key: string;
}

/** A route for all paths of the API, with a key. */
async function seed(settings: Fields = {}, gateway: Fields = {}, target: Fields = {}): Promise<Seeded> {
  const route = await seedRoute(gatehouse, {
    gateway: { required_plugins: [cache(settings)], ...gateway },
    upstream: { targets: [targetAt(provider, target)] },
    rule: { path: "/v1/*", methods: ["*"] },
  });
  const { key } = await seedKey(gatehouse, route.gateway);
  return { ...route, key };
}

interface Sent {
  readonly path?: string;
  readonly body?: Fields;
  readonly control?: string;
}

async function send(key: string, { path = "/v1/chat/completions", body = CHAT, control }: Sent = {}) {
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-GW-API-Key": key,
      ...(control !== undefined && { "Cache-Control": control }),
    },
    body: JSON.stringify(body),
  });
  const { status, headers } = response;
  return {
    status,
    cache: headers.get("cache-status") ?? "",
    age: headers.get("age"),
    text: await response.text(),
  };
}

const MESSAGES = { model: "fake-1", messages: [{ role: "user", content: "Good morning" }] };

describe("operations", () => {
  test.each<[string, Fields, Fields]>([
    ["/v1/embeddings", { model: "embed-fake", input: ["a", "b"] }, {}],
    ["/v1/moderations", { model: "moderate-fake", input: "a" }, {}],
    ["/v1/completions", { model: "gpt-fake", prompt: "Once" }, {}],
    ["/v1/rerank", { model: "rerank-fake", query: "a", documents: ["a", "b"] }, { provider: "cohere" }],
    ["/v1/messages/count_tokens", MESSAGES, { provider: "anthropic" }],
    ["/v1/responses/input_tokens", { model: "gpt-fake", input: "Good morning", store: false }, {}],
  ])("%s is kept, and another body is another response", async (path, body, target) => {
    const { key } = await seed({}, {}, target);
    const first = await send(key, { path, body });
    expect([first.status, first.cache]).toEqual([200, "gatehouse; fwd=uri-miss"]);
    const second = await send(key, { path, body });
    expect(second).toMatchObject({ status: 200, cache: "gatehouse; hit; ttl=3600", text: first.text });
    expect((await send(key, { path, body: { ...body, model: "another" } })).cache).toContain("uri-miss");
    expect(provider.requests).toHaveLength(2);
  });
});

describe("purge", () => {
  test("a response that was requested before a purge is neither kept nor shared with later requests", async () => {
    const { key, gateway } = await seed();
    provider.behave({ text: "before", delayMs: 1000 });
    const earlier = send(key);
    await provider.until(() => provider.requests.length === 1);
    expect((await gatehouse.api("DELETE", `/gateways/${gateway}/cache`)).status).toBe(204);
    provider.behave({ text: "after", delayMs: 1000 });
    const later = [send(key), send(key)];
    await provider.until(() => provider.requests.length === 2);
    clock.advance(1000);
    expect((await earlier).text).toContain("before");
    for (const sent of later) expect((await sent).text).toContain("after");
    expect(await send(key)).toMatchObject({ cache: "gatehouse; hit; ttl=3600" });
    expect((await send(key)).text).toContain("after");
    expect(provider.requests).toHaveLength(2);
  });
});

describe("time", () => {
  test("a response is used until its ttl, with its age, and not longer", async () => {
    const { key } = await seed({ ttl: "60s" });
    await send(key);
    clock.advance(59_000);
    expect(await send(key)).toMatchObject({ cache: "gatehouse; hit; ttl=1", age: "59" });
    // A hit does not prolong it.
    clock.advance(1000);
    expect((await send(key)).cache).toBe("gatehouse; fwd=uri-miss");
    expect(await send(key)).toMatchObject({ cache: "gatehouse; hit; ttl=60", age: "0" });
  });

  test("max-age: a response that is older is stale, and replaced", async () => {
    const { key } = await seed();
    await send(key);
    clock.advance(30_000);
    expect((await send(key, { control: "max-age=30" })).cache).toContain("hit");
    expect((await send(key, { control: "max-age=29" })).cache).toBe("gatehouse; fwd=stale");
    expect(await send(key)).toMatchObject({ cache: "gatehouse; hit; ttl=3600", age: "0" });
  });

  test("max-age: while a response that is older is replaced, it serves requests that accept it", async () => {
    const { key } = await seed();
    await send(key);
    clock.advance(30_000);
    provider.behave({ status: 400, delayMs: 1000 });
    const strict = send(key, { control: "max-age=29" });
    await provider.until(() => provider.requests.length === 2);
    expect((await send(key)).cache).toContain("hit");
    expect((await send(key, { control: "only-if-cached" })).cache).toContain("hit");
    const equal = send(key, { control: "max-age=28, only-if-cached" });
    expect((await equal).status).toBe(504);
    clock.advance(1000);
    expect(await strict).toMatchObject({ status: 400, cache: "gatehouse; fwd=stale" });
    expect(provider.requests).toHaveLength(2);
  });

  test("directives in any case, quoted, and among others that are not known", async () => {
    const { key } = await seed();
    await send(key);
    clock.advance(30_000);
    expect((await send(key, { control: 'private, MAX-AGE="29"' })).cache).toBe("gatehouse; fwd=stale");
    expect((await send(key, { control: "No-Cache, max-age=60" })).cache).toBe("gatehouse; fwd=request");
    expect((await send(key, { control: "max-stale, max-age=-1, max-age" })).cache).toContain("hit");
    expect((await send(key, { control: "only-if-cached, no-store" })).status).toBe(504);
  });
});

test("of two entries, the first one keeps a response", async () => {
  const required_plugins = [cache({ ttl: "1m" }), cache({ ttl: "1h", vary: ["x-other"] })];
  const { key } = await seed({}, { required_plugins });
  expect((await send(key)).cache).toBe("gatehouse; fwd=uri-miss");
  expect((await send(key)).cache).toBe("gatehouse; hit; ttl=60");
  expect(provider.requests).toHaveLength(1);
});

test("a budget and a token limit count what was sent to the provider, and usage shows hits as cached", async () => {
  const limiter = {
    name: "token_limiter",
    stage: "pre_request",
    settings: { limits: { global: { limit: 2000, window: "1h" } } },
  };
  const { key, gateway } = await seed(
    {},
    {
      required_plugins: [limiter, cache()],
      prices: [{ model: "gpt-fake", input: "1000", output: "1000" }],
    },
  );
  const at = `/gateways/${gateway}`;
  const budget = await create(gatehouse, `${at}/budgets`, { name: "b", unit: "tokens", amount: 2000 });
  provider.behave({ usage: { input: 500, output: 500 } });
  const body = { ...CHAT, max_tokens: 500 };
  // More than either limit allows if hits counted.
  for (let count = 0; count < 5; count++) expect((await send(key, { body })).status).toBe(200);
  expect(provider.requests).toHaveLength(1);
  const spent = async () => (await gatehouse.api("GET", `${at}/budgets/${budget.id}/state`)).body;
  await waitUntil(async () => Number((await spent()).spent) === 1000);
  expect(Number((await spent()).reserved)).toBe(0);
  const { body: usage } = await gatehouse.api("GET", `${at}/usage?group_by=purpose`);
  expect(usage.total).toMatchObject({
    ...{ requests: 5, cached_requests: 4, input_tokens: 500, output_tokens: 500 },
    ...{ cost: 1, saved_input_tokens: 2000, saved_output_tokens: 2000, saved_cost: 4 },
  });
  // A request that is sent counts: the next one does not fit.
  provider.behave({ usage: { input: 500, output: 500 } });
  expect((await send(key, { body: { ...body, seed: 1 } })).status).toBe(200);
  expect((await send(key, { body: { ...body, seed: 2 } })).status).toBe(429);
});

test("ids of a kept response are sealed for the key that gets the hit, whole and streamed", async () => {
  const { key, gateway } = await seed({ isolation: "gateway" });
  const { key: other } = await seedKey(gatehouse, gateway);
  const ask = { path: "/v1/responses", body: { model: "gpt-fake", input: "Hello", store: false } };
  const idIn = (text: string) => /"id":\s?"(resp_[^"]+)"/.exec(text)?.[1] ?? "";
  kept.mockClear();
  const own = idIn((await send(key, ask)).text);
  const hit = await send(key, ask);
  const others = await send(other, ask);
  const streamed = await send(other, { ...ask, body: { ...ask.body, stream: true } });
  for (const { cache: status } of [hit, others, streamed]) expect(status).toContain("hit");
  const raw = idIn(Buffer.from(kept.mock.calls[0]?.[1].body ?? []).toString());
  expect(raw).not.toBe("");
  for (const { text } of [hit, others, streamed]) expect(text).not.toContain(`"${raw}"`);
  expect(idIn(hit.text)).toBe(own);
  expect(idIn(others.text)).not.toBe(own);
  expect(idIn(streamed.text)).toBe(idIn(others.text));
});

test("with pii_mask, an entry holds no masked value, and each client gets its own back", async () => {
  const mask = { name: "pii_mask", stage: "pre_request", settings: {} };
  const { key } = await seed({}, { required_plugins: [mask, cache()] });
  const ask = (email: string) => ({
    body: { ...CHAT, messages: [{ role: "user", content: `Write to ${email}` }] },
  });
  provider.behave({ text: "I wrote to <EMAIL_1>." });
  kept.mockClear();
  const canary = "canary.7391@example.com";
  const first = await send(key, ask(canary));
  const second = await send(key, ask("someone.else@example.com"));
  const third = await send(key, { body: { ...ask("third@example.com").body, stream: true } });
  expect(first.text).toContain(`I wrote to ${canary}.`);
  expect(second.cache).toContain("hit");
  expect(second.text).toContain("I wrote to someone.else@example.com.");
  expect(third.text).toContain("third@example.com");
  expect(provider.requests).toHaveLength(1);
  expect(kept).toHaveBeenCalledTimes(1);
  const [name = "", entry] = kept.mock.calls[0] ?? [];
  const { body, streams } = entry!;
  const held = [
    name,
    ...[body, streams.plain ?? new Uint8Array()].map((bytes) => Buffer.from(bytes).toString()),
  ];
  expect(held[1]).toContain("<EMAIL_1>");
  expect(held[2]).toContain("<EMAIL_1>");
  for (const text of held) expect(text).not.toMatch(/canary|someone|third@/);
});

test("the stream of a response is created once, and counted in its size", async () => {
  const { key, gateway } = await seed();
  const size = async () => (await gatehouse.api("GET", `/gateways/${gateway}/cache`)).body;
  await send(key);
  const before = await size();
  const streamed = await send(key, { body: { ...CHAT, stream: true } });
  const after = await size();
  expect(after.bytes - before.bytes).toBe(Buffer.byteLength(streamed.text));
  const again = await send(key, { body: { ...CHAT, stream: true } });
  expect([again.text, await size()]).toMatchObject([streamed.text, { bytes: after.bytes, entries: 1 }]);
  const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  const name = (await gatehouse.api("GET", `/gateways/${gateway}`)).body.name;
  expect(metrics).toContain(`gatehouse_cache_entries{gateway="${name}"} 1\n`);
  expect(metrics).toContain(`gatehouse_cache_bytes{gateway="${name}"} ${after.bytes}\n`);
  await gatehouse.api("DELETE", `/gateways/${gateway}/cache`);
  expect(await size()).toMatchObject({ entries: 0, bytes: 0 });
});
