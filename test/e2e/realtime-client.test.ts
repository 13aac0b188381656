// Realtime endpoints with the official client and the fake provider, and how explain describes them.
import { expect, test } from "bun:test";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { REALTIME_MODEL, realtimeTurn } from "../support/realtime-turn.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();
const CREDENTIALS = { header_name: "Authorization", header_value: "Bearer sk-target" };
const seed = (path: string) =>
  seedRoute(gatehouse, {
    gateway: { require_api_key: true },
    upstream: { targets: [targetAt(provider, { credentials: CREDENTIALS })] },
    rule: { path, methods: ["*"] },
  });

test("the official client talks to the provider with base URL and key changed, and its usage is counted", async () => {
  const route = await seed("/official/v1/*");
  const { key } = await seedKey(gatehouse, route.gateway);
  const { realtime, text, response } = await realtimeTurn(`${gatehouse.proxyUrl}/official/v1`, key);
  expect(text.length).toBeGreaterThan(0);
  const { input_tokens = 0, output_tokens = 0 } = response.usage ?? {};
  expect(output_tokens).toBeGreaterThan(0);
  expect(await totalAfter(gatehouse, route, 1)).toMatchObject({
    requests: 1,
    input_tokens,
    output_tokens,
  });
  realtime.close();
  const record = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    return body.requests[0] ?? null;
  });
  expect(record).toMatchObject({
    status: 101,
    outcome: "complete",
    model: REALTIME_MODEL,
    tokens: { input: input_tokens, output: output_tokens },
  });
  expect(JSON.stringify(provider.requests)).not.toContain(key);
});

test("explain describes a handshake, and why it would be rejected", async () => {
  const { gateway } = await seed("/explained/*");
  const { key } = await seedKey(gatehouse, gateway);
  const explain = async (path: string, headers: Record<string, string> = {}) => {
    const request = {
      method: "GET",
      path,
      headers: { Connection: "Upgrade", Upgrade: "websocket", ...headers },
    };
    const { status, body } = await gatehouse.api("POST", `/gateways/${gateway}/explain`, request);
    expect(status).toBe(200);
    return body;
  };
  const handshake = {
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": `realtime, openai-insecure-api-key.${key}`,
  };
  const served = await explain("/explained/v1/realtime?model=gpt-realtime", handshake);
  expect(served).toMatchObject({
    answer: null,
    authentication: { verdict: "allowed" },
    upstream_request: { method: "GET", url: `${provider.url}/v1/realtime?model=gpt-realtime` },
  });
  expect(JSON.stringify(served)).not.toContain(key);
  expect(await explain("/explained/v1/realtime", { "X-GW-API-Key": key })).toMatchObject({
    answer: { status: 400, code: "bad_request" },
  });
  expect(await explain("/explained/v1/responses")).toMatchObject({
    answer: { status: 426, code: "websocket_not_supported" },
  });
});
