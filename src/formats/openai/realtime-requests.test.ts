// The events with which clients ask the Realtime API for a response.
import { describe, expect, test } from "bun:test";
import { realtimeError, responseRequestIn } from "./realtime-requests.ts";

const NONE = { eventId: null, maxOutputTokens: null };
const create = (response: object) => JSON.stringify({ type: "response.create", response });

describe("an event that asks for a response", () => {
  test.each([
    ['{"type":"response.create"}', NONE],
    ['{"type":"response.\\u0063reate","response":null}', NONE],
    ['{"type":"response.create","event_id":"mine"}', { ...NONE, eventId: "mine" }],
    ['{"type":"response.create","event_id":7}', NONE],
    [create({ max_output_tokens: 50 }), { ...NONE, maxOutputTokens: 50 }],
    [create({ max_output_tokens: 50, max_response_output_tokens: 70 }), { ...NONE, maxOutputTokens: 70 }],
    [create({ max_output_tokens: "inf" }), NONE],
    [create({ max_output_tokens: "50" }), NONE],
    [create({ max_output_tokens: 50, max_response_output_tokens: "inf" }), NONE],
    [create({ max_output_tokens: -1 }), NONE],
    [create({ max_output_tokens: 1.5 }), NONE],
    [create({ metadata: { max_output_tokens: 1 } }), NONE],
  ])("%s", (message, expected) => {
    expect(responseRequestIn(message)).toEqual(expected);
    expect(responseRequestIn(Buffer.from(` ${message}`))).toEqual(expected);
  });
});

test.each([
  '{"type":"session.update","type":"response.create"}',
  '{"type":"response.create","type":"session.update"}',
  '{"type":"response.create","TYPE":"session.update"}',
  '{"type":"response.create","response":{"max_output_tokens":1,"max_output_tokens":4096}}',
  '{"type":"response.create","response":{"max_output_tokens":1},"response":{}}',
  '{"type":"response.create",}',
  '{"type":"response.create"',
])("that servers could read differently is invalid: %s", (message) => {
  expect(responseRequestIn(message)).toBe("invalid");
});

test.each([
  "",
  "hello",
  '{"type":"response.created"}',
  '["response.create"]',
  '"response.create"',
  '{"type":"session.update","text":"caf\\u00e9"}',
  JSON.stringify({ type: "conversation.item.create", item: { text: '{"type":"response.create"}' } }),
])("other messages ask for none: %s", (message) => {
  expect(responseRequestIn(message)).toBeNull();
});

test("audio is not decoded", () => {
  expect(
    responseRequestIn(Buffer.from([0x80, 0x81, ...Buffer.from('{"type":"response.create"}')])),
  ).toBeNull();
});

test("the error event names the event of the client", () => {
  const rejected = { code: "budget_exceeded", message: "Nothing left.", status: 402, eventId: "mine" };
  expect(JSON.parse(realtimeError("event_1", rejected))).toEqual({
    type: "error",
    event_id: "event_1",
    error: {
      type: "insufficient_quota",
      code: "budget_exceeded",
      message: "Nothing left.",
      param: null,
      event_id: "mine",
    },
  });
});
