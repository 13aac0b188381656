// The registry entry of Gemini: paths, and what the gateway reads of native requests and responses.
import { describe, expect, test } from "bun:test";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { FirstContent } from "../first-content.ts";
import { formatOfChatPath, formatOfClient, isOtherEndpoint } from "../registry.ts";
import { ResponseDetails } from "../response-details.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { GEMINI } from "./gemini-format.ts";
import { completePath } from "./paths.ts";

const { usage, details, content } = GEMINI;
const TEMPLATE = `/v1beta${GEMINI.chatTail}`;

describe("the path names model and method", () => {
  const cases: [path: string, model: string | null, wantsStream: boolean, expected: string][] = [
    [TEMPLATE, "gemini-3.1-pro", false, "/v1beta/models/gemini-3.1-pro:generateContent"],
    [TEMPLATE, "gemini-3.1-pro", true, "/v1beta/models/gemini-3.1-pro:streamGenerateContent?alt=sse"],
    [TEMPLATE, "models/gemini-3.1-pro", false, "/v1beta/models/gemini-3.1-pro:generateContent"],
    [TEMPLATE, "a/../b?c#d%$&", false, "/v1beta/models/a%2F..%2Fb%3Fc%23d%25%24%26:generateContent"],
    [TEMPLATE, "{model}", false, "/v1beta/models/%7Bmodel%7D:generateContent"],
    ["/p/models/m:generateContent", "other", false, "/p/models/m:generateContent"],
    ["/p/models/m:generateContent", "other", true, "/p/models/m:streamGenerateContent?alt=sse"],
    ["/p/models/m:streamGenerateContent", null, false, "/p/models/m:streamGenerateContent"],
    ["/p/models/{model}:embedContent", "m", false, "/p/models/m:embedContent"],
    ["/v1beta/models", null, true, "/v1beta/models"],
  ];
  test.each(cases)("%s with %p, stream %p: %s", (path, model, wantsStream, expected) => {
    expect(completePath(path, model, wantsStream)).toBe(expected);
  });

  test.each([".", "..", "", "models/..", null])("the model %p is rejected", (model) => {
    expect(() => completePath(TEMPLATE, model, false)).toThrow(TranslationError);
  });
});

test("native requests are recognized by their path", () => {
  for (const method of ["generateContent", "streamGenerateContent"])
    expect(formatOfChatPath(`/v1beta/models/m:${method}`)).toBe(GEMINI);
  for (const method of ["countTokens", "embedContent", "batchEmbedContents"]) {
    expect(isOtherEndpoint(`/v1beta/models/m:${method}`, GEMINI)).toBe(true);
    expect(formatOfClient(`/v1beta/models/m:${method}`, new Headers())).toBe(GEMINI);
  }
  expect(formatOfClient("/v1beta/models", new Headers({ "x-goog-api-key": "k" }))).toBe(GEMINI);
  expect(formatOfClient("/v1/chat/completions", new Headers({ "x-goog-api-key": "k" })).name).toBe("openai");
  expect(GEMINI.outbound.isRequest({ contents: [] })).toBe(true);
  expect(GEMINI.outbound.isRequest({ messages: [] })).toBe(false);
});

test("usage: cached tokens are part of the input, tool results and thoughts are added", () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 40,
    toolUsePromptTokenCount: 7,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 30,
    totalTokenCount: 157,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: 100 }],
  };
  const body = { candidates: [{ finishReason: "STOP" }], usageMetadata, modelVersion: "m" };
  const expected = { inputTokens: 107, outputTokens: 50, cachedInputTokens: 40, reasoningTokens: 30 };
  const counters = usage.readBody(Buffer.from(JSON.stringify(body, null, 2)));
  expect(counters === null ? null : usage.toTokenCounts(counters)).toMatchObject(expected);
  expect(usage.findInEvent(body)).toMatchObject({ usage: usageMetadata, stage: "final" });
  expect(usage.findInEvent({ candidates: [{}], usageMetadata })).toMatchObject({ stage: "running" });
  expect(usage.findInEvent({ candidates: [] })).toBeNull();
  expect(usage.toTokenCounts(usage.countersOf({}))).toBeNull();
});

test("details: the id and the finish reason of each candidate, or why the prompt was blocked", () => {
  const whole = new ResponseDetails(details);
  whole.readBody(
    Buffer.from(
      '{"candidates":[{"finishReason":"STOP","index":1},{"finishReason":"SAFETY","index":0}],"responseId":"r1"}',
    ),
  );
  expect([whole.id, ...whole.finishReasons]).toEqual(["r1", "SAFETY", "STOP"]);
  const stream = new ResponseDetails(details);
  stream.push(
    Buffer.from('data: {"responseId":"r1"}\r\n\r\ndata: {"promptFeedback":{"blockReason":"SAFETY"}}\r\n\r\n'),
  );
  expect([stream.id, ...stream.finishReasons]).toEqual(["r1", "SAFETY"]);
});

describe("events with content", () => {
  const cases: [name: string, part: object, kind: "output" | "reasoning" | null][] = [
    ["text", { text: "Hi" }, "output"],
    ["a thought", { text: "Hm", thought: true }, "reasoning"],
    ["a function call", { functionCall: { name: "now" } }, "output"],
    ["an image", { inlineData: { mimeType: "image/png", data: "AAAA" } }, "output"],
    ["an empty text", { text: "" }, null],
    ["a signature", { text: "", thoughtSignature: "c2ln" }, null],
  ];
  test.each(cases)("%s", (_, part, kind) => {
    const first = new FirstContent(content, new ManualClock());
    first.push(
      Buffer.from(`data: ${JSON.stringify({ candidates: [{ content: { parts: [part] } }] })}\r\n\r\n`),
    );
    expect(first.kind).toBe(kind);
  });
});

test("errors of the gateway have the form of Google's errors", () => {
  const error = { message: "Slow down.", code: "rate_limit_exceeded", field: null, requestId: "req_1" };
  expect(GEMINI.encodeError({ ...error, status: 429 })).toEqual({
    error: {
      code: 429,
      message: "Slow down.",
      status: "RESOURCE_EXHAUSTED",
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "RATE_LIMIT_EXCEEDED",
          domain: "gatehouse",
          metadata: { request_id: "req_1" },
        },
      ],
    },
  });
  expect(GEMINI.encodeError({ ...error, status: 422 })).toMatchObject({
    error: { status: "INVALID_ARGUMENT" },
  });
  expect(GEMINI.encodeError({ ...error, status: 500 })).toMatchObject({ error: { status: "INTERNAL" } });
});

test.each(["21st_search", "-x", "_gw_a", "_gw__gw_1", "plain"])("the tool name %s survives", (name) => {
  const call = { id: "c", type: "function", function: { name, arguments: "{}" } };
  const request = {
    model: "gemini-2.5-flash",
    messages: [
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "x" },
    ],
    tools: [{ type: "function", function: { name } }],
    tool_choice: { type: "function", function: { name } },
  };
  const report = new TranslationReport();
  const encoded = JSON.stringify(GEMINI.outbound.encodeRequest(request, { report, targetTag: "t" }));
  const names = Array.from(
    encoded.matchAll(/"(?:name":|allowedFunctionNames":\[)"([^"]+)"/g),
    ([, each = ""]) => each,
  );
  expect(names).toHaveLength(4);
  expect(new Set(names).size).toBe(1);
  const [sent = ""] = names;
  expect(sent).toMatch(/^[a-zA-Z_]/);
  const candidates = [{ content: { parts: [{ functionCall: { name: sent } }] }, finishReason: "STOP" }];
  const decoded = GEMINI.outbound.decodeResponse({ candidates }, { createdAt: 1, targetTag: "t" });
  expect(decoded?.choices[0].message.tool_calls?.[0]?.function.name).toBe(name);
});

test.each([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content_filter"],
  ["OTHER", "content_filter"],
  ["NO_IMAGE", "content_filter"],
])(
  "the finish reason %s is %s: a response that is not complete does not look complete",
  (finishReason, expected) => {
    const body = { candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason }] };
    const completion = GEMINI.outbound.decodeResponse(body, { createdAt: 1, targetTag: "t" });
    expect(completion).toMatchObject({ choices: [{ finish_reason: expected }] });
  },
);
