// The errors that plugin authors see say what is wrong and name the value.
import { expect, test } from "bun:test";
import {
  checkBytes,
  checkHeaderName,
  checkHeaderValue,
  checkSize,
  checkStatus,
  checkLimit,
} from "./plugin-values.ts";

test("a status", () => {
  expect([200, 404, 599].map(checkStatus)).toEqual([200, 404, 599]);
  for (const status of [42, 199, 600, 200.5, NaN])
    expect(() => checkStatus(status)).toThrow(
      `a status must be a whole number from 200 to 599, got ${status}`,
    );
});

test("a header name, which is returned in lower case", () => {
  expect([checkHeaderName("X-Team"), checkHeaderName("X-Team")]).toEqual(["x-team", "x-team"]);
  expect(() => checkHeaderName("a b")).toThrow('"a b" is not a valid header name');
});

test("a header value, which is not repeated: it may be a secret", () => {
  expect(checkHeaderValue("v")).toBe("v");
  expect(() => checkHeaderValue("secret\r\nx: y")).toThrow(
    /^a header value must be a string without line breaks/,
  );
});

test("bytes, and their size", () => {
  expect(checkBytes("a body", "é", 2)).toEqual(Buffer.from("é"));
  const notBytes: unknown = 12;
  expect(() => checkBytes("a chunk", notBytes as string, 2)).toThrow(
    "a chunk must be a string or a Uint8Array, got number",
  );
  expect(() => checkSize("a body", 11, 10)).toThrow(
    "a body must not be larger than 10 bytes (MAX_BODY_BYTES), got 11",
  );
});

test("the numbers of a limit, which are written into header fields", () => {
  const state = { limit: 10, remaining: 3, resetAt: 1_800_000_000 };
  expect(() => checkLimit(state)).not.toThrow();
  for (const name of ["limit", "remaining", "resetAt"]) {
    const invalid: unknown = { ...state, [name]: "1\r\nX-Other: 2" };
    expect(() => checkLimit(invalid as typeof state)).toThrow("of a limit must be numbers");
  }
});
