// The input that is reserved before a provider is asked: also media by their bytes, conversations and files
// that only the provider has, and input at a higher price than text.
import { describe, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { LeavingClient } from "../support/stepped-provider.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("provider");
const [provider] = providers;

const WINDOW = 100_000;
const OUTPUT = 16;
const PRICE = { model: "*", input: "1", output: "1" };
const TEXT_BYTES = 200;
const pdf = (bytes: number) => Buffer.alloc(bytes, 65).toString("base64");
const SMALL = pdf(40_000);

interface Seeded extends SeededRoute {
  readonly url: string;
  readonly at: string;
  readonly budget: string;
}

async function seed(
  budget: object = {},
  price: object = { context_window: WINDOW },
  gateway: object = {},
  target: Record<string, unknown> = {},
  rule: Record<string, unknown> = { operations: ["chat", "responses", "messages"] },
): Promise<Seeded> {
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ ...PRICE, ...price }], ...gateway },
    upstream: { targets: [targetAt(provider, target)], max_attempts: 1 },
    rule: { path: `/${crypto.randomUUID()}/*`, strip_path: true, ...rule },
  });
  const at = `/gateways/${route.gateway}`;
  const fields = { name: "b", unit: "tokens", amount: 1_000_000, ...budget };
  const { id } = await create(gatehouse, `${at}/budgets`, fields);
  const url = gatehouse.proxyUrl + route.path.slice(0, -2);
  return { ...route, url, at, budget: `${at}/budgets/${id}/state` };
}

const reserved = async ({ budget }: Seeded) => Number((await gatehouse.api("GET", budget)).body.reserved);

/** Sends a request to a provider that does not respond yet, and resolves to what it has reserved. */
async function reservedFor(route: Seeded, path: string, body: object): Promise<number> {
  provider.behave({ delayMs: 60_000 });
  const client = new LeavingClient(route.url + path, { model: "m", ...body });
  const amount = await waitFor(async () => {
    const now = await reserved(route);
    return now > 0 ? now : null;
  });
  client.leave();
  await client.ended;
  await waitUntil(async () => (await reserved(route)) === 0);
  return amount;
}

const MESSAGES = { provider: "anthropic" };
const targetFor = (path: string) => (path.endsWith("/messages") ? MESSAGES : {});

const chat = (...content: object[]) => ({
  max_tokens: OUTPUT,
  messages: [{ role: "user", content: [{ type: "text", text: "Summarize" }, ...content] }],
});
const responses = (fields: object) => ({ input: "Summarize", max_output_tokens: OUTPUT, ...fields });
const item = (fields: object) => responses({ input: [{ role: "user", content: [fields] }] });

describe("tokens", () => {
  test.each([
    ["a conversation", "/v1/responses", responses({ conversation: "conv_1" })],
    ["a conversation by its object", "/v1/responses", responses({ conversation: { id: "conv_1" } })],
    ["an item", "/v1/responses", responses({ input: [{ type: "item_reference", id: "msg_1" }] })],
    ["an item without its type", "/v1/responses", responses({ input: [{ id: "msg_1" }] })],
    ["a file at a URL", "/v1/responses", item({ type: "input_file", file_url: "https://example.com/a.pdf" })],
    [
      "a document at a URL",
      "/v1/messages",
      chat({ type: "document", source: { type: "url", url: "https://example.com/a.pdf" } }),
    ],
    [
      "a video",
      "/v1/chat/completions",
      chat({ type: "video_url", video_url: { url: "https://example.com/a.mp4" } }),
    ],
    ["cached content", "/v1/chat/completions", { ...chat(), cachedContent: "cachedContents/1" }],
  ])("%s that only the provider has reserves the context window", async (_, path, body) => {
    const route = await seed({}, undefined, {}, targetFor(path));
    expect(await reservedFor(route, path, body)).toBe(WINDOW + OUTPUT);
  });

  test("a response that is continued reserves the context window, and without one a quarter of the budget", async () => {
    for (const price of [{ context_window: WINDOW }, {}]) {
      const route = await seed({}, price);
      provider.behave({ text: "Good morning" });
      const first = await fetch(`${route.url}/v1/responses`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ model: "m", input: "Good morning", store: true }),
      });
      const { id } = (await first.json()) as { id: string };
      await waitUntil(async () => (await reserved(route)) === 0);
      const body = responses({ previous_response_id: id });
      const expected = "context_window" in price ? WINDOW : 250_000;
      expect(await reservedFor(route, "/v1/responses", body)).toBeWithin(expected, expected + TEXT_BYTES);
    }
  });

  test.each([
    [
      "a document of messages",
      "/v1/messages",
      chat({ type: "document", source: { type: "base64", data: SMALL } }),
    ],
    [
      "a file of a chat",
      "/v1/chat/completions",
      chat({ type: "file", file: { file_data: `data:application/pdf;base64,${SMALL}` } }),
    ],
    ["a file of a response", "/v1/responses", item({ type: "input_file", file_data: SMALL })],
  ])("%s reserves a token for 4 bytes", async (_, path, body) => {
    const route = await seed({}, undefined, {}, targetFor(path));
    expect(await reservedFor(route, path, body)).toBeWithin(13_000, 13_000 + TEXT_BYTES);
  });

  test("of a large file, at most the context window and a quarter of a limit are reserved", async () => {
    const settings = { limits: { global: { limit: 40_000, window: "1h" } } };
    const limiter = { name: "token_limiter", stage: "pre_request", settings };
    const document = chat({ type: "document", source: { type: "base64", data: pdf(3_000_000) } });
    const alone = await seed({}, undefined, {}, MESSAGES);
    expect(await reservedFor(alone, "/v1/messages", document)).toBe(WINDOW + OUTPUT);
    // Three times a quarter, and the usual tokens of a document.
    const { url } = await seed({}, {}, { required_plugins: [limiter] }, MESSAGES);
    const body = { model: "m", ...document };
    const clients = Array.from({ length: 5 }, () => new LeavingClient(`${url}/v1/messages`, body));
    await waitUntil(() => clients.filter(({ status }) => status === 429).length === 2);
    for (const client of clients) client.leave();
  });

  test("a virtual model gets a large file, which may fit into its context window", async () => {
    const route = await seed({}, { context_window: 10_000 }, {}, MESSAGES);
    await create(gatehouse, `${route.at}/models`, {
      name: "vm",
      targets: [{ upstream: route.upstream, model: "m" }],
    });
    const document = chat({ type: "document", source: { type: "base64", data: pdf(1_000_000) } });
    provider.behave({ text: "Good morning" });
    const client = new LeavingClient(`${route.url}/v1/messages`, { ...document, model: "vm" });
    await client.ended;
    expect(client.status).toBe(200);
  });
});

describe("dollars", () => {
  test("a response that is continued reserves at most a quarter of the budget: of 30 requests at once, 3 are sent", async () => {
    const route = await seed({ unit: "usd", amount: "1" }, { context_window: 1_000_000 });
    provider.behave({ delayMs: 1000, usage: { input: 200_000, output: 10 } });
    const body = { model: "m", ...responses({ conversation: "conv_1" }) };
    const clients = Array.from({ length: 30 }, () => new LeavingClient(`${route.url}/v1/responses`, body));
    await waitUntil(() => clients.filter(({ status }) => status === 402).length === 27);
    await provider.until(() => provider.requestCount >= 3);
    expect(provider.requests).toHaveLength(3);
    clock.advance(1000);
    await Promise.all(clients.map(({ ended }) => ended));
    expect((await gatehouse.api("GET", route.budget)).body.spent).toBe("0.60003");
  });

  test.each([
    ["of a message", chat({ type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "1h" } })],
    [
      "of a tool",
      { ...chat(), tools: [{ name: "a", input_schema: {}, cache_control: { type: "ephemeral" } }] },
    ],
    ["of the request", { ...chat(), cache_control: { type: "ephemeral" } }],
  ])("a prompt cache %s is reserved at the price of writing it", async (_, cached) => {
    const price = { output: "0", cache_write_5m: "1.25", cache_write_1h: "2" };
    const route = await seed({ unit: "usd", amount: "1" }, price, {}, MESSAGES);
    const { messages, ...fields } = cached;
    const tokens = { unit: "tokens", name: "t", amount: 1_000_000 };
    const long = [...messages, { role: "user", content: "word ".repeat(20_000) }];
    const { id } = await create(gatehouse, `${route.at}/budgets`, tokens);
    provider.behave({ delayMs: 60_000 });
    const client = new LeavingClient(`${route.url}/v1/messages`, { model: "m", ...fields, messages: long });
    const amount = await waitFor(async () => (await reserved(route)) || null);
    const { body } = await gatehouse.api("GET", `${route.at}/budgets/${id as string}/state`);
    client.leave();
    expect((amount * 1e6) / (Number(body.reserved) - OUTPUT)).toBeCloseTo(2, 5);
  });

  test("the audio of a chat is reserved at its price", async () => {
    const route = await seed({ unit: "usd", amount: "1" }, { output: "0", audio_input: "100" });
    const audio = { type: "input_audio", input_audio: { data: SMALL, format: "mp3" } };
    // 600 tokens, and one for 100 bytes.
    expect(await reservedFor(route, "/v1/chat/completions", chat(audio))).toBeWithin(0.1, 0.101);
  });
});

describe("forms", () => {
  const send = (route: Seeded, fields: readonly (readonly [string, string])[]) => {
    const form = new FormData();
    form.set("model", "m");
    for (const [name, value] of fields) form.append(name, value);
    return fetch(`${route.url}/v1/images/edits`, { method: "POST", body: form });
  };
  const rule = { operations: ["images"] };

  test("the number of images multiplies the output, and is not learned as that of one", async () => {
    const route = await seed({}, undefined, {}, {}, rule);
    const json = JSON.stringify({ created: 1, data: [], usage: { input_tokens: 1, output_tokens: 40_000 } });
    provider.behave({ delayMs: 1000, body: json });
    const sent = send(route, [["n", "10"]]);
    const amount = await waitFor(async () => (await reserved(route)) || null);
    expect(amount).toBeWithin(10_000, 10_000 + TEXT_BYTES);
    await provider.until(() => provider.requestCount === 1);
    clock.advance(1000);
    expect((await sent).status).toBe(200);
    await waitUntil(async () => (await reserved(route)) === 0);
    const next = send(route, []);
    expect(await waitFor(async () => (await reserved(route)) || null)).toBeWithin(1000, 1000 + TEXT_BYTES);
    await provider.until(() => provider.requestCount === 2);
    clock.advance(1000);
    expect((await next).status).toBe(200);
  });

  test.each(["n", "size", "quality"])("the part %s must not occur twice beside a budget", async (name) => {
    const route = await seed({ unit: "usd", amount: "100" }, undefined, {}, {}, rule);
    const response = await send(route, [
      [name, "1"],
      [name, "2"],
    ]);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`the part \\"${name}\\" twice`);
    expect(provider.requests).toHaveLength(0);
  });
});
