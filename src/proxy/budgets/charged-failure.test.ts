// Tests of what an attempt used of which the client got nothing.
import { expect, test } from "bun:test";
import { NO_TOKENS } from "../../usage/usage-accumulator.ts";
import { unusedTokensOf } from "./charged-failure.ts";

const REPORTED = {
  ...NO_TOKENS,
  inputTokens: 7,
  outputTokens: 10,
  reasoningTokens: 2,
  isPartial: true,
};

test.each([
  ["only estimated input", null, 0, 0, [50, 0, 0]],
  ["the text of a body that was cut", null, 30, 0, [50, 30, 0]],
  ["hidden tokens", null, 0, 30, [50, 30, 30]],
  ["a text that is shorter than the hidden output", null, 20, 30, [50, 30, 10]],
  ["a text that is longer than the hidden output", null, 40, 30, [50, 40, 0]],
  ["reported tokens above both", REPORTED, 5, 8, [7, 10, 2]],
  ["a text above the reported tokens", REPORTED, 15, 8, [7, 15, 2]],
  ["hidden tokens above both", REPORTED, 15, 25, [7, 25, 12]],
] as const)(
  "the largest output counts once: %s",
  (_, unusedUsage, cutOutputTokens, hiddenTokens, expected) => {
    const tokens = unusedTokensOf(
      { unusedUsage, cutOutputTokens, hiddenTokens, hiddenReasoning: hiddenTokens },
      50,
    );
    expect([tokens.inputTokens, tokens.outputTokens, tokens.reasoningTokens]).toEqual([...expected]);
  },
);
