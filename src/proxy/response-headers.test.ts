// Fields that were set before there is a response are those that would have been set on it one by one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { dollarsOf } from "../base/decimal.ts";
import { fieldNameOf, HeaderFields } from "../http/header-fields.ts";
import { budgetSchema } from "../model/budget.ts";
import { compileBudgets } from "../snapshot/compiled-budget.ts";
import { writeRemaining } from "./remaining-budgets.ts";
import { ResponseHeaders, type ReservedLimits } from "./response-headers.ts";
import { limitFieldsOf, writeTokenLimit } from "./token-limit-headers.ts";
import { runs } from "../../test/support/long-form.ts";

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
    "x-gw-budget-remaining",
    "Retry-After",
  ),
  fc.constantFrom("1", "23", "", "a b", "\xe9", "\t"),
);
const fields = fc.array(field, { maxLength: 8 });

const limitNames = (name: string) =>
  ["Limit", "Remaining", "Reset"].map((end) => `X-RateLimit-${name}-${end}`);
const RECORD = { gateway_id: "gateway", created_at: "", updated_at: "" };
const BUDGETS = compileBudgets(
  [
    { name: "team a", unit: "usd" as const, amount: "10" },
    { name: "daily", unit: "tokens" as const, amount: 1000 },
  ].map((budget, at) => ({ ...RECORD, id: `budget-${at}`, ...budgetSchema.parse(budget) })),
)!;
const amount = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.nat(1000));
/** What is set, one after the other: a field, a limit, or what is left of budgets. */
const setting = fc.oneof(
  field.map(([name, value]) => ({ names: [name], values: [value], budgets: null, limit: null })),
  fc
    .record({
      name: fc.constantFrom("global", "per_key", "GLOBAL"),
      limit: amount,
      remaining: amount,
      // The line of a time that is repeated is kept.
      resetAt: fc.constantFrom(99, 1_800_000_000),
    })
    .map(({ name, limit, remaining, resetAt }) => ({
      names: limitNames(name),
      values: [String(limit), String(remaining), String(resetAt)],
      budgets: null,
      limit: { name, numbers: { limit, remaining, resetAt } },
    })),
  fc.tuple(amount, amount, fc.boolean()).map(([dollars, tokens, isOnlyFirst]) => ({
    names: ["X-GW-Budget-Remaining"],
    values: [`team a=${dollarsOf(dollars)}${isOnlyFirst ? "" : `, daily=${tokens}`}`],
    budgets: {
      claims: BUDGETS.slice(0, isOnlyFirst ? 1 : 2).map((budget) => ({ budget })),
      states: [{ remaining: 1 }, { remaining: dollars }, { remaining: tokens }],
      first: 1,
    },
    limit: null,
  })),
);

test("any fields, also repeated ones in other spellings, with and without a token limit", () => {
  fc.assert(
    fc.property(
      fields,
      fc.array(setting, { maxLength: 8 }),
      fc.boolean(),
      fc.boolean(),
      (before, own, hasLimit, isCopied) => {
        const [actual, expected] = [new HeaderFields(), new HeaderFields()];
        for (const headers of [actual, expected])
          for (const [name, value] of before) headers.set(name, value);
        const set = new ResponseHeaders();
        for (const { names, values, budgets, limit } of own)
          if (budgets !== null) set.setBudgets(budgets);
          else if (limit !== null) set.setLimit(limitFieldsOf(limit.name), limit.numbers);
          else set.set(fieldNameOf(names[0]!), values[0]!);
        (isCopied ? set.clone() : set).addTo(actual, hasLimit ? STATE : null, UNIX_MS);
        if (hasLimit) for (const [name, value] of TOKEN_LIMIT) expected.set(name, value);
        for (const { names, values } of own)
          for (const [at, name] of names.entries()) expected.set(name, values[at] ?? "");
        expect(actual.toLines().split("\r\n").sort()).toEqual(expected.toLines().split("\r\n").sort());
        expect([...actual.entries()].sort()).toEqual([...expected.entries()].sort());
        expect(new Set(set.names(false))).toEqual(new Set(own.flatMap(({ names }) => names)));
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

test("a limit that is set after the fields were added is not among them", () => {
  const set = new ResponseHeaders();
  set.setLimit(limitFieldsOf("global"), STATE);
  const headers = new HeaderFields();
  set.addTo(headers, null, UNIX_MS);
  set.setLimit(limitFieldsOf("per_key"), STATE);
  const lines = limitNames("global").map((name, at) => `${name}: ${[10, 7, 190][at]}\r\n`);
  expect(headers.toLines()).toBe(lines.join(""));
});

test("limits and budgets that were reserved together are those that are set one by one", () => {
  const names = fc.uniqueArray(fc.constantFrom("global", "per_key", "per_user", "per_label.team"));
  const state = fc.record({ limit: amount, remaining: amount, resetAt: fc.nat() });
  const states = fc.array(state, { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(
      fields,
      fields,
      names,
      states,
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom("none", "clone", "limit", "budgets"),
      (before, after, limitNamesUsed, numbers, hasBudgets, hasLimit, last) => {
        const limits = limitNamesUsed.map(limitFieldsOf);
        const budgets = {
          claims: BUDGETS.map((budget) => ({ budget })),
          states: numbers,
          first: 1,
        };
        const reserved: ReservedLimits = {
          fields: limits,
          bits: limits.reduce((bits, each) => bits | each.bits, 0),
          hasBudgets,
          numbersAt: (at) => numbers[at]!,
          remainingBudgets: () => budgets,
          writeReserved: (writer) => {
            for (const [at, each] of limits.entries())
              each.write(writer, numbers[at]!.limit, numbers[at]!.remaining, numbers[at]!.resetAt);
            if (hasBudgets) writeRemaining(writer, budgets);
          },
          linesWith: (tokenLimit, unixMs) => ({
            write: (writer) => {
              if (tokenLimit !== null) writeTokenLimit(writer, tokenLimit, unixMs);
              reserved.writeReserved(writer);
            },
          }),
        };
        const lines = [true, false].map((isTogether) => {
          const set = new ResponseHeaders();
          for (const [name, value] of before) set.set(fieldNameOf(name), value);
          if (isTogether) set.setReserved(reserved);
          else {
            for (const [at, each] of limits.entries()) set.setLimit(each, numbers[at]!);
            if (hasBudgets) set.setBudgets(budgets);
          }
          if (last === "limit") set.setLimit(limitFieldsOf("global"), STATE);
          if (last === "budgets") set.setBudgets({ ...budgets, first: 0 });
          for (const [name, value] of after) set.set(fieldNameOf(name), value);
          const headers = new HeaderFields();
          (last === "clone" ? set.clone() : set).addTo(headers, hasLimit ? STATE : null, UNIX_MS);
          return [headers.toLines(), set.names(hasLimit)];
        });
        expect(lines[0]).toEqual(lines[1]);
      },
    ),
    { numRuns: runs({ short: 400, long: 2000 }) },
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
