// Tokens and cost of a request as text: parts are named if there are any, and an unknown cost has its reason.
import { expect, test } from "bun:test";
import { describeTokens, unknownCostReason } from "./request-cost.ts";

const TOKENS = { input: 1000, output: 50, cached_input: 0, cache_write: 0, reasoning: 0, partial: false };

test("names the parts of the tokens that have prices of their own", () => {
  expect(describeTokens(TOKENS, String)).toBe("1000 input, 50 output");
  expect(describeTokens({ ...TOKENS, cached_input: 900, cache_write: 20, reasoning: 30 }, String)).toBe(
    "1000 input (900 cached, 20 written to the cache), 50 output (30 reasoning)",
  );
  expect(describeTokens({ ...TOKENS, partial: true }, String)).toBe("1000 input, 50 output, incomplete");
});

test("says why the cost is unknown", () => {
  expect(unknownCostReason(TOKENS)).toBe("No price for this model");
  expect(unknownCostReason(null)).toBe("Tokens unknown");
  expect(unknownCostReason({ ...TOKENS, input: 0, output: 0, partial: true })).toBe("Tokens unknown");
});
