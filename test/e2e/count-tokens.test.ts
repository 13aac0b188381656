// Requests for the number of input tokens: the provider's own count where it has one, else an estimate of the gateway.
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { create } from "../support/admin-fixtures.ts";
import { limiter } from "../support/plugin-fixtures.ts";
import { onlyRequest, rawCall, rawJson, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const other = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

const COUNT_TOKENS = "/v1/messages/count_tokens";
const INPUT_TOKENS = "/v1/responses/input_tokens";
const TEXT = "The committee agreed that the new library should stay open on Sundays. ".repeat(20);
const MESSAGES = { model: "m", messages: [{ role: "user" as const, content: TEXT }] };
const ITEMS = { model: "m", input: TEXT };
/** The true count of TEXT is 261 (o200k_base). */
const MIN_TOKENS = 0.75 * 261;
const MAX_TOKENS = 1.35 * 261;

/** Creates a rule for all paths below a prefix. */
async function seedApi(
  targets: readonly Record<string, unknown>[],
  upstream: object = {},
  plugins: readonly object[] = [],
) {
  const prefix = `/api-${crypto.randomUUID()}`;
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { required_plugins: plugins },
    upstream: { targets, max_attempts: 1, ...upstream },
    rule: { path: `${prefix}/*`, methods: ["*"] },
  });
  return { prefix, gateway };
}

async function api(...args: Parameters<typeof seedApi>): Promise<string> {
  return (await seedApi(...args)).prefix;
}

const post = (path: string, body: unknown) => rawJson(gatehouse.proxyUrl, path, body);
const estimated = (response: Awaited<ReturnType<typeof post>>) => response.header("x-gw-estimated");

describe("a provider that has the endpoint counts itself", () => {
  test.each([
    ["anthropic", COUNT_TOKENS, MESSAGES],
    ["openai", INPUT_TOKENS, ITEMS],
  ])("%s: %s", async (name, path, body) => {
    const prefix = await api([targetAt(provider, { provider: name })]);
    const response = await post(prefix + path, body);
    expect(onlyRequest(provider).target).toBe(path);
    expect(estimated(response)).toBeUndefined();
  });

  test("also if only some of the targets have it", async () => {
    const prefix = await api([
      targetAt(other, { provider: "openai" }),
      targetAt(provider, { provider: "anthropic" }),
    ]);
    for (let request = 0; request < 3; request++)
      expect(estimated(await post(prefix + COUNT_TOKENS, MESSAGES))).toBeUndefined();
    expect([provider.requests.length, other.requests.length]).toEqual([3, 0]);
  });

  test("a target with a path gets the request there, as before", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai", path: "/fixed" })]);
    await post(prefix + COUNT_TOKENS, MESSAGES);
    expect(onlyRequest(provider).target).toBe("/fixed");
  });
});

describe("the gateway estimates for a provider that has no such endpoint", () => {
  test.each([
    ["openai", COUNT_TOKENS, MESSAGES, {}],
    ["anthropic", INPUT_TOKENS, ITEMS, { object: "response.input_tokens" }],
    ["mistral", COUNT_TOKENS, MESSAGES, {}],
    ["mistral", INPUT_TOKENS, ITEMS, { object: "response.input_tokens" }],
  ])("%s: %s", async (name, path, body, shape) => {
    const prefix = await api([targetAt(provider, { provider: name })]);
    const response = await post(prefix + path, body);
    expect([response.status, estimated(response)]).toEqual([200, "true"]);
    expect(response.header("content-type")).toStartWith("application/json");
    expect(response.header("request-id")).toBe(response.header("x-request-id"));
    const { input_tokens: tokens, ...rest } = response.json();
    expect(rest).toEqual(shape);
    expect(tokens).toBeGreaterThan(MIN_TOKENS);
    expect(tokens).toBeLessThan(MAX_TOKENS);
    expect(provider.requests).toEqual([]);
  });

  test("the model decides which targets count", async () => {
    const targets = [
      targetAt(provider, { provider: "anthropic", models: ["claude-a"] }),
      targetAt(other, { provider: "openai", models: ["gpt-a"] }),
    ];
    const prefix = await api(targets, { model_routing: "require" });
    const count = (model: string) => post(prefix + COUNT_TOKENS, { ...MESSAGES, model });
    expect(estimated(await count("claude-a"))).toBeUndefined();
    expect(estimated(await count("gpt-a"))).toBe("true");
    const unknown = await count("gpt-b");
    expect([unknown.status, unknown.json().code]).toEqual([404, "model_not_found"]);
    expect([provider.requests.length, other.requests.length]).toEqual([1, 0]);
  });

  test("by default, too, a target of another model does not count", async () => {
    const prefix = await api([
      targetAt(provider, { provider: "anthropic", models: ["claude-a"] }),
      targetAt(other, { provider: "openai", models: ["gpt-a"] }),
    ]);
    const count = async (path: string, body: object, model: string) =>
      estimated(await post(prefix + path, { ...body, model }));
    expect(await count(COUNT_TOKENS, MESSAGES, "gpt-a")).toBe("true");
    expect(await count(INPUT_TOKENS, ITEMS, "claude-a")).toBe("true");
    expect(await count(COUNT_TOKENS, MESSAGES, "claude-a")).toBeUndefined();
    expect(await count(INPUT_TOKENS, ITEMS, "gpt-a")).toBeUndefined();
    expect([provider.requests.length, other.requests.length]).toEqual([1, 1]);
    // No target serves this model: the targets get it, or their default model, as other requests do.
    expect(await count(COUNT_TOKENS, MESSAGES, "unknown")).toBeUndefined();
  });

  test("a virtual model is counted by its targets, else estimated, also beyond its context window", async () => {
    const prices = [{ model: "small", input: "1", output: "1", context_window: 10 }];
    const { gateway, upstream } = await seedRoute(gatehouse, {
      gateway: { prices },
      upstream: { targets: [targetAt(provider, { provider: "anthropic" })] },
      rule: { path: "/virtual/*", methods: ["*"] },
    });
    const at = `/gateways/${gateway}/models`;
    await create(gatehouse, at, { name: "assistant", targets: [{ upstream, model: "small" }] });
    const counted = await post(`/virtual${COUNT_TOKENS}`, { ...MESSAGES, model: "assistant" });
    expect([counted.status, estimated(counted)]).toEqual([200, undefined]);
    expect(onlyRequest(provider).body.toString()).toContain('"small"');
    const response = await post(`/virtual${INPUT_TOKENS}`, { ...ITEMS, model: "assistant" });
    expect([response.status, estimated(response)]).toEqual([200, "true"]);
    expect(response.header("x-gw-virtual-model")).toBe("assistant");
    const request = { path: `/virtual${INPUT_TOKENS}`, body: { ...ITEMS, model: "assistant" } };
    const explained = await gatehouse.api("POST", `/gateways/${gateway}/explain`, request);
    expect(explained.body).toMatchObject({ upstream_request: null, answer: { status: 200 } });
    // Only POST asks for a count.
    const put = await rawCall(gatehouse.proxyUrl, {
      method: "PUT",
      target: request.path,
      headers: [["Content-Type", "application/json"]],
      body: JSON.stringify(request.body),
    });
    expect([put.status, put.json().code]).toEqual([404, "operation_not_supported"]);
    const { key } = await seedKey(gatehouse, gateway, { models: ["assistant"] });
    const refused = await rawJson(
      gatehouse.proxyUrl,
      `/virtual${COUNT_TOKENS}`,
      { ...MESSAGES, model: "assistant" },
      [["X-GW-API-Key", key]],
    );
    expect([refused.status, refused.json().code]).toEqual([403, "model_not_allowed"]);
  });

  test("a rule for this path only does not send the request to the chat endpoint", async () => {
    const path = `/exact-${crypto.randomUUID()}${COUNT_TOKENS}`;
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "openai" })] },
      rule: { path },
    });
    expect(estimated(await post(path, MESSAGES))).toBe("true");
    expect(provider.requests).toEqual([]);
  });

  test("a large body is estimated, too", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    const messages = [{ role: "user", content: TEXT.repeat(1000) }];
    const response = await fetch(gatehouse.proxyUrl + prefix + COUNT_TOKENS, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "m", messages }),
    });
    expect(await response.json()).toEqual({ input_tokens: expect.any(Number) });
    expect(response.headers.get("x-gw-estimated")).toBe("true");
  });

  test("a body that is no JSON object is 400", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    for (const [type, body] of [
      ["application/json", "[]"],
      ["text/plain", "How many tokens?"],
    ] as const) {
      const response = await rawCall(gatehouse.proxyUrl, {
        target: prefix + COUNT_TOKENS,
        headers: [["content-type", type]],
        body,
      });
      expect([response.status, response.json().code]).toEqual([400, "bad_request"]);
    }
  });

  test("plugins and the models of an API key apply", async () => {
    const targets = [targetAt(provider, { provider: "openai" })];
    const { prefix, gateway } = await seedApi(targets, {}, [limiter({ global: [1, "1h"] })]);
    const { key } = await seedKey(gatehouse, gateway, { models: ["m"] });
    const count = (model: string) =>
      rawJson(gatehouse.proxyUrl, prefix + COUNT_TOKENS, { ...MESSAGES, model }, [["X-GW-API-Key", key]]);
    const refused = await count("other");
    expect([refused.status, refused.json().code]).toEqual([403, "model_not_allowed"]);
    const first = await count("m");
    expect([first.status, first.header("x-ratelimit-global-remaining")]).toEqual([200, "0"]);
    expect((await count("m")).status).toBe(429);
  });

  test("explain shows the estimate", async () => {
    const { prefix, gateway } = await seedApi([targetAt(provider, { provider: "openai" })]);
    const request = { method: "POST", path: prefix + COUNT_TOKENS, body: MESSAGES };
    const { body } = await gatehouse.api("POST", `/gateways/${gateway}/explain`, request);
    expect(body).toMatchObject({ upstream_request: null, answer: { status: 200 } });
  });

  test("other methods are 404", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    const response = await rawCall(gatehouse.proxyUrl, { method: "GET", target: prefix + COUNT_TOKENS });
    expect([response.status, response.json().code]).toEqual([404, "operation_not_supported"]);
  });
});

describe("official clients read the estimate", () => {
  test("of Anthropic", async () => {
    const prefix = await api([targetAt(provider, { provider: "openai" })]);
    const client = new Anthropic({ apiKey: "x", baseURL: gatehouse.proxyUrl + prefix });
    const { input_tokens: tokens } = await client.messages.countTokens(MESSAGES);
    expect(tokens).toBeGreaterThan(MIN_TOKENS);
  });

  test("of OpenAI", async () => {
    const prefix = await api([targetAt(provider, { provider: "mistral" })]);
    const client = new OpenAI({ apiKey: "x", baseURL: `${gatehouse.proxyUrl}${prefix}/v1` });
    const { input_tokens: tokens, object } = await client.responses.inputTokens.count(ITEMS);
    expect(object).toBe("response.input_tokens");
    expect(tokens).toBeGreaterThan(MIN_TOKENS);
  });
});
