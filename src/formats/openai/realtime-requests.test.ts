// The events with which clients ask the Realtime API for a response.
import { describe, expect, test } from "bun:test";
import { clientEventIn, realtimeError, withEventId } from "./realtime-requests.ts";

const requestIn = (message: string | Uint8Array) => {
  const event = clientEventIn(message);
  if (event === "invalid" || event === null || event.request === null)
    return event === "invalid" ? event : null;
  const { eventId, maxOutputTokens } = event.request;
  return { eventId, maxOutputTokens };
};
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
    expect(requestIn(message)).toEqual(expected);
    expect(requestIn(Buffer.from(` ${message}`))).toEqual(expected);
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
  '{"type":"conversation.item.create","item":{"content":"long"},"item":{}}',
  '{"type":"conversation.item.create","item":{"content":[{"text":"long","text":""}]}}',
  '{"type":"conversation.item.create","Item":{"content":"long"}}',
  '{"type":"conversation.item.create","item":{"content":"long"},"x":NaN}',
  '{"type":"conversation.item.create","item":{},"type":"input_audio_buffer.append"}',
  '{"type":"session.update","session":{"instructions":"long","instructions":""}}',
  '{"type":"session.update","session":{"Instructions":"long"}}',
  '{"type":"response.create","response":{"input":["long"],"input":[]}}',
])("that servers could read differently is invalid: %s", (message) => {
  expect(requestIn(message)).toBe("invalid");
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
  expect(requestIn(message)).toBeNull();
});

test.each([
  ["utf8", "{", false],
  ["utf8", "\ufeff{", false],
  ["utf16le", "{", true],
  ["utf16le", "\ufeff{", true],
] as const)("bytes that a server could take for an event are read: %s %j", (encoding, start, isInvalid) => {
  const bytes = Buffer.from(`${start}"type":"conversation.item.create","item":{"content":"x"}}`, encoding);
  for (const message of isInvalid ? [bytes, Buffer.from(bytes).swap16()] : [bytes, bytes.toString()])
    expect(clientEventIn(message)).toEqual(
      isInvalid ? "invalid" : expect.objectContaining({ text: expect.stringMatching(/^\{.*\}$/) }),
    );
});

test("only the type says whether an event has audio", () => {
  const isAudio = (event: object) => {
    const read = clientEventIn(JSON.stringify(event));
    return typeof read === "object" && read?.isAudio === true;
  };
  const type = "input_audio_buffer.append";
  expect(isAudio({ audio: "AAAA", type })).toBe(true);
  expect(isAudio({ event_id: type, type: "conversation.item.create", item: {} })).toBe(false);
  expect(isAudio({ type: "session.update", session: { instructions: "x", x: { type } } })).toBe(false);
});

test.each([
  [{ conversation: "none", input: [] }, true],
  [{ conversation: "none", input: [{ type: "message", content: [] }] }, true],
  [{ conversation: "none" }, false],
  [{ input: [] }, false],
  [{ conversation: "none", input: [{ type: "item_reference", id: "a" }] }, false],
  [{ conversation: "none", input: [{ type: "message", id: "a" }] }, false],
  [{ conversation: "none", input: [{ id: "a" }] }, false],
])("a response without items of the conversation: %j is %p", (response, expected) => {
  expect(clientEventIn(create(response))).toMatchObject({ request: { isAlone: expected } });
});

test.each([
  ['{"type":"response.create"}', '{"event_id":"new","type":"response.create"}'],
  ['{"type":"response.create","event_id":"é"}', '{"type":"response.create","event_id":"new"}'],
  ['{"event_\\u0069d":7,"type":"response.create"}', '{"event_\\u0069d":"new","type":"response.create"}'],
])("another id: %s", (message, expected) => {
  expect(withEventId(message, "new")).toBe(expected);
  expect(withEventId(Buffer.from(message), "new")).toEqual(Buffer.from(expected));
});

test("audio is not decoded", () => {
  expect(requestIn(Buffer.from([0x80, 0x81, ...Buffer.from('{"type":"response.create"}')]))).toBeNull();
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
