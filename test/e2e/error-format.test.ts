// error_format of gateways and rules: the gateway's own errors as typed clients of providers read them, and by default as before.
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();

/** One request per hour: the second is refused. */
const LIMITER = {
  name: "rate_limiter",
  stage: "pre_request",
  settings: { limits: { global: { limit: 1, window: "1h" } } },
};
const CHAT = { model: "gpt-fake", messages: [{ role: "user" as const, content: "Good morning" }] };
const MESSAGE = { ...CHAT, max_tokens: 10 };

let count = 0;
/** Creates a gateway with a rule on a path of its own. Resolves to the base URL of that path. */
async function seed(fields: {
  gateway?: Record<string, unknown>;
  rule?: Record<string, unknown>;
  end?: string;
}) {
  const prefix = `/errors-${++count}`;
  await seedRoute(gatehouse, {
    gateway: fields.gateway ?? {},
    upstream: { targets: [targetAt(provider, { path: "/v1/chat/completions" })], max_attempts: 1 },
    rule: { path: `${prefix}${fields.end ?? "/chat/completions"}`, ...fields.rule },
  });
  return `${gatehouse.proxyUrl}${prefix}`;
}

async function thrownBy(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("it did not throw");
}

const openAi = (baseURL: string) => new OpenAI({ apiKey: "sk-unknown", baseURL, maxRetries: 0 });
const anthropic = (baseURL: string) => new Anthropic({ apiKey: "sk-unknown", baseURL, maxRetries: 0 });
const post = (url: string, headers: Record<string, string> = {}, body: unknown = CHAT) =>
  fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("with error_format auto", () => {
  test("the OpenAI client throws its typed errors, with message and code", async () => {
    const gateway = { error_format: "auto", required_plugins: [LIMITER] };
    const client = openAi(await seed({ gateway }));
    await client.chat.completions.create(CHAT);
    const error = await thrownBy(client.chat.completions.create(CHAT));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
      type: "rate_limit_error",
      param: null,
    });
    expect(String(error)).toContain("rate limit exceeded");
    expect(error).toHaveProperty("requestID", expect.stringMatching(/^[0-9a-f-]{36}$/));
  });

  test("the Anthropic client throws its typed errors, with the request id", async () => {
    const url = await seed({ rule: { error_format: "auto", require_api_key: true }, end: "/v1/messages" });
    const error = await thrownBy(anthropic(url).messages.create(MESSAGE));
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError);
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(error).toMatchObject({
      status: 401,
      requestID: id,
      error: {
        type: "error",
        error: { type: "authentication_error", message: expect.any(String), code: "api_key_required" },
        request_id: id,
      },
    });
  });

  test("a path that names no format has Anthropic's errors for a request with anthropic-version", async () => {
    const url = await seed({ rule: { error_format: "auto", require_api_key: true }, end: "/talk" });
    const withVersion = await post(`${url}/talk`, { "anthropic-version": "2023-06-01" });
    expect(await withVersion.json()).toMatchObject({ type: "error", error: { code: "api_key_required" } });
    const without = await post(`${url}/talk`);
    expect(await without.json()).toEqual({
      error: {
        message: expect.any(String),
        type: "authentication_error",
        param: null,
        code: "api_key_required",
      },
    });
  });

  test("count_tokens has Anthropic's errors without anthropic-version", async () => {
    const rule = { error_format: "auto", require_api_key: true };
    const url = await seed({ rule, end: "/v1/messages/count_tokens" });
    const response = await post(`${url}/v1/messages/count_tokens`);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "authentication_error" },
    });
  });
});

test("the rule's error_format takes precedence over that of its gateway", async () => {
  const rule = { error_format: "openai", require_api_key: true };
  const url = await seed({ gateway: { error_format: "anthropic" }, rule });
  expect(await (await post(`${url}/chat/completions`)).json()).toMatchObject({
    error: { code: "api_key_required" },
  });
  const gatewayOnly = await seed({ gateway: { error_format: "anthropic", require_api_key: true } });
  expect(await (await post(`${gatewayOnly}/chat/completions`)).json()).toMatchObject({ type: "error" });
});

test("by default errors keep the gateway's own shape, with both request id headers", async () => {
  const url = await seed({ rule: { require_api_key: true } });
  const response = await post(`${url}/chat/completions`, { "X-Request-Id": "from-the-client" });
  expect(response.status).toBe(401);
  expect(await response.json()).toEqual({
    error: expect.any(String),
    code: "api_key_required",
    request_id: "from-the-client",
  });
  expect(response.headers.get("request-id")).toBe("from-the-client");
  expect(response.headers.get("x-request-id")).toBe("from-the-client");
});

test("the response of code_sanitation names the place of the code in `param`", async () => {
  const settings = { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" };
  const plugin = { name: "code_sanitation", stage: "pre_request", settings };
  const url = await seed({ gateway: { error_format: "openai", required_plugins: [plugin] } });
  const attack = { ...CHAT, messages: [{ role: "user", content: "1 UNION SELECT password FROM users" }] };
  const response = await post(`${url}/chat/completions`, {}, attack);
  expect(await response.json()).toMatchObject({
    error: { code: "code_injection_detected", param: "messages[0].content", type: "invalid_request_error" },
  });
});

test("an error of the provider is relayed unchanged", async () => {
  const url = await seed({ gateway: { error_format: "anthropic" } });
  const fake = JSON.stringify({ status: 418, body: '{"error":"mine"}' });
  const response = await post(`${url}/chat/completions`, { "x-fake": fake });
  expect(response.status).toBe(418);
  expect(await response.json()).toEqual({ error: "mine" });
});

test("the gateway that the Host names decides before the API key has selected one", async () => {
  await seed({ gateway: { error_format: "auto", subdomain: "typed" } });
  await seed({});
  const url = `${gatehouse.proxyUrl}/v1/messages`;
  const key = { Host: "typed.example.com", "x-api-key": `gw_${"a".repeat(43)}` };
  const authentication = { type: "error", error: { type: "authentication_error", code: "invalid_api_key" } };
  expect(await (await post(url, key)).json()).toMatchObject(authentication);
  const twoKeys = { ...key, Authorization: `Bearer gw_${"b".repeat(43)}` };
  expect(await (await post(url, twoKeys)).json()).toMatchObject(authentication);
  const badPath = await post(`${gatehouse.proxyUrl}/v1%5c/messages`, { Host: "typed.example.com" });
  expect(await badPath.json()).toMatchObject({ type: "error", error: { code: "invalid_path" } });
  expect(
    await (await post(`${gatehouse.proxyUrl}/elsewhere`, { ...key, Host: "other.example.com" })).json(),
  ).toEqual({
    error: expect.any(String),
    code: "invalid_api_key",
    request_id: expect.any(String),
  });
});

describe("with several gateways and no error_format, a request that selects none has the errors of its SDK:", () => {
  const WRONG = `gw_${"a".repeat(43)}`;
  const own = (code: string) => ({ code, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  beforeAll(async () => {
    for (let count = 0; count < 2; count++)
      await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider)] },
        rule: { path: "/v1/*", methods: ["*"] },
      });
  });

  test("a wrong key of the OpenAI client is a typed 401", async () => {
    const client = new OpenAI({ apiKey: WRONG, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 0 });
    for (const call of [() => client.chat.completions.create(CHAT), () => client.models.list()]) {
      const error = await thrownBy(call());
      expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
      expect(error).toMatchObject({ code: "invalid_api_key", type: "authentication_error", param: null });
      expect(String(error)).toContain("The API key is unknown, expired or revoked.");
    }
  });

  test("a key of the provider is a typed 400 that says how to select a gateway", async () => {
    const error = await thrownBy(openAi(`${gatehouse.proxyUrl}/v1`).chat.completions.create(CHAT));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: "ambiguous_gateway", type: "invalid_request_error" });
    expect(String(error)).toMatch(/Host .*API key/);
  });

  test("the Anthropic client gets its typed errors", async () => {
    const client = new Anthropic({ apiKey: WRONG, baseURL: gatehouse.proxyUrl, maxRetries: 0 });
    const error = await thrownBy(client.messages.create(MESSAGE));
    expect(error).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(error).toMatchObject({
      error: { type: "error", error: { type: "authentication_error" }, ...own("invalid_api_key") },
    });
  });

  test.each([
    ["/v1/chat/completions", { message: expect.any(String), type: "authentication_error", param: null }],
    ["/v1/responses", { message: expect.any(String), type: "authentication_error", param: null }],
    ["/v1/models", { message: expect.any(String), type: "authentication_error", param: null }],
    ["/v1/messages", { message: expect.any(String), type: "authentication_error" }],
    [
      "/v1beta/models/gemini-fake:generateContent",
      { code: 401, message: expect.any(String), status: "UNAUTHENTICATED" },
    ],
  ])("%s, with the fields of the gateway's own errors", async (path, error) => {
    const response = await post(gatehouse.proxyUrl + path, { Authorization: `Bearer ${WRONG}` });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error, ...own("invalid_api_key") });
  });
});
