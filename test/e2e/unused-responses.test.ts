// What requests cost whose responses the client gets in part or not at all: audio, images, files, large events, and filtered responses.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { estimateTokens } from "../../src/formats/token-estimate.ts";
import { create } from "../support/admin-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";

const {
  gatehouse,
  providers: [provider, other],
} = await startWithProviders("provider", "other");

const PRICES = [
  { model: "cheap", input: "1", output: "10" },
  { model: "dear", input: "100", output: "1000" },
];
/** Reserved for the output of the first request to a model that does not limit it. */
const DEFAULT_OUTPUT = 1000;
const END = ": the last bytes\n\n";

interface Seeded extends SeededRoute {
  readonly url: string;
  readonly at: string;
}

let count = 0;

/** Creates a route to all operations, with a budget in tokens and one in dollars. */
async function seed(target: Record<string, unknown> = {}): Promise<Seeded> {
  const prefix = `/unused${++count}`;
  const route = await seedRoute(gatehouse, {
    gateway: { prices: PRICES },
    upstream: { targets: [targetAt(provider, target)], max_attempts: 1 },
    rule: { path: `${prefix}/*`, methods: ["*"], strip_path: true },
  });
  const at = `/gateways/${route.gateway}`;
  await create(gatehouse, `${at}/budgets`, { name: "tokens", unit: "tokens", amount: 1_000_000 });
  await create(gatehouse, `${at}/budgets`, { name: "dollars", unit: "usd", amount: "100" });
  return { ...route, at, url: gatehouse.proxyUrl + prefix };
}

/** Resolves to the tokens and dollars that this many requests were charged with, when nothing is reserved. */
async function charged({ at }: Seeded, requests = 1): Promise<{ tokens: number; dollars: number }> {
  return waitFor(async () => {
    const { body } = await gatehouse.api("GET", `${at}/requests`);
    if (body.requests.length < requests) return null;
    const { body: list } = await gatehouse.api("GET", `${at}/budgets`);
    const [tokens, dollars] = await Promise.all(
      (list.budgets as { id: string }[]).map(
        async ({ id }) => (await gatehouse.api("GET", `${at}/budgets/${id}/state`)).body,
      ),
    );
    const isSettled = Number(tokens.reserved) === 0 && Number(dollars.reserved) === 0;
    return isSettled ? { tokens: Number(tokens.spent), dollars: Number(dollars.spent) } : null;
  });
}

async function usageOf({ at }: Seeded) {
  const { body } = await gatehouse.api("GET", `${at}/requests`);
  return body.requests[0].tokens;
}

const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const streamOf = (...events: object[]): Behavior => ({
  headers: [["Content-Type", "text/event-stream"]],
  body: [...events.map(data), END],
  stallAfterChunks: events.length + 1,
});
const base64 = (length: number) => Buffer.alloc(length, 0x5a).toString("base64");

/** Sends a request, and disconnects when everything that the provider sends has arrived. */
async function leaveStream({ url }: Seeded, path: string, body: object | FormData): Promise<void> {
  const leaving = new AbortController();
  const isForm = body instanceof FormData;
  const response = await fetch(url + path, {
    method: "POST",
    ...(!isForm && { headers: { "Content-Type": "application/json" } }),
    body: isForm ? body : JSON.stringify(body),
    signal: leaving.signal,
  });
  let received = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    received += decoder.decode(chunk as Uint8Array, { stream: true });
    if (received.endsWith(END)) break;
  }
  leaving.abort();
}

function recording(fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: "cheap", ...fields })) form.set(name, value);
  form.set("file", new Blob([new Uint8Array(500_000)]), "speech.mp3");
  return form;
}

describe("a client that disconnects before the usage of a stream", () => {
  const words = "The committee will decide tomorrow. ".repeat(600);
  const chat = { ...CHAT, model: "cheap", stream: true };
  const choice = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] });

  test.each([
    ["content", choice({ content: words })],
    ["a call of a tool", choice({ tool_calls: [{ index: 0, function: { name: "f", arguments: words } }] })],
  ])("is charged with one large event: %s", async (_name, event) => {
    const route = await seed();
    provider.behave(streamOf(choice({ role: "assistant", content: "" }), event));
    await leaveStream(route, "/v1/chat/completions", chat);
    const { tokens } = await charged(route);
    expect(tokens / estimateTokens(words)).toBeWithin(0.75, 1.35);
  });

  test.each([
    [
      "audio of a chat",
      "/v1/chat/completions",
      { ...chat, modalities: ["text", "audio"] },
      [choice({ audio: { transcript: "Good morning" } }), choice({ audio: { data: base64(30_000) } })],
    ],
    [
      "speech",
      "/v1/audio/speech",
      { model: "cheap", input: "Good morning", voice: "x", stream_format: "sse" },
      [{ type: "speech.audio.delta", audio: base64(30_000) }],
    ],
    [
      "images",
      "/v1/images/generations",
      { model: "cheap", prompt: "a harbor", stream: true, partial_images: 1 },
      [{ type: "image_generation.partial_image", b64_json: base64(300_000) }],
    ],
  ])("is charged as reserved for %s, whose tokens cannot be estimated", async (_name, path, body, events) => {
    const route = await seed();
    provider.behave(streamOf(...events));
    await leaveStream(route, path, body);
    const { tokens, dollars } = await charged(route);
    expect(tokens).toBeWithin(DEFAULT_OUTPUT, DEFAULT_OUTPUT + 20);
    expect(dollars).toBeWithin(0.01, 0.010_02);
  });
});

describe("a client that disconnects before the last bytes of a response that is no stream", () => {
  const words = "The committee will decide tomorrow. ".repeat(1000);
  const ask = { ...CHAT, model: "cheap" };

  test.each([false, true])(
    "is charged with the text that was relayed; compressed: %p",
    async (isCompressed) => {
      const route = await seed();
      const body = JSON.stringify({
        choices: [{ index: 0, message: { role: "assistant", content: words } }],
      });
      // Words that compress as those of ordinary texts.
      const unlike = Array.from({ length: 6000 }, (_, at) => ((at * 7919) % 6007).toString(36)).join(" ");
      const bytes = isCompressed ? Bun.gzipSync(body.replace(words, unlike)) : Buffer.from(body);
      provider.behave({
        headers: [
          ["Content-Type", "application/json"],
          ...(isCompressed ? [["Content-Encoding", "gzip"] satisfies [string, string]] : []),
        ],
        body: [bytes.subarray(0, -10), bytes.subarray(-10)],
        stallAfterChunks: 1,
      });
      const leaving = new AbortController();
      const response = await fetch(`${route.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Accept-Encoding": "gzip" },
        body: JSON.stringify(ask),
        signal: leaving.signal,
        decompress: false,
      });
      let received = 0;
      for await (const chunk of response.body ?? [])
        if ((received += (chunk as Uint8Array).byteLength) >= bytes.byteLength - 10) break;
      leaving.abort();
      const { tokens } = await charged(route);
      const expected = isCompressed ? estimateTokens(unlike) : estimateTokens(words);
      expect(tokens / expected).toBeWithin(0.5, 2);
    },
  );
});

test("a stream that is an array of events is charged with the usage of the last one", async () => {
  const route = await seed({ provider: "google" });
  const event = (output: number, finishReason: string | null) => ({
    candidates: [{ content: { parts: [{ text: "Good morning" }] }, ...(finishReason && { finishReason }) }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: output, totalTokenCount: 7 + output },
  });
  const events = [event(100, null), event(50_000, "STOP")].map((each) => JSON.stringify(each, null, 2));
  for (const body of [`[${events.join("\n,\r\n")}\n]\n`, ["[", events[0]!, ",", events[1]!, "]"]])
    for (const gzip of [false, true]) {
      provider.behave({ headers: [["Content-Type", "application/json"]], body, gzip });
      const response = await fetch(`${route.url}/v1beta/models/cheap:streamGenerateContent`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Accept-Encoding": "gzip" },
        body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Good morning" }] }] }),
      });
      expect(await response.json()).toHaveLength(2);
    }
  expect(await charged(route, 4)).toEqual({ tokens: 4 * 50_007, dollars: 4 * 0.500_007 });
});

describe("a client that disconnects after it has sent a file", () => {
  // The estimate of the file, and the output that is reserved before the first response of a model.
  const RESERVED = 501 + 1000;

  test("is charged with what was reserved if there was no response", async () => {
    const route = await seed();
    provider.behave({ delayMs: 60_000 });
    const leaving = new AbortController();
    const sent = fetch(`${route.url}/v1/audio/transcriptions`, {
      method: "POST",
      body: recording(),
      signal: leaving.signal,
    }).catch(() => null);
    await provider.until(() => provider.requestCount > 0);
    leaving.abort();
    await sent;
    expect(await charged(route)).toEqual({ tokens: RESERVED, dollars: 0.010_501 });
    expect(await usageOf(route)).toMatchObject({ input: 501, output: 0, partial: true });
  });

  test("is charged with what was reserved if a part of the text was relayed", async () => {
    const route = await seed();
    provider.behave(streamOf({ type: "transcript.text.delta", delta: "Good morning" }));
    await leaveStream(route, "/v1/audio/transcriptions", recording({ stream: "true" }));
    expect((await charged(route)).tokens).toBe(RESERVED);
    expect(await usageOf(route)).toMatchObject({ input: 501, partial: true });
  });
});

describe("a filtered response that a fallback replaces", () => {
  const filtered = {
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "content_filter" }],
    usage: { prompt_tokens: 500, completion_tokens: 300, total_tokens: 800 },
  };

  async function seedFallback(): Promise<Seeded> {
    const route = await seed();
    const second = await create(gatehouse, `${route.at}/upstreams`, {
      name: "second",
      targets: [targetAt(other)],
    });
    await gatehouse.api("PATCH", `${route.at}/services/${route.service}`, { virtual_models: "any" });
    const target = (upstream: string, model: string) => [{ upstream, model }];
    await create(gatehouse, `${route.at}/models`, { name: "backup", targets: target(second.id, "cheap") });
    await create(gatehouse, `${route.at}/models`, {
      name: "smart",
      targets: target(route.upstream, "dear"),
      fallback: ["backup"],
      fallback_on: ["content_filter"],
    });
    provider.behave({ headers: [["Content-Type", "application/json"]], body: JSON.stringify(filtered) });
    return route;
  }

  const send = ({ url }: Seeded, signal: AbortSignal | null = null) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, model: "smart" }),
      signal,
    });

  test("is charged with the usage that it reported, at the price of its model", async () => {
    const route = await seedFallback();
    other.behave({ usage: { input: 10, output: 20 } });
    expect((await send(route)).headers.get("x-gw-model")).toBe("cheap");
    const { tokens, dollars } = await charged(route);
    expect(tokens).toBe(800 + 30);
    expect(dollars).toBeCloseTo(0.05 + 0.3 + 0.000_01 + 0.000_2, 9);
  });

  test("is charged although the client disconnects before the other response", async () => {
    const route = await seedFallback();
    other.behave({ delayMs: 60_000 });
    const leaving = new AbortController();
    const sent = send(route, leaving.signal).catch(() => null);
    await other.until(() => other.requestCount > 0);
    leaving.abort();
    await sent;
    expect((await charged(route)).tokens).toBeWithin(801, 830);
  });
});

describe("a stream that is cut before its first content", () => {
  const start = {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "cheap",
      content: [],
      usage: { input_tokens: 100, cache_read_input_tokens: 400, output_tokens: 1 },
    },
  };
  const target = { provider: "anthropic" };
  const send = async ({ url }: Seeded) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, model: "cheap", max_tokens: 50, stream: true }),
    });
    await response.text();
    return response.status;
  };
  const cut = () =>
    provider.behave({
      headers: [["Content-Type", "text/event-stream"]],
      body: [`event: message_start\n${data(start)}`, "unused"],
      cutAfterChunks: 1,
    });

  test("is charged with the usage that it reported", async () => {
    const route = await seed(target);
    cut();
    expect(await send(route)).toBe(502);
    expect(await charged(route)).toEqual({ tokens: 501, dollars: 0.000_51 });
    expect(await usageOf(route)).toMatchObject({ input: 500, cached_input: 400, output: 1, partial: true });
  });

  test("is charged in addition to the response of another target", async () => {
    const route = await seed(target);
    const targets = [targetAt(provider, target), targetAt(other, { ...target, priority: 2 })];
    await gatehouse.api("PATCH", `${route.at}/upstreams/${route.upstream}`, { targets, max_attempts: 2 });
    cut();
    other.behave({ usage: { input: 10, output: 20 } });
    expect(await send(route)).toBe(200);
    expect(await charged(route)).toEqual({ tokens: 501 + 30, dollars: 0.000_51 + 0.000_21 });
    expect(await usageOf(route)).toMatchObject({ input: 10, output: 20, partial: false });
  });
});

describe("an attempt that failed after the request was sent", () => {
  const target = { provider: "anthropic" };
  const send = async ({ url }: Seeded) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, model: "cheap", max_tokens: 50, stream: true }),
    });
    await response.text();
    return response.status;
  };
  const FAULTS: readonly (readonly [fault: string, behavior: Behavior])[] = [
    ["broken", { closeBeforeAnswer: true }],
    ["cut", { cutHeadAfterBytes: 20 }],
    ["invalid", { crlfInHeader: "nul" }],
    ["error_event", { errorAfterChunks: 0 }],
  ];
  const faultsOf = async ({ at }: Seeded) => {
    const { body } = await gatehouse.api("GET", `${at}/requests`);
    return body.requests[0].attempts.map(({ fault }: { fault: string | null }) => fault);
  };

  test.each(FAULTS)("(%s) is charged with the estimated input", async (fault, behavior) => {
    const route = await seed(target);
    provider.behave(behavior);
    // The connection may have been stale, so the same target is tried again if that is allowed.
    expect(await send(route)).toBe(502);
    const { tokens, dollars } = await charged(route);
    expect(await faultsOf(route)).toEqual([fault]);
    expect(tokens).toBeGreaterThan(0);
    expect(dollars).toBeCloseTo(tokens / 1e6, 9);
    expect(await usageOf(route)).toMatchObject({ input: tokens, output: 0, partial: true });
  });

  test.each(FAULTS)("(%s) is charged beside the response of another target", async (fault, behavior) => {
    const route = await seed(target);
    const targets = [targetAt(provider, target), targetAt(other, { ...target, priority: 2 })];
    await gatehouse.api("PATCH", `${route.at}/upstreams/${route.upstream}`, { targets, max_attempts: 2 });
    provider.behave(behavior);
    other.behave({ usage: { input: 10, output: 20 } });
    expect(await send(route)).toBe(200);
    expect((await charged(route)).tokens).toBeGreaterThan(30);
    expect(await faultsOf(route)).toEqual([fault, null]);
  });

  test("(error_event) is charged with the usage that its body reports", async () => {
    const route = await seed({ provider: "openai", format: "responses" });
    const second = { provider: "openai", format: "responses", priority: 2 };
    const targets = [targetAt(provider, { ...second, priority: 1 }), targetAt(other, second)];
    await gatehouse.api("PATCH", `${route.at}/upstreams/${route.upstream}`, { targets, max_attempts: 2 });
    const usage = { input_tokens: 700, output_tokens: 100, total_tokens: 800 };
    const error = { code: "server_error", message: "Out of order." };
    provider.behave({
      body: JSON.stringify({ id: "resp_1", object: "response", status: "failed", output: [], error, usage }),
    });
    other.behave({ usage: { input: 10, output: 20 } });
    const response = await fetch(`${route.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...CHAT, model: "cheap", max_tokens: 50 }),
    });
    expect(response.status).toBe(200);
    expect(await charged(route)).toEqual({ tokens: 830, dollars: 0.001_91 });
  });
});
