// response_cache through the gateway: what is kept and for whom, streams and whole responses from one entry, coalescing, directives and headers.
import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { runs } from "../support/long-form.ts";
import { pluginsDirectory, scripted, SCRIPTED_PLUGINS, type Fields } from "../support/plugin-fixtures.ts";
import { CHAT, rawJson, seedKey, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const PLUGINS_DIR = pluginsDirectory(SCRIPTED_PLUGINS);
const [gatehouse, provider] = await Promise.all([useGatehouse({ env: { PLUGINS_DIR } }), useFakeProvider()]);

const cache = (settings: Fields = {}): Fields => ({ name: "response_cache", stage: "pre_request", settings });

const seed = (settings: Fields = {}, gateway: Fields = {}, plugins: readonly Fields[] = []) =>
  seedRoute(gatehouse, {
    gateway: { required_plugins: [cache(settings), ...plugins], ...gateway },
    upstream: { targets: [targetAt(provider)] },
  });

interface Sent {
  readonly body?: Fields;
  readonly headers?: Record<string, string>;
  readonly key?: string;
}

async function send(route: SeededRoute, { body = {}, headers = {}, key = "" }: Sent = {}) {
  const response = await fetch(gatehouse.proxyUrl + route.path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(key !== "" && { "X-GW-API-Key": key }), ...headers },
    body: JSON.stringify({ ...CHAT, ...body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

const statusOf = ({ headers }: { headers: Headers }) => headers.get("cache-status");

/** Streams of the fake provider wait until the test opens this. */
const slowly = { chunks: 6, chunkDelayMs: 60 };
const contentOf = (text: string): string =>
  (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? "";
const streamedContent = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] })
    .map(({ choices }) => choices[0]?.delta.content ?? "")
    .join("");
const usageOf = async (route: SeededRoute) =>
  (await gatehouse.api("GET", `/gateways/${route.gateway}/usage?group_by=purpose`)).body;

describe("hits", () => {
  test("an equal request gets the kept response, with Cache-Status and Age", async () => {
    const route = await seed({ isolation: "gateway" });
    const first = await send(route);
    expect([first.status, statusOf(first)]).toEqual([200, "gatehouse; fwd=uri-miss"]);
    const second = await send(route);
    expect(second.status).toBe(200);
    expect(statusOf(second)).toMatch(/^gatehouse; hit; ttl=3[56]\d\d$/);
    expect(second.headers.get("age")).toBe("0");
    expect(second.headers.get("x-gw-attempts")).toBe("0");
    expect(second.text).toBe(first.text);
    expect(provider.requests).toHaveLength(1);
  });

  test("a response of another format has X-GW-Translated on hits and for requests that shared its call", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [cache({ isolation: "gateway" })] },
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: "/translated/*", methods: ["*"] },
    });
    const ask = (body: Fields) => send({ ...route, path: "/translated/v1/chat/completions" }, { body });
    const translated = (responses: { headers: Headers }[]) =>
      responses.map(({ headers }) => headers.get("x-gw-translated"));
    provider.behave(slowly);
    const stream = { seed: 7, stream: true };
    expect(translated(await Promise.all([ask(stream), ask(stream)]))).toEqual([
      "dropped=seed",
      "dropped=seed",
    ]);
    expect(translated([await ask({ seed: 7 }), await ask(stream)])).toEqual(["dropped=seed", "dropped=seed"]);
    expect(provider.requests).toHaveLength(1);
  });

  test("the canonical body counts: spelling and order do not matter, values do", async () => {
    const route = await seed({ isolation: "gateway", ignore: ["user"] });
    const post = async (body: string) => {
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body,
      });
      await response.text();
      return (response.headers.get("cache-status") ?? "").includes("hit");
    };
    expect(
      await post('{"model":"gpt-fake","messages":[{"role":"user","content":"a\\u0062"}],"seed":1}'),
    ).toBeFalse();
    expect(
      await post('{ "seed":1.0,"messages":[{"content":"ab","role":"user"}], "model":"gpt-fake"}'),
    ).toBeTrue();
    expect(
      await post('{"model":"gpt-fake","messages":[{"role":"user","content":"ab"}],"seed":1,"user":"me"}'),
    ).toBeTrue();
    expect(
      await post('{"model":"gpt-fake","messages":[{"role":"user","content":"ab"}],"seed":2}'),
    ).toBeFalse();
    // A provider may take the first of two equal keys, the gateway takes the last.
    expect(
      await post('{"model":"gpt-fake","messages":[{"role":"user","content":"ab"}],"seed":3,"seed":1}'),
    ).toBeFalse();
  });

  test("vary: the values of these headers are part of the key; so are headers of the format and the path", async () => {
    const route = await seed({ isolation: "gateway", vary: ["X-Tenant"] });
    await send(route, { headers: { "x-tenant": "a" } });
    expect(statusOf(await send(route, { headers: { "x-tenant": "a" } }))).toContain("hit");
    expect(statusOf(await send(route, { headers: { "x-tenant": "b" } }))).toContain("uri-miss");
    expect(statusOf(await send(route, { headers: { "x-tenant": "a", "openai-beta": "x" } }))).toContain(
      "uri-miss",
    );
  });

  test("one entry serves stream and non-stream, whichever came first", async () => {
    const route = await seed({ isolation: "gateway" });
    provider.behave({ text: "Good day to you", chunks: 4 });
    const whole = await send(route);
    const streamed = await send(route, { body: { stream: true } });
    expect(statusOf(streamed)).toContain("hit");
    expect(streamed.headers.get("content-type")).toContain("text/event-stream");
    expect(streamedContent(streamed.text)).toBe(contentOf(whole.text));
    expect(streamed.text.endsWith("data: [DONE]\n\n")).toBeTrue();
    expect(streamed.text).not.toContain("prompt_tokens");
    const counted = await send(route, { body: { stream: true, stream_options: { include_usage: true } } });
    expect(counted.text).toContain('"prompt_tokens"');
    const other = { messages: [{ role: "user", content: "streamed first" }] };
    const first = await send(route, { body: { ...other, stream: true } });
    const second = await send(route, { body: other });
    expect(statusOf(second)).toContain("hit");
    expect(contentOf(second.text)).toBe(streamedContent(first.text));
    // The client of the stream did not ask for its usage; the gateway did.
    expect(JSON.parse(second.text)).toMatchObject({ usage: { prompt_tokens: expect.any(Number) } });
    expect(provider.requests).toHaveLength(2);
  });

  test("a kept response that begins with a byte order mark can be streamed", async () => {
    const route = await seed({ isolation: "gateway" });
    const message = { role: "assistant", content: "kept" };
    const completion = { id: "1", model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] };
    const behavior = JSON.stringify({ body: `\ufeff${JSON.stringify(completion)}` });
    await send(route, { headers: { "x-fake": behavior.replace("\ufeff", "\\ufeff") } });
    const streamed = await send(route, { body: { stream: true } });
    expect([streamed.status, statusOf(streamed)]).toEqual([200, expect.stringMatching(/^gatehouse; hit/)]);
    expect(streamedContent(streamed.text)).toBe("kept");
  });

  test("pre_response plugins run on hits, and pre_request plugins before: the key is that of the changed body", async () => {
    const mask = `context.replaceBody(JSON.stringify({ ...context.json, messages: [{ role: "user", content: "masked" }] }))`;
    const upper = `context.replaceChunk(context.text.replaceAll("Good day", "GOOD DAY " + context.requestId))`;
    const route = await seed({ isolation: "gateway" }, {}, [
      scripted("pre_request", mask),
      scripted("pre_response", upper),
    ]);
    provider.behave({ text: "Good day" });
    const first = await send(route, { headers: { "x-request-id": "one" } });
    const body = { messages: [{ role: "user", content: "another" }] };
    const second = await send(route, { body, headers: { "x-request-id": "two" } });
    const third = await send(route, {
      body: { ...body, stream: true },
      headers: { "x-request-id": "three" },
    });
    expect([statusOf(second), statusOf(third)].every((status) => status?.includes("hit"))).toBeTrue();
    expect([contentOf(first.text), contentOf(second.text)]).toEqual(["GOOD DAY one", "GOOD DAY two"]);
    expect(streamedContent(third.text)).toBe("GOOD DAY three");
  });

  test("a hit costs no tokens, and appears in usage as cached with what it saved", async () => {
    const prices = [{ model: "gpt-fake", input: "1000", output: "1000" }];
    const route = await seed({ isolation: "gateway" }, { prices });
    provider.behave({ usage: { input: 100, output: 10 } });
    await send(route);
    await send(route);
    await send(route, { body: { stream: true } });
    const { usage, total } = await usageOf(route);
    expect(total).toMatchObject({
      requests: 3,
      input_tokens: 100,
      output_tokens: 10,
      cached_requests: 2,
      saved_input_tokens: 200,
      saved_output_tokens: 20,
    });
    expect([total.cost, total.saved_cost]).toEqual([0.11, 0.22]);
    expect(usage.find(({ purpose }: { purpose: string }) => purpose === "cached")).toMatchObject({
      requests: 2,
      input_tokens: 0,
      cost: 0,
    });
  });

  test("what hits of a model without a price have saved is unknown, not 0", async () => {
    const route = await seed({ isolation: "gateway" });
    const body = { model: "unpriced" };
    await send(route, { body });
    await send(route, { body });
    const { usage, total } = await usageOf(route);
    expect(total).toMatchObject({ cached_requests: 1, cost: null, saved_cost: null });
    expect(usage).toContainEqual(expect.objectContaining({ purpose: "request", saved_cost: 0 }));
    const state = await gatehouse.api("GET", `/gateways/${route.gateway}/cache`);
    expect(state.body).toMatchObject({ hits: 1, saved_cost: null, unpriced_requests: 1 });
  });

  test("a hit counts for limits of requests, and not for those of tokens", async () => {
    const limit = { limit: 100_000, window: "1h" };
    const route = await seed({ isolation: "gateway" }, {}, [
      {
        name: "rate_limiter",
        stage: "pre_request",
        settings: { limits: { global: { limit: 3, window: "1h" } } },
      },
      { name: "token_limiter", stage: "pre_request", settings: { limits: { global: limit } } },
    ]);
    provider.behave({ usage: { input: 500, output: 500 } });
    for (let count = 0; count < 3; count++) expect((await send(route)).status).toBe(200);
    expect((await send(route)).status).toBe(429);
    const remaining = async () => {
      const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
        method: "POST",
        path: route.path,
        headers: {},
        body: CHAT,
      });
      return body.limits.map(({ remaining: left }: { remaining: number }) => left) as number[];
    };
    await waitUntil(async () => (await remaining()).includes(99_000));
  });
});

describe("isolation", () => {
  test("key: two keys, many prompts, no crossing", async () => {
    const route = await seed();
    const [a, b] = await Promise.all([seedKey(gatehouse, route.gateway), seedKey(gatehouse, route.gateway)]);
    const prompts = runs({ short: 40, long: 10_000 });
    for (let start = 0; start < prompts; start += 20) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, offset) => {
          const body = { messages: [{ role: "user", content: `prompt ${start + offset}` }] };
          for (const { key, id } of [a, b]) {
            const text = `${id} ${start + offset}`;
            const headers = { "x-fake": JSON.stringify({ text }) };
            const first = await send(route, { key, body, headers });
            expect([contentOf(first.text), statusOf(first)]).toEqual([text, "gatehouse; fwd=uri-miss"]);
            const again = await send(route, { key, body });
            expect([contentOf(again.text), statusOf(again)?.slice(0, 15)]).toEqual([text, "gatehouse; hit;"]);
          }
        }),
      );
    }
  }, 600_000);

  test("requests without a key are not cached, unless the gateway shares everything", async () => {
    const route = await seed();
    for (let count = 0; count < 2; count++) expect(statusOf(await send(route))).toBe("gatehouse; fwd=bypass");
  });

  test("user: the pair of key and user; label: keys with the same value; a key without the label is alone", async () => {
    const users = await seed({ isolation: "user" });
    const { key } = await seedKey(gatehouse, users.gateway);
    await send(users, { key, headers: { "x-user-id": "ann" } });
    expect(statusOf(await send(users, { key, headers: { "x-user-id": "ann" } }))).toContain("hit");
    expect(statusOf(await send(users, { key, headers: { "x-user-id": "bob" } }))).toContain("miss");
    const labels = await seed({ isolation: "label:team" });
    const keyOf = async (fields: Fields) => (await seedKey(gatehouse, labels.gateway, fields)).key;
    const [a, b, c, d, e] = await Promise.all([
      keyOf({ labels: { team: "search" } }),
      keyOf({ labels: { team: "search" } }),
      keyOf({ labels: { team: "ads" } }),
      keyOf({}),
      keyOf({}),
    ]);
    await send(labels, { key: a });
    expect(statusOf(await send(labels, { key: b }))).toContain("hit");
    expect(statusOf(await send(labels, { key: c }))).toContain("miss");
    expect(statusOf(await send(labels, { key: d }))).toContain("miss");
    expect(statusOf(await send(labels, { key: e }))).toContain("miss");
  });

  test("clients with their own credentials for the provider never share a response", async () => {
    const route = await seed({ isolation: "gateway" });
    await send(route, { headers: { authorization: "Bearer sk-one" } });
    expect(statusOf(await send(route, { headers: { authorization: "Bearer sk-one" } }))).toContain("hit");
    expect(statusOf(await send(route, { headers: { authorization: "Bearer sk-two" } }))).toContain("miss");
  });
});

describe("what is kept", () => {
  test.each([
    ["store", { store: true }],
    ["hosted tools", { web_search_options: { search_context_size: "low" } }],
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["background", { background: true }],
  ])("not with %s", async (_, body) => {
    const route = await seed({ isolation: "gateway" });
    for (let count = 0; count < 2; count++)
      expect(statusOf(await send(route, { body }))).toBe("gatehouse; fwd=bypass");
  });

  test("only complete 2xx: not errors, not responses that report one, not larger ones", async () => {
    const route = await seed({ isolation: "gateway", max_entry_bytes: 2048 });
    const again = async (headers: Record<string, string>, body: Fields) => {
      await send(route, { headers, body });
      const second = await send(route, { headers, body });
      return statusOf(second)?.includes("hit") ?? null;
    };
    const fake = (behavior: Fields) => ({ "x-fake": JSON.stringify(behavior) });
    expect(await again(fake({ status: 400 }), { seed: 1 })).toBeFalse();
    expect(await again(fake({ body: '{"error":{"message":"no"}}' }), { seed: 2 })).toBeFalse();
    expect(await again(fake({ body: '{"choices":[{"finish_reason":null}]}' }), { seed: 3 })).toBeFalse();
    expect(await again(fake({ text: "long ".repeat(1000) }), { seed: 4 })).toBeFalse();
    expect(await again(fake({ text: "long ".repeat(1000) }), { seed: 5, stream: true })).toBeFalse();
    expect(await again(fake({ chunks: 3, errorAfterChunks: 2 }), { seed: 6, stream: true })).toBeFalse();
    expect(await again(fake({ gzip: true }), { seed: 7 })).toBeTrue();
  });

  test("no stream that was cut at any place", async () => {
    const route = await seed({ isolation: "gateway" });
    const cuts = runs({ short: 40, long: 500 });
    const headers = (cutAfterBytes: number) => ({ "x-fake": JSON.stringify({ chunks: 8, cutAfterBytes }) });
    const whole = await send(route, {
      body: { stream: true, seed: -1 },
      headers: { "x-fake": '{"chunks":8}' },
    });
    const places = Array.from({ length: cuts }, (_, place) => Math.floor((place * whole.text.length) / cuts));
    for (let at = 0; at < places.length; at += 10)
      await Promise.all(
        places.slice(at, at + 10).map(async (place) => {
          await send(route, { body: { stream: true, seed: place }, headers: headers(place) }).catch(
            () => null,
          );
          const second = await send(route, { body: { seed: place } });
          expect(statusOf(second)).toBe("gatehouse; fwd=uri-miss");
        }),
      );
  }, 120_000);

  test("embeddings and count_tokens are kept, on targets without a path", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { required_plugins: [cache()] },
      upstream: { targets: [targetAt(provider)] },
      rule: { path: "/v1/*", methods: ["*"] },
    });
    const { key } = await seedKey(gatehouse, route.gateway);
    const post = async (path: string, body: Fields) => {
      const response = await fetch(gatehouse.proxyUrl + path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
        body: JSON.stringify(body),
      });
      await response.text();
      return [response.status, response.headers.get("cache-status")?.slice(0, 14)];
    };
    const embed = { model: "embed-fake", input: ["a", "b"] };
    expect(await post("/v1/embeddings", embed)).toEqual([200, "gatehouse; fwd"]);
    expect(await post("/v1/embeddings", embed)).toEqual([200, "gatehouse; hit"]);
    const respond = { model: "gpt-fake", input: "hello" };
    expect(await post("/v1/responses/input_tokens", respond)).toEqual([200, "gatehouse; fwd"]);
    expect(await post("/v1/responses/input_tokens", respond)).toEqual([200, "gatehouse; hit"]);
    expect(await post("/v1/responses", respond)).toEqual([200, "gatehouse; fwd"]);
    expect(await post("/v1/responses", respond)).toEqual([200, "gatehouse; fwd"]);
    expect(await post("/v1/responses", { ...respond, store: false })).toEqual([200, "gatehouse; fwd"]);
    expect(await post("/v1/responses", { ...respond, store: false })).toEqual([200, "gatehouse; hit"]);
  });
});

describe("Cache-Control of the request", () => {
  test("no-store neither reads nor keeps; no-cache keeps; max-age limits the age; only-if-cached is 504", async () => {
    const route = await seed({ isolation: "gateway" });
    const withControl = (value: string) => send(route, { headers: { "cache-control": value } });
    const missing = await withControl("only-if-cached");
    expect([missing.status, JSON.parse(missing.text)]).toMatchObject([504, { code: "not_cached" }]);
    expect(statusOf(await withControl("no-store"))).toBe("gatehouse; fwd=request");
    expect(statusOf(await withControl("no-cache"))).toBe("gatehouse; fwd=request");
    expect(statusOf(await withControl("max-age=60"))).toContain("hit");
    expect(statusOf(await withControl("only-if-cached"))).toContain("hit");
    expect(statusOf(await withControl("max-age=0"))).toBe("gatehouse; fwd=request");
    expect(statusOf(await withControl("no-store"))).toBe("gatehouse; fwd=request");
  });
});

describe("coalescing", () => {
  const AT_ONCE = runs({ short: 200, long: 1000 });

  test(`${AT_ONCE} concurrent equal requests, streams and others, make one call`, async () => {
    const route = await seed({ isolation: "gateway" });
    provider.behave({ text: "Good day", delayMs: 800 });
    const responses = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const response = await rawJson(gatehouse.proxyUrl, route.path, { ...CHAT, stream: index % 2 === 1 });
        return { text: response.body.toString(), status: response.header("cache-status") };
      }),
    );
    expect(provider.requests).toHaveLength(1);
    const texts = responses.map(({ text }, index) =>
      index % 2 === 1 ? streamedContent(text) : contentOf(text),
    );
    expect(new Set(texts)).toEqual(new Set(["Good day"]));
    const statuses = responses.map(({ status }) => status ?? "");
    expect(statuses.some((status) => status.includes("collapsed"))).toBe(true);
    // On a busy machine, some arrive after the response to the first one.
    expect(statuses.filter((status) => /collapsed|hit/.test(status))).toHaveLength(AT_ONCE - 1);
  }, 60_000);

  test("a stream is passed on while it arrives, to the same bytes", async () => {
    const route = await seed({ isolation: "gateway" });
    provider.behave({ text: "one two three four five six", ...slowly });
    const open = () =>
      fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...CHAT, stream: true }),
      });
    const first = await open();
    const second = await open();
    expect(second.headers.get("cache-status")).toBe("gatehouse; fwd=uri-miss; collapsed");
    const reader = second.body?.getReader();
    const opening = await reader?.read();
    expect(Buffer.from(opening?.value ?? []).toString()).not.toContain("[DONE]");
    let rest = Buffer.from(opening?.value ?? []).toString();
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      rest += Buffer.from(part.value).toString();
    expect(rest).toBe(await first.text());
    expect(provider.requests).toHaveLength(1);
  });

  test("a call lives as long as any waiter, and ends with the last one", async () => {
    const route = await seed({ isolation: "gateway" });
    provider.behave({ text: "one two three four five six", ...slowly });
    const open = (signal: AbortSignal | null, body: Fields = {}) =>
      fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...CHAT, stream: true, ...body }),
        signal,
      });
    const leaving = new AbortController();
    await open(leaving.signal);
    const second = await open(null);
    leaving.abort();
    const text = await second.text();
    expect(text.endsWith("data: [DONE]\n\n")).toBeTrue();
    expect(provider.requests).toHaveLength(1);
    expect(statusOf(await send(route))).toContain("hit");
    // Both leave: the provider sees its connection closed.
    const [one, two] = [new AbortController(), new AbortController()];
    await open(one.signal, { seed: 2 });
    await open(two.signal, { seed: 2 });
    one.abort();
    two.abort();
    await waitUntil(() => provider.requests.at(-1)?.aborted === true);
  });

  test("if the first request fails, the others send their own", async () => {
    const route = await seed({ isolation: "gateway" });
    provider.behave({ status: 400, delayMs: 300 });
    const responses = await Promise.all([send(route), send(route), send(route)]);
    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(provider.requests).toHaveLength(3);
  });
});

test("a response that a game day has changed is neither kept nor shared with other requests", async () => {
  const route = await seed({ isolation: "gateway" });
  const { status } = await gatehouse.api("POST", `/gateways/${route.gateway}/game-days`, {
    name: "drill",
    ends_at: new Date(Date.now() + 600_000).toISOString(),
    match: { headers: { "x-drill": "yes" } },
    faults: [{ type: "missing_usage" }],
  });
  expect(status).toBe(201);
  provider.behave({ delayMs: 200 });
  const drill = { headers: { "x-drill": "yes" } };
  const affected = send(route, drill);
  await waitUntil(() => provider.requests.length === 1);
  const [first, other] = await Promise.all([affected, send(route)]);
  expect([statusOf(first), first.text.includes("usage")]).toEqual(["gatehouse; fwd=uri-miss", false]);
  expect([statusOf(other), other.text.includes("usage")]).toEqual(["gatehouse; fwd=uri-miss", true]);
  expect((await send(route, { ...drill, body: { seed: 1 } })).text).not.toContain("usage");
  expect(statusOf(await send(route, { body: { seed: 1 } }))).toBe("gatehouse; fwd=uri-miss");
  // What other requests have kept serves affected ones, too.
  expect(statusOf(await send(route, drill))).toContain("hit");
});

test("explain says whether a response is kept, and keeps none", async () => {
  const route = await seed({ isolation: "gateway" });
  const explain = async () => {
    const { body } = await gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
      method: "POST",
      path: route.path,
      headers: {},
      body: CHAT,
    });
    return [body.plugins[0].verdict, body.plugins[0].detail, body.answer?.status ?? null];
  };
  expect(await explain()).toEqual(["passed", "miss (uri-miss)", null]);
  await send(route);
  expect(await explain()).toEqual(["answered", "hit", 200]);
});

test("GET and DELETE of the cache: counts and what is saved; purged responses are gone", async () => {
  const route = await seed({ isolation: "gateway" });
  provider.behave({ usage: { input: 7, output: 3 } });
  await send(route);
  await send(route);
  const at = `/gateways/${route.gateway}/cache`;
  const { body } = await gatehouse.api("GET", at);
  expect(body).toMatchObject({
    store: "memory",
    entries: 1,
    hits: 1,
    misses: 1,
    kept: 1,
    hit_ratio: 0.5,
    saved_input_tokens: 7,
    saved_output_tokens: 3,
  });
  expect((await gatehouse.api("DELETE", at)).status).toBe(204);
  expect(statusOf(await send(route))).toContain("miss");
  expect((await gatehouse.api("GET", "/gateways/unknown/cache")).status).toBe(404);
});

describe("official SDKs read hits of both kinds", () => {
  const connect = async (target: Fields) => {
    const { gateway } = await seedRoute(gatehouse, {
      gateway: { required_plugins: [cache()] },
      upstream: { targets: [targetAt(provider, target)] },
      rule: { path: "/v1/*", methods: ["*"] },
    });
    return (await seedKey(gatehouse, gateway)).key;
  };
  const tools = {
    turns: [{ text: "Let me see.", calls: [{ name: "get_weather", arguments: { city: "Paris" } }] }],
  };
  const schema = { type: "object" as const, properties: { city: { type: "string" } } };

  test.each([["openai"], ["anthropic"]])("chat and responses, at a target of %s", async (name) => {
    const apiKey = await connect({ provider: name });
    const client = new OpenAI({ apiKey, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 0 });
    provider.behave(tools);
    const chat = {
      model: "fake-1",
      messages: [{ role: "user" as const, content: "Weather?" }],
      tools: [{ type: "function" as const, function: { name: "get_weather", parameters: schema } }],
    };
    const whole = await client.chat.completions.create(chat);
    const streamed = await client.chat.completions.stream(chat).finalChatCompletion();
    expect(streamed.choices[0]?.message).toMatchObject({
      content: "Let me see.",
      tool_calls: [{ function: { name: "get_weather", arguments: '{"city":"Paris"}' } }],
    });
    expect([streamed.id, streamed.choices[0]?.finish_reason]).toEqual([whole.id, "tool_calls"]);
    const asked = { model: "fake-1", input: "Hello", store: false };
    provider.behave({ text: "Good day" });
    const events = client.responses.stream(asked);
    const first = await events.finalResponse();
    const second = await client.responses.create(asked);
    expect([second.output_text, first.output_text]).toEqual(["Good day", "Good day"]);
    const third = await client.responses.stream(asked).finalResponse();
    expect(third.output_text).toBe("Good day");
    expect(provider.requests).toHaveLength(2);
  });

  test.each([["openai"], ["anthropic"]])("messages, at a target of %s", async (name) => {
    const client = new Anthropic({ apiKey: await connect({ provider: name }), baseURL: gatehouse.proxyUrl });
    provider.behave(tools);
    const ask = {
      model: "fake-1",
      max_tokens: 100,
      messages: [{ role: "user" as const, content: "Weather?" }],
      tools: [{ name: "get_weather", input_schema: schema }],
    };
    const first = await client.messages.stream(ask).finalMessage();
    const second = await client.messages.create(ask);
    const third = await client.messages.stream(ask).finalMessage();
    expect(second.content).toMatchObject([
      { type: "text", text: "Let me see." },
      { type: "tool_use", name: "get_weather", input: { city: "Paris" } },
    ]);
    for (const { content } of [first, third]) expect(content).toMatchObject(second.content);
    expect([third.stop_reason, third.usage.output_tokens]).toEqual(["tool_use", second.usage.output_tokens]);
    // The SDK asks for another version or feature of the API: another response.
    await client.messages.create(ask, { headers: { "anthropic-beta": "x-1" } });
    expect(provider.requests).toHaveLength(2);
  });
});
