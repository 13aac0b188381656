// The operation and the translation of requests: in the request log, the access log, traces, OTLP logs, metrics, and the CLI.
import { afterAll, describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/behavior.ts";
import type { ApiResponse } from "../support/gatehouse-process.ts";
import type { Attributes } from "../support/otlp-reader.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { CHAT, rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const receiver = startOtlpReceiver();
const env = {
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_BSP_SCHEDULE_DELAY: "50",
  REQUEST_LOG_SINK: "otlp",
  LOG_LEVEL: "info",
};
const [gatehouse, provider] = await Promise.all([useGatehouse({ env }), useFakeProvider()]);
afterAll(() => receiver.stop());

/** Creates a rule for all paths below `prefix`, which leads to one target. */
async function api(target: object, rule: object = {}): Promise<Observable> {
  const prefix = `/api-${crypto.randomUUID()}`;
  const { gateway } = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, { ...target })], max_attempts: 1 },
    rule: { path: `${prefix}/*`, methods: ["*"], ...rule },
  });
  return { gateway, prefix };
}

interface Observable {
  readonly gateway: string;
  readonly prefix: string;
}

interface Observed {
  readonly record: ApiResponse["body"];
  /** Of the span of the attempt. */
  readonly span: Attributes;
  /** Of the log record. */
  readonly log: Attributes;
  readonly translatedHeader: string | null;
}

/** Sends a request and returns what telemetry says about it. */
async function observe(
  route: Observable,
  path: string,
  body: object,
  behavior: Behavior = {},
): Promise<Observed> {
  provider.behave(behavior);
  const id = crypto.randomUUID();
  const response = await rawJson(gatehouse.proxyUrl, route.prefix + path, body, [["X-Request-Id", id]]);
  provider.reset();
  expect([response.status, response.body.toString()]).toEqual([200, expect.any(String)]);
  const own = await waitFor(
    () => receiver.spans().find((span) => span.attributes["gatehouse.request_id"] === id) ?? null,
  );
  const attempt = await waitFor(
    () => receiver.spans().find((span) => span.parentSpanId === own.spanId) ?? null,
  );
  const log = await waitFor(
    () =>
      receiver.logs
        .flatMap(({ records }) => records)
        .find((record) => record.attributes["gatehouse.request_id"] === id) ?? null,
  );
  expect(receiver.problems).toEqual([]);
  const { body: page } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests?request_id=${id}`);
  const [record] = page.requests;
  expect(JSON.parse(log.body)).toEqual(record);
  return {
    record,
    span: attempt.attributes,
    log: log.attributes,
    translatedHeader: response.header("x-gw-translated") ?? null,
  };
}

const MESSAGES = { model: "claude-fake", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
const RESPONSES = { model: "gpt-fake", input: "Hi" };
const GEMINI = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
const GENERATE = "/v1beta/models/gemini-2.5-flash:generateContent";

describe("the operation", () => {
  test.each([
    ["/v1/chat/completions", CHAT, "openai", "chat", "chat"],
    ["/v1/messages", MESSAGES, "anthropic", "messages", "chat"],
    ["/v1/responses", RESPONSES, "openai", "responses", "chat"],
    [GENERATE, GEMINI, "google", "generate_content", "generate_content"],
    ["/v1/completions", { model: "m", prompt: "Hi" }, "openai", "completions", "text_completion"],
    ["/v1/embeddings", { model: "m", input: "Hi" }, "openai", "embeddings", "embeddings"],
    ["/v1/moderations", { input: "Hi" }, "openai", "moderations", undefined],
    ["/v1/messages/count_tokens", MESSAGES, "anthropic", "count_tokens", undefined],
    ["/ask", CHAT, "openai", "chat", "chat"],
  ])("of %s", async (path, body, name, operation, genAi) => {
    const format = name === "google" ? { format: "gemini" } : {};
    const { record, span, log } = await observe(await api({ provider: name, ...format }), path, body);
    expect([record.operation, record.translation]).toEqual([operation, null]);
    for (const attributes of [span, log]) {
      expect(attributes["gen_ai.operation.name"]).toBe(genAi);
      expect(attributes).not.toHaveProperty("gatehouse.translation");
    }
  });

  test("of a path that names none comes from the target's path", async () => {
    const route = await api({ path: "/v1/embeddings" }, { strip_path: false });
    const { record, span } = await observe(route, "/vectors", { model: "m", input: "Hi" });
    expect([record.operation, span["gen_ai.operation.name"]]).toEqual(["embeddings", "embeddings"]);
  });

  test("of a rejected request is known, that of an unknown path is null", async () => {
    const route = await api({ provider: "anthropic" }, { operations: ["other"] });
    const operationAfter = async (method: string, path: string) => {
      const id = crypto.randomUUID();
      await rawCall(gatehouse.proxyUrl, {
        method,
        target: route.prefix + path,
        headers: [["X-Request-Id", id]],
      });
      const found = `/gateways/${route.gateway}/requests?request_id=${id}`;
      return waitFor(async () => (await gatehouse.api("GET", found)).body.requests[0] ?? null);
    };
    expect(await operationAfter("POST", "/v1/embeddings")).toMatchObject({
      operation: "embeddings",
      error_code: "operation_not_supported",
      translation: null,
    });
    expect(await operationAfter("GET", "/v1/unknown")).toMatchObject({ operation: null, translation: null });
  });
});

const JSON_TYPE: Behavior["headers"] = [["Content-Type", "application/json"]];
const SSE_TYPE: Behavior["headers"] = [["Content-Type", "text/event-stream"]];
const sse = (events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`);

/** The arguments of a call are no part of what the response says about itself. */
const CALL = { functionCall: { name: "choose", args: { model: "not-the-model", id: "x" } } };
const geminiFrame = { modelVersion: "gemini-2.5-flash-001", responseId: "gemini-1" };
const geminiResponse = {
  candidates: [{ content: { role: "model", parts: [CALL] }, finishReason: "MAX_TOKENS", index: 0 }],
  usageMetadata: {
    promptTokenCount: 100,
    cachedContentTokenCount: 64,
    candidatesTokenCount: 2,
    thoughtsTokenCount: 5,
    totalTokenCount: 107,
  },
  ...geminiFrame,
};
const GEMINI_SPAN = {
  "gen_ai.response.id": "gemini-1",
  "gen_ai.response.model": "gemini-2.5-flash-001",
  "gen_ai.response.finish_reasons": ["MAX_TOKENS"],
  "gen_ai.usage.input_tokens": 100,
  "gen_ai.usage.output_tokens": 7,
  "gen_ai.usage.cache_read.input_tokens": 64,
  "gen_ai.usage.reasoning.output_tokens": 5,
};
const geminiText = { content: { role: "model", parts: [{ text: '"finishReason":"x"' }] }, index: 0 };
const geminiStream = sse([{ ...geminiFrame, candidates: [geminiText] }, geminiResponse]);

const responsesResponse = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-001",
  status: "incomplete",
  incomplete_details: { reason: "max_output_tokens" },
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "incomplete",
      content: [{ type: "output_text", text: '"reason":"x"', annotations: [] }],
    },
  ],
  usage: {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 64 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 5 },
    total_tokens: 107,
  },
};
const RESPONSES_SPAN = {
  ...GEMINI_SPAN,
  "gen_ai.response.id": "resp_1",
  "gen_ai.response.model": "gpt-001",
  "gen_ai.response.finish_reasons": ["max_output_tokens"],
};
const responsesStream = sse([
  {
    type: "response.created",
    response: {
      ...responsesResponse,
      status: "in_progress",
      incomplete_details: null,
      output: [],
      usage: null,
    },
  },
  { type: "response.incomplete", response: responsesResponse },
]);

describe("the translation", () => {
  const GEMINI_TARGET = { provider: "google", format: "gemini" };
  const RESPONSES_TARGET = { provider: "openai", format: "responses" };

  test.each([
    ["openai", "anthropic", "/v1/chat/completions", { ...CHAT, seed: 1 }, "chat", ["seed"]],
    ["anthropic", "openai", "/v1/messages", { ...MESSAGES, top_k: 4 }, "messages", ["top_k"]],
    ["responses", "anthropic", "/v1/responses", { ...RESPONSES, store: false }, "responses", []],
  ])("from %s to %s", async (from, to, path, body, operation, dropped) => {
    const target = to === "openai" ? { provider: to, format: to } : { provider: to };
    const { record, span, log, translatedHeader } = await observe(await api(target), path, body);
    expect(record).toMatchObject({ operation, translation: { from, to, dropped } });
    expect(translatedHeader).toBe(dropped.length === 0 ? null : `dropped=${dropped.join(",")}`);
    for (const attributes of [span, log])
      expect(attributes).toMatchObject({
        "gen_ai.operation.name": "chat",
        "gatehouse.translation": `${from}->${to}`,
      });
  });

  test.each<[string, object, Behavior]>([
    ["a whole response", {}, { headers: JSON_TYPE, body: JSON.stringify(geminiResponse) }],
    ["a stream", { stream: true }, { headers: SSE_TYPE, body: geminiStream }],
  ])("to Gemini: the span has the values of the provider, %s", async (_name, fields, behavior) => {
    const body = { ...CHAT, model: "gemini-2.5-flash", ...fields };
    const { record, span } = await observe(await api(GEMINI_TARGET), "/v1/chat/completions", body, behavior);
    expect(record.translation).toEqual({ from: "openai", to: "gemini", dropped: [] });
    expect(span).toMatchObject(GEMINI_SPAN);
  });

  test("none, for a client of Gemini: the span has the same values", async () => {
    const behavior = { headers: JSON_TYPE, body: JSON.stringify(geminiResponse) };
    const { record, span } = await observe(await api(GEMINI_TARGET), GENERATE, GEMINI, behavior);
    expect(record.translation).toBeNull();
    expect(span).toMatchObject(GEMINI_SPAN);
  });

  test.each<[string, object, Behavior]>([
    ["a whole response", {}, { headers: JSON_TYPE, body: JSON.stringify(responsesResponse) }],
    ["a stream", { stream: true }, { headers: SSE_TYPE, body: responsesStream }],
  ])("to the Responses API: the span has the values of the provider, %s", async (_name, fields, behavior) => {
    const route = await api(RESPONSES_TARGET);
    const { record, span } = await observe(route, "/v1/messages", { ...MESSAGES, ...fields }, behavior);
    expect(record.translation).toMatchObject({ from: "anthropic", to: "responses" });
    expect(span).toMatchObject(RESPONSES_SPAN);
  });

  test("of the response only", async () => {
    const { path, gateway } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic", path: "/v1/messages" })] },
      rule: { response_format: "openai" },
    });
    const body = { ...MESSAGES, system: "Be brief." };
    const { record } = await observe({ gateway, prefix: path }, "", body);
    expect(record.translation).toEqual({ from: "openai", to: "anthropic", dropped: [] });
  });

  test("lists a bounded number of names that clients choose", async () => {
    const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_value, at) => [`unknown_${at}`, 1]));
    const body = { ...CHAT, ["long".repeat(1000)]: 1, ...unknown };
    const route = await api({ provider: "anthropic" });
    const { record, translatedHeader } = await observe(route, "/v1/chat/completions", body);
    const { dropped } = record.translation;
    expect(dropped[0]).toBe(`${"long".repeat(16)}...`);
    expect(dropped.at(-1)).toBe("...");
    expect(translatedHeader).toBe(`dropped=${dropped.join(",")}`);
    expect(translatedHeader?.length).toBeLessThanOrEqual(256);
  });

  test("is counted by formats, and other requests are not", async () => {
    const route = await api({ provider: "anthropic" });
    const { record } = await observe(route, "/v1/chat/completions", CHAT);
    await observe(route, "/v1/messages", MESSAGES);
    const metrics = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
    const count = (labels: Record<string, string>) =>
      metrics.sum("gatehouse_translated_requests_total", { gateway: record.gateway, ...labels });
    expect([count({}), count({ from: "openai", to: "anthropic" })]).toEqual([1, 1]);
  });
});
