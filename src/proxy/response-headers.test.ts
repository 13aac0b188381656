// Fields that were set before there is a response are those that would have been set on it one by one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { fieldNameOf, HeaderFields } from "../http/header-fields.ts";
import { ResponseHeaders } from "./response-headers.ts";
import { limitFieldsOf } from "./token-limit-headers.ts";

const TOKEN_LIMIT = [
  ["x-ratelimit-limit-tokens", "10"],
  ["x-ratelimit-remaining-tokens", "7"],
  ["x-ratelimit-reset-tokens", "1m30s"],
] as const;
const STATE = { limit: 10, remaining: 7, resetAt: 190 };
const UNIX_MS = 100_000;

const field = fc.tuple(
  fc.constantFrom(
    "X-RateLimit-global-Limit",
    "x-ratelimit-GLOBAL-limit",
    "X-RateLimit-per_key-Reset",
    "X-RateLimit-Remaining-Tokens",
    "x-ratelimit-limit-tokens",
    "X-GW-PII",
    "x-gw-pii",
    "Retry-After",
  ),
  fc.constantFrom("1", "23", "", "a b", "\xe9", "\t"),
);
const fields = fc.array(field, { maxLength: 8 });

const limitNames = (name: string) =>
  ["Limit", "Remaining", "Reset"].map((end) => `X-RateLimit-${name}-${end}`);
/** Names and remaining amounts. */
const limits = fc.array(fc.tuple(fc.constantFrom("global", "per_key", "GLOBAL"), fc.nat()), { maxLength: 3 });

test("any fields, also repeated ones in other spellings, with and without a token limit", () => {
  fc.assert(
    fc.property(
      fields,
      fields,
      limits,
      fc.boolean(),
      fc.boolean(),
      (before, own, limits, hasLimit, isCopied) => {
        const [actual, expected] = [new HeaderFields(), new HeaderFields()];
        for (const headers of [actual, expected])
          for (const [name, value] of before) headers.set(name, value);
        const set = new ResponseHeaders();
        for (const [name, value] of own) set.set(fieldNameOf(name), value);
        for (const [name, remaining] of limits)
          set.setLimit(limitFieldsOf(name), { limit: 10, remaining, resetAt: 99 });
        (isCopied ? set.clone() : set).addTo(actual, hasLimit ? STATE : null, UNIX_MS);
        for (const [name, value] of [...(hasLimit ? TOKEN_LIMIT : []), ...own]) expected.set(name, value);
        for (const [name, remaining] of limits)
          for (const [at, each] of limitNames(name).entries())
            expected.set(each, ["10", String(remaining), "99"][at] ?? "");
        expect(actual.toLines().split("\r\n").sort()).toEqual(expected.toLines().split("\r\n").sort());
        expect([...actual.entries()].sort()).toEqual([...expected.entries()].sort());
        const names = [...own.map(([name]) => name), ...limits.flatMap(([name]) => limitNames(name))];
        expect(new Set(set.names(false))).toEqual(new Set(names));
      },
    ),
    { numRuns: 2000 },
  );
});

test("a name or a value that cannot be sent is rejected", () => {
  expect(() => fieldNameOf("X A")).toThrow(TypeError);
  const set = new ResponseHeaders();
  set.set(fieldNameOf("X-RateLimit-global-Limit"), "1\r\nX-Other: 2");
  expect(() => set.addTo(new HeaderFields(), null, UNIX_MS)).toThrow(TypeError);
});

test("the names of a token limit are listed while it is reported", () => {
  const set = new ResponseHeaders();
  set.set(fieldNameOf("X-GW-PII"), "1");
  expect(set.names(true)).toEqual(["X-GW-PII", ...TOKEN_LIMIT.map(([name]) => name)]);
});
