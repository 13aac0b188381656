// Server events of the Realtime API.
import { describe, expect, test } from "bun:test";
import { readRealtimeEvent } from "./realtime-events.ts";

const done = (usage: unknown, more = {}) =>
  readRealtimeEvent(JSON.stringify({ event_id: "e", type: "response.done", response: { usage }, ...more }));

describe("response.done", () => {
  test("has tokens, each counted once: cached audio is cached input", () => {
    const usage = {
      total_tokens: 253,
      input_tokens: 132,
      output_tokens: 121,
      input_token_details: {
        text_tokens: 119,
        audio_tokens: 13,
        cached_tokens: 64,
        cached_tokens_details: { text_tokens: 60, audio_tokens: 4 },
      },
      output_token_details: { text_tokens: 30, audio_tokens: 91 },
    };
    expect(done(usage)).toEqual({
      type: "done",
      id: null,
      isOutOfBand: false,
      tokens: {
        inputTokens: 132,
        outputTokens: 121,
        cachedInputTokens: 64,
        cacheWrite5mTokens: 0,
        cacheWrite1hTokens: 0,
        audioInputTokens: 9,
        reasoningTokens: 0,
        audioOutputTokens: 91,
      },
      isFailed: false,
      isCanceled: false,
    });
  });

  test("whose total says what is missing has all tokens", () => {
    const tokens = { inputTokens: 30, outputTokens: 70 };
    expect(done({ total_tokens: 100, input_tokens: 30 })).toMatchObject({ tokens });
    expect(done({ total_tokens: 100, input_tokens: "30", output_tokens: 70 })).toMatchObject({ tokens });
    expect(done({ input_tokens: 30 })).toMatchObject({ tokens: { inputTokens: 30, unknown: "output" } });
  });

  test("says whether the client has stopped the response", () => {
    const canceled = { type: "response.done", response: { status: "cancelled" } };
    expect(readRealtimeEvent(JSON.stringify(canceled))).toMatchObject({ isCanceled: true, isFailed: false });
  });

  test("without usage, or with one that is no count, has no tokens", () => {
    for (const usage of [null, undefined, {}, [], "x", { input_tokens: -1 }, { output_tokens: "7" }])
      expect(done(usage)).toMatchObject({ type: "done", tokens: null, isFailed: false });
    const failed = { type: "response.done", response: { status: "failed", usage: null } };
    expect(readRealtimeEvent(JSON.stringify(failed))).toMatchObject({
      type: "done",
      tokens: null,
      isFailed: true,
    });
    expect(readRealtimeEvent('{"type":"response.done"}')).toMatchObject({ type: "done", tokens: null });
  });
});

test.each([
  [{}, { id: null, isOutOfBand: false }],
  [
    { id: "resp_1", conversation_id: "conv_1" },
    { id: "resp_1", isOutOfBand: false },
  ],
  [
    { id: "resp_1", conversation_id: null },
    { id: "resp_1", isOutOfBand: true },
  ],
  [{ id: 7 }, { id: null, isOutOfBand: false }],
])("response.created starts a response, and response.done ends it: %j", (response, expected) => {
  const read = (type: string) => readRealtimeEvent(JSON.stringify({ type, response }));
  expect(read("response.created")).toEqual({ type: "started", ...expected });
  expect(read("response.done")).toMatchObject({ type: "done", ...expected });
});

test.each([
  [{ code: "x", event_id: "mine" }, "mine"],
  [{ code: "x", event_id: null }, null],
  [undefined, null],
])("an error names the event of the client that was rejected: %j", (error, eventId) => {
  expect(readRealtimeEvent(JSON.stringify({ type: "error", error }))).toEqual({ type: "error", eventId });
});

test.each([
  "",
  "response.done",
  '"response.done"',
  '["response.done"]',
  '{"type":"response.done"',
  '{"type":"session.created","note":"response.done"}',
  '{"type":"conversation.item.created","item":{"type":"response.done"}}',
  JSON.stringify({ type: "x", text: '{"type":"response.done"}' }),
])("other messages are none: %s", (message) => {
  expect(readRealtimeEvent(message)).toBeNull();
});
