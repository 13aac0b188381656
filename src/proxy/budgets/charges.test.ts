// What requests are charged with: the usual one is charged without a list of charges, and with the same amounts.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { budgetSchema } from "../../model/budget.ts";
import type { TokensLimitClaim } from "../../sdk/index.ts";
import { compileBudgets } from "../../snapshot/compiled-budget.ts";
import { PriceTable } from "../../usage/price-table.ts";
import { NO_TOKENS } from "../../usage/usage-accumulator.ts";
import { isAmount } from "../../ledger/claims.ts";
import { MAX_AMOUNT } from "../../ledger/ledger.ts";
import { amountsOf, chargesOf, hasOneKnownCharge, isKnown, onlyAmountsOf } from "./charges.ts";
import { countsModel, type PlannedClaim } from "./reserved-claims.ts";
import { runs } from "../../../test/support/long-form.ts";

const MODELS = ["a", "b", null] as const;
const RECORD = { gateway_id: "gateway", created_at: "", updated_at: "" };
const BUDGETS = compileBudgets(
  [
    { name: "money", unit: "usd" as const, amount: "10" },
    { name: "tokens", unit: "tokens" as const, amount: 1000 },
    { name: "one model", unit: "tokens" as const, amount: 1000, models: ["a"] },
  ].map((budget, at) => ({ ...RECORD, id: `budget-${at}`, ...budgetSchema.parse(budget) })),
)!;

const amount = fc.nat({ max: 1000 });
const limit = fc
  .record({ amount, count: fc.nat({ max: 3 }), counted: fc.nat({ max: 3 }) })
  .map(({ amount: reserved, count, counted }): TokensLimitClaim => ({
    kind: "tokens",
    key: "key",
    limit: 1000,
    windowMs: 1000,
    amount: reserved,
    ...(count < 3 && { count: (["total", "input", "output"] as const)[count]! }),
    ...(counted < 3 && { countsModel: (model: string | null) => model === MODELS[counted] }),
  }));
const budget = fc
  .record({ amount, budget: fc.nat({ max: 2 }), model: fc.nat({ max: 2 }) })
  .map(({ amount: reserved, budget: index, model }): PlannedClaim => ({
    kind: "budget",
    key: "key",
    period: "p",
    endsAt: null,
    limit: 1000,
    enforced: true,
    amount: reserved,
    budget: BUDGETS[index]!,
    subject: "",
    model: MODELS[model] ?? null,
  }));
const attempt = fc.record({
  fault: fc.constantFrom(null, null, null, "cut", "unreachable"),
  wasSent: fc.boolean(),
  purpose: fc.constantFrom("request" as const, "request" as const, "hedge" as const),
  model: fc.constantFrom(...MODELS),
  unusedUsage: fc.constant(null),
  hiddenTokens: fc.nat(100),
  hiddenReasoning: fc.nat(100),
  cutOutputTokens: fc.nat(100),
  isChargedAsReserved: fc.boolean(),
});
const exchange = fc
  .record({
    handshake: fc.constantFrom(null, null, null, {}),
    attempts: fc.array(attempt, { minLength: 1, maxLength: 2 }),
    relayed: fc.constantFrom(0, 0, 0, 1),
    hasResponse: fc.constantFrom(true, true, true, false),
    ok: fc.constantFrom(true, true, true, false),
    model: fc.constantFrom(...MODELS),
    isStream: fc.boolean(),
    tokens: fc.option(fc.record({ input: amount, output: amount, isPartial: fc.nat({ max: 3 }) })),
    costNanos: fc.option(amount),
    isPriced: fc.boolean(),
  })
  .map(({ attempts, relayed, hasResponse, ok, model, isStream, tokens, isPriced, ...rest }) => ({
    ...rest,
    attemptFacts: attempts,
    response: hasResponse
      ? { model, isStream, upstreamResponse: { ok }, report: { facts: attempts[relayed] ?? null } }
      : null,
    usage: tokens && {
      ...NO_TOKENS,
      inputTokens: tokens.input,
      outputTokens: tokens.output,
      isPartial: tokens.isPartial === 0,
    },
    gateway: null,
    snapshot: { prices: new PriceTable(isPriced ? [{ model: "a", input: "1", output: "1" }] : []) },
  }));

test("one known charge: the amounts are those of the list of charges", () => {
  let count = 0;
  fc.assert(
    fc.property(exchange, fc.array(limit), fc.array(budget), amount, (each, limits, budgets, estimate) => {
      if (!hasOneKnownCharge(each)) return;
      count++;
      const charges = chargesOf(each, estimate);
      expect(charges.map(isKnown)).toEqual([true]);
      expect(onlyAmountsOf(each, limits, budgets, [])).toEqual(amountsOf(limits, budgets, charges));
    }),
    { numRuns: runs({ short: 600, long: 3000 }) },
  );
  // Otherwise nothing would be compared.
  expect(count).toBeGreaterThan(20);
});

test("a claim and what was added to it are charged as one claim with the sum of both", () => {
  const charge = fc.record({
    model: fc.constantFrom(...MODELS),
    nanos: fc.oneof(amount, fc.constant(NaN)),
    inputTokens: fc.oneof(amount, fc.constant(NaN)),
    outputTokens: amount,
    isPartial: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(charge, { maxLength: 3 }), budget, amount, (charges, claim, added) => {
      const [together = 0] = amountsOf([], [{ ...claim, amount: claim.amount + added }], charges);
      const [first = 0] = amountsOf([], [claim], charges);
      const [addition = 0] = amountsOf([], [{ ...claim, amount: added, addsTo: claim.amount }], charges);
      expect(first + addition).toBe(together);
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

test("several charges together are at most what the ledger accepts, which is not less than any of them", () => {
  const large = fc.oneof(amount, fc.constantFrom(MAX_AMOUNT, MAX_AMOUNT - 1, NaN), fc.maxSafeNat());
  const charge = fc.record({
    model: fc.constantFrom(...MODELS),
    nanos: large,
    inputTokens: fc.oneof(amount, fc.constant(NaN)),
    outputTokens: fc.oneof(amount, fc.constant(1e12)),
    isPartial: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(charge), fc.array(limit), fc.array(budget), (charges, limits, budgets) => {
      const amounts = amountsOf(limits, budgets, charges);
      for (const each of amounts) expect([each, isAmount(each)]).toEqual([each, true]);
      const dollars = budgets.findIndex(({ budget: { record } }) => record.unit === "usd");
      for (const { model, nanos } of charges)
        if (dollars !== -1 && !Number.isNaN(nanos) && countsModel(budgets[dollars]!, model))
          expect(amounts[limits.length + dollars]).toBeGreaterThanOrEqual(nanos);
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});
