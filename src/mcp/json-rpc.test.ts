import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { parseExact } from "../base/exact-json.ts";
import { MAX_BATCH, readBatch, readMessage } from "./json-rpc.ts";

test.each([
  [{ jsonrpc: "2.0", id: 1, method: "ping" }, "request"],
  [{ jsonrpc: "2.0", id: "a", method: "ping", params: {} }, "request"],
  [{ jsonrpc: "2.0", method: "notifications/x", params: {} }, "notification"],
  [{ jsonrpc: "2.0", id: 1, result: {} }, "response"],
  [{ jsonrpc: "2.0", id: null, error: { code: 1, message: "m" } }, "response"],
])("%p is a %s", (value, kind) => {
  expect(readMessage(value)?.kind).toBe(kind as "request");
});

test.each([
  [null],
  [[]],
  [{}],
  [{ jsonrpc: "1.0", id: 1, method: "ping" }],
  [{ jsonrpc: "2.0", id: null, method: "ping" }],
  [{ jsonrpc: "2.0", id: {}, method: "ping" }],
  [{ jsonrpc: "2.0", id: "x".repeat(257), method: "ping" }],
  [{ jsonrpc: "2.0", id: 1, method: "" }],
  [{ jsonrpc: "2.0", id: 1, method: 5 }],
  [{ jsonrpc: "2.0", id: 1, method: "x".repeat(129) }],
  [{ jsonrpc: "2.0", id: 1, method: "ping", params: [] }],
  [{ jsonrpc: "2.0", id: 1, method: "ping", params: null }],
  [{ jsonrpc: "2.0", id: 1, method: "ping", result: {} }],
  [{ jsonrpc: "2.0", id: 1 }],
  [{ jsonrpc: "2.0", id: 1, result: 5 }],
  [{ jsonrpc: "2.0", result: {} }],
  [{ jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "m" } }],
  [{ jsonrpc: "2.0", id: 1, error: { code: "1", message: "m" } }],
])("%j is no message", (value) => {
  expect(readMessage(value)).toBeNull();
});

test("no value makes it throw, and what it returns is a message again", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue(), (value, params) => {
      readMessage(value);
      const message = readMessage({ jsonrpc: "2.0", id: 1, method: "m", params });
      if (message !== null)
        expect(message).toEqual({ kind: "request", id: 1, method: "m", params: params as never });
    }),
    { numRuns: runs({ short: 100, long: 5000 }) },
  );
});

test("a batch has 1 to 50 messages", () => {
  const pings = (length: number) =>
    Array.from({ length }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
  expect(readBatch([])).toBeNull();
  expect(readBatch([...pings(1), 5])).toBeNull();
  expect(readBatch(pings(MAX_BATCH))?.length).toBe(MAX_BATCH);
  expect(readBatch(pings(MAX_BATCH + 1))).toBeNull();
});

test.each([
  ["1", "1"],
  ["1", "1.0"],
  ["0", "-0"],
  ['"a"', String.raw`"\u0061"`],
  ["9007199254740992", "9007199254740993"],
])("requests with the ids %s and %s are no batch", (one, other) => {
  const request = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
  const batch = (...ids: string[]) => parseExact(`[${ids.map(request).join(",")}]`) as unknown[];
  expect(readBatch(batch(one, other))).toBeNull();
  expect(readBatch(batch(one, '"1"'))?.length).toBe(2);
});

test("a response may have the id of a request of its sender", () => {
  const messages = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", id: 1, result: {} },
  ];
  expect(readBatch(messages)?.length).toBe(2);
});
