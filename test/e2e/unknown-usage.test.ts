// What responses cost that the client gets completely and whose provider has not reported all counters, or none that can be used.
import { describe, expect, test } from "bun:test";
import { estimateTokens } from "../../src/formats/token-estimate.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const {
  gatehouse,
  providers: [provider],
} = await startWithProviders("provider");

const TEXT = "The committee will decide tomorrow. ".repeat(150);
const OUTPUT = estimateTokens(TEXT);
/** The limit of the requests, which is reserved. */
const LIMIT = 3000;
const MESSAGES = { ...CHAT, max_tokens: LIMIT };

type Seeded = SeededRoute & { readonly url: string; readonly budget: string };

let count = 0;

async function seed(target: Record<string, unknown> = {}): Promise<Seeded> {
  const prefix = `/unknown${++count}`;
  const route = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "1" }] },
    upstream: { targets: [targetAt(provider, target)], max_attempts: 1 },
    rule: { path: `${prefix}/*`, methods: ["*"], strip_path: true },
  });
  const budgets = `/gateways/${route.gateway}/budgets`;
  const { id } = await create(gatehouse, budgets, { name: "tokens", unit: "tokens", amount: 1_000_000 });
  return { ...route, url: gatehouse.proxyUrl + prefix, budget: `${budgets}/${id as string}` };
}

/** Sends a request, reads the response, and resolves to the tokens that it was charged with and to its record. */
async function charge(route: Seeded, path: string, body: object) {
  const response = await fetch(route.url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const received = await response.text();
  expect(response.status).toBe(200);
  return waitFor(async () => {
    const { body: list } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    const { body: state } = await gatehouse.api("GET", `${route.budget}/state`);
    const [record] = list.requests;
    if (record === undefined || Number(state.reserved) > 0) return null;
    return { spent: Number(state.spent), tokens: record.tokens, received };
  });
}

const completion = (usage: unknown, content = TEXT) => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage,
});
const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const words = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const stream = (usage: unknown) => ({
  headers: [["Content-Type", "text/event-stream"]] as [string, string][],
  body: [
    ...TEXT.split(" ").map((word) => data(words(`${word} `))),
    data({ choices: [], usage }),
    "data: [DONE]\n\n",
  ],
});
const json = (body: object) => ({
  headers: [["Content-Type", "application/json"]] as [string, string][],
  body: [JSON.stringify(body)],
});

describe("a chat", () => {
  const UNUSABLE = ["1000", -5, 1000.5, 1e30, null];

  test.each(UNUSABLE)("whole, with an output of %p, is charged as reserved", async (output) => {
    const route = await seed();
    provider.behave(json(completion({ prompt_tokens: 10, completion_tokens: output })));
    const { spent, tokens } = await charge(route, "/v1/chat/completions", MESSAGES);
    expect(spent).toBeWithin(LIMIT, LIMIT + 50);
    expect(tokens).toMatchObject({ input: 10, partial: true });
    expect(tokens.output / OUTPUT).toBeWithin(0.8, 1.2);
  });

  test.each(UNUSABLE)("streamed, with an output of %p, is charged with its text", async (output) => {
    const route = await seed();
    provider.behave(stream({ prompt_tokens: 10, completion_tokens: output }));
    const { spent, tokens } = await charge(route, "/v1/chat/completions", { ...MESSAGES, stream: true });
    expect((spent - 10) / OUTPUT).toBeWithin(0.8, 1.2);
    expect(tokens).toMatchObject({ input: 10, partial: true });
  });

  test("with only zeros is charged with its text and the estimate of its input", async () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const [streamed, whole] = [await seed(), await seed()];
    provider.behave(stream(zeros));
    const one = await charge(streamed, "/v1/chat/completions", { ...MESSAGES, stream: true });
    expect(one.tokens.input).toBeGreaterThan(0);
    expect((one.spent - one.tokens.input) / OUTPUT).toBeWithin(0.8, 1.2);
    provider.behave(json(completion(zeros)));
    const other = await charge(whole, "/v1/chat/completions", MESSAGES);
    expect(other.spent).toBeGreaterThanOrEqual(LIMIT);
  });

  test("without any text may cost nothing", async () => {
    const route = await seed();
    provider.behave(json(completion({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, "")));
    expect(await charge(route, "/v1/chat/completions", MESSAGES)).toMatchObject({
      spent: 0,
      tokens: { input: 0, output: 0, partial: false },
    });
  });

  test("without an input is charged with the estimate of it, and the reported output", async () => {
    const route = await seed();
    provider.behave(json(completion({ completion_tokens: 1000 })));
    const { spent, tokens } = await charge(route, "/v1/chat/completions", MESSAGES);
    expect(tokens).toMatchObject({ output: 1000, partial: true });
    expect(tokens.input).toBeGreaterThan(0);
    expect(spent - Number(tokens.input)).toBe(1000);
  });

  test("of which only the total is known is charged with it", async () => {
    const route = await seed();
    provider.behave(json(completion({ total_tokens: 1010 })));
    const { spent, tokens } = await charge(route, "/v1/chat/completions", MESSAGES);
    expect(spent).toBe(1010);
    expect(tokens.output).toBeGreaterThan(900);
  });

  test("as JSON that is declared as an event stream is charged as reported", async () => {
    const route = await seed();
    const usage = { prompt_tokens: 10, completion_tokens: 1000, total_tokens: 1010 };
    provider.behave({ ...stream(usage), body: [JSON.stringify(completion(usage))] });
    const { spent, tokens } = await charge(route, "/v1/chat/completions", { ...MESSAGES, stream: true });
    expect(spent).toBe(1010);
    expect(tokens).toMatchObject({ input: 10, output: 1000, partial: false });
  });
});

const gemini = (usageMetadata: object) => ({
  candidates: [{ content: { role: "model", parts: [{ text: TEXT }] }, finishReason: "STOP" }],
  usageMetadata,
});
const message = (usage: object) => ({
  id: "m",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: TEXT }],
  stop_reason: "end_turn",
  usage,
});

describe("a chat that is translated", () => {
  test.each([
    [
      "gemini",
      { provider: "google", format: "gemini" },
      gemini({ promptTokenCount: 10, totalTokenCount: 510 }),
      510,
    ],
    [
      "gemini, only the total",
      { provider: "google", format: "gemini" },
      gemini({ totalTokenCount: 510 }),
      510,
    ],
    ["messages", { provider: "anthropic" }, message({ input_tokens: 10 }), LIMIT],
  ])("to %s is charged with what is known", async (_name, target, body, expected) => {
    const route = await seed(target);
    provider.behave(json(body));
    const { spent } = await charge(route, "/v1/chat/completions", MESSAGES);
    expect(spent).toBeWithin(expected, expected === LIMIT ? LIMIT + 50 : expected + 1);
  });
});

describe("embeddings", () => {
  test.each([
    ["the input", { prompt_tokens: 8 }],
    ["the total", { total_tokens: 8 }],
    ["both", { prompt_tokens: 8, total_tokens: 8 }],
  ])("that report %s have no output", async (_name, usage) => {
    const route = await seed();
    provider.behave(json({ object: "list", data: [{ embedding: [0.5] }], model: "m", usage }));
    expect(await charge(route, "/v1/embeddings", { model: "m", input: "Good morning" })).toMatchObject({
      spent: 8,
      tokens: { input: 8, output: 0, partial: false },
    });
  });
});
