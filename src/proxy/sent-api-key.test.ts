// Tests of where an API key of the gateway is accepted, and that two different ones are refused.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sentApiKey, withoutApiKey } from "./sent-api-key.ts";
import { runs } from "../../test/support/long-form.ts";

const KEY = `gw_${"a".repeat(43)}`;
const OTHER = `gw_${"b".repeat(43)}`;

/** Every place of a key: a header, or the query. */
const PLACES: readonly [string, (key: string) => { headers?: Record<string, string>; query?: string }][] = [
  ["X-GW-API-Key", (key) => ({ headers: { "X-GW-API-Key": key } })],
  ["Authorization", (key) => ({ headers: { Authorization: `Bearer ${key}` } })],
  ["Authorization in lower case", (key) => ({ headers: { authorization: `bearer   ${key}` } })],
  ["x-api-key", (key) => ({ headers: { "x-api-key": key } })],
  ["api-key", (key) => ({ headers: { "api-key": key } })],
  ["x-goog-api-key", (key) => ({ headers: { "x-goog-api-key": key } })],
  ["the query", (key) => ({ query: `?alt=sse&key=${key}` })],
];

const find = ({ headers = {}, query = "" }: { headers?: Record<string, string>; query?: string }) =>
  sentApiKey(new Headers(headers), query);

describe("an API key is found in", () => {
  test.each(PLACES)("%s", (_, place) => {
    expect(find(place(KEY))).toBe(KEY);
  });
});

test("an API key is found in a query that is percent-encoded", () => {
  expect(find({ query: `?alt=sse&%6Bey=${KEY.replace("_", "%5F")}` })).toBe(KEY);
});

test("the same key in several places counts once, two different ones are refused", () => {
  for (const [one, place] of PLACES) {
    for (const [other, otherPlace] of PLACES) {
      if (one.startsWith("Authorization") && other.startsWith("Authorization")) continue;
      if (one === other) continue;
      const both = (first: string, second: string) => ({
        headers: { ...place(first).headers, ...otherPlace(second).headers },
        query: place(first).query ?? otherPlace(second).query ?? "",
      });
      expect(find(both(KEY, KEY))).toBe(KEY);
      expect(() => find(both(KEY, OTHER))).toThrow("two different API keys");
    }
  }
  expect(() => find({ query: `?key=${KEY}&key=${OTHER}` })).toThrow("two different API keys");
});

test("credentials of providers are no keys of the gateway", () => {
  const headers = { Authorization: "Bearer sk-1", "x-api-key": "sk-2", "x-goog-api-key": "AIza3" };
  expect(find({ headers, query: "?key=AIza4" })).toBeNull();
});

test("only the key is removed from a query", () => {
  expect(withoutApiKey(`?a=1&key=${KEY}&b=%20`)).toBe("?a=1&b=%20");
  expect(withoutApiKey(`?key=${KEY}`)).toBe("");
  expect(withoutApiKey(`?a=%5F&key=${KEY.replace("_", "%5F")}`)).toBe("?a=%5F");
  expect(withoutApiKey("?key=AIza&gw_=1")).toBe("?key=AIza&gw_=1");
  const part = fc.string({ unit: fc.constantFrom(..."key=gw_&?%2055Aa+/:é") });
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const query = `?${parts.join("&")}`;
      expect(sentApiKey(new Headers(), withoutApiKey(query))).toBeNull();
      if (sentApiKey(new Headers(), query) === null) expect(withoutApiKey(query)).toBe(query);
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});
