// What is reserved for the output of a request whose limits are unusable, contradict each other, or belong to another API.
import { expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedRoute } from "../support/proxy-fixtures.ts";

const { gatehouse, providers } = await startWithProviders("one");
const [one] = providers;

/** Reserved for the output of the first request to a model that does not limit it. */
const DEFAULT_OUTPUT = 1000;
const MODEL_MAXIMUM = 5000;
const INPUT = 50;

let routes = 0;

async function seed() {
  const prefix = `/bounds${++routes}`;
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "1", max_output_tokens: MODEL_MAXIMUM }] },
    upstream: { targets: [{ provider: "one", base_url: one.url }] },
    rule: { path: `${prefix}/*`, methods: ["POST"], strip_path: true },
  });
  const at = `/gateways/${gateway}`;
  const fields = { name: "tokens", unit: "tokens", amount: 1_000_000 };
  const { id } = await create(gatehouse, `${at}/budgets`, fields);
  return { url: gatehouse.proxyUrl + prefix, state: `${at}/budgets/${id}/state` };
}

/** Returns what is reserved while the provider has the request. */
async function reservedFor(path: string, body: object): Promise<number> {
  const { url, state } = await seed();
  one.behave({ delayMs: 60_000 });
  const leaving = new AbortController();
  const before = one.requestCount;
  const sent = fetch(url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: leaving.signal,
  }).catch(() => null);
  await one.until(() => one.requestCount > before);
  const { body: found } = await gatehouse.api("GET", state);
  leaving.abort();
  await sent;
  return Number(found.reserved);
}

test.each([
  [{ max_tokens: 1 }, 1],
  [{ max_tokens: 1, max_completion_tokens: 700 }, 700],
  [{ max_tokens: 1, max_completion_tokens: null }, 1],
  [{ max_tokens: -1 }, DEFAULT_OUTPUT],
  [{ max_tokens: 1, max_completion_tokens: -1 }, MODEL_MAXIMUM],
  [{ max_tokens: 1, max_completion_tokens: 100_000_001 }, MODEL_MAXIMUM],
  [{ max_tokens: 0, max_completion_tokens: 1 }, MODEL_MAXIMUM],
])("a chat with %j", async (fields, expected) => {
  const reserved = await reservedFor("/v1/chat/completions", { ...CHAT, model: "m", ...fields });
  expect(reserved).toBeWithin(expected, expected + INPUT);
});

const MESSAGES = [{ role: "user", content: [{ text: "Good morning" }] }];

test.each([
  ["/model/m/converse", { max_tokens: 1 }, DEFAULT_OUTPUT],
  ["/model/m/converse-stream", { max_tokens: 1, generationConfig: { maxOutputTokens: 1 } }, DEFAULT_OUTPUT],
  ["/model/m/conver%73e", { max_tokens: 1 }, DEFAULT_OUTPUT],
  ["/model/m/converse", { max_tokens: 1, inferenceConfig: { maxTokens: 300 } }, 300],
])("a request for Bedrock's Converse API at %s with %j", async (path, fields, expected) => {
  const reserved = await reservedFor(path, { messages: MESSAGES, ...fields });
  expect(reserved).toBeWithin(expected, expected + INPUT);
});
