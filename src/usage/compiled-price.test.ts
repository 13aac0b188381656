import { expect, test } from "bun:test";
import fc from "fast-check";
import { CompiledPrice } from "./compiled-price.ts";
import { NO_TOKENS } from "./usage-accumulator.ts";

const OUTPUTS = ["outputTokens", "reasoningTokens", "audioOutputTokens"] as const;
const CACHE = ["inputTokens", "cacheWrite5mTokens", "cacheWrite1hTokens"] as const;
const INPUTS = { text: ["inputTokens"], cache: CACHE, any: [...CACHE, "audioInputTokens"] } as const;

test("the cost to reserve is the highest one of tokens of any kind that they may be of", () => {
  const prices = [
    { model: "m", input: "2.5", output: "10", per_request: "0.000000001" },
    {
      model: "m",
      input: "0.000001",
      output: "0.000003",
      above: { tokens: 1000, input: "999999", output: "1000000" },
    },
    {
      model: "m",
      input: "1",
      output: "2",
      reasoning: "3",
      audio_output: "1",
      cache_write_1h: "4",
      audio_input: "7",
      above: { tokens: 9, audio_output: "999999", cache_write_5m: "5" },
    },
  ].map((price) => new CompiledPrice(price));
  const tokens = fc.oneof(fc.nat(2000), fc.nat(1_000_000_000));
  fc.assert(
    fc.property(
      fc.constantFrom(...prices),
      fc.constantFrom("text", "cache", "any"),
      tokens,
      tokens,
      (price, input, inputTokens, outputTokens) => {
        const costs = INPUTS[input].flatMap((inputKind) =>
          OUTPUTS.map((kind) => {
            const parts = { [kind]: outputTokens, [inputKind]: inputTokens };
            return price.costOf({ ...NO_TOKENS, inputTokens, outputTokens, ...parts });
          }),
        );
        const [text, special] = input === "any" ? [0, inputTokens] : [inputTokens, 0];
        expect(price.costToReserve(text, special, outputTokens, input === "cache")).toBe(Math.max(...costs));
      },
    ),
    { numRuns: 500 },
  );
});

test("costs are rounded half up to nano-dollars, also next to the limits of exact numbers", () => {
  const price = new CompiledPrice({ model: "m", input: "0.000000001", output: "0" });
  // Multiples of half a nano-dollar, and what is next to them.
  const inputTokens = fc
    .tuple(fc.oneof(fc.nat(1000), fc.maxSafeNat()), fc.integer({ min: -2, max: 2 }))
    .map(([number, offset]) => Math.floor(number / 500_000) * 500_000 + offset)
    .filter((tokens) => tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER - 1_000_000);
  fc.assert(
    fc.property(inputTokens, (tokens) => {
      expect(BigInt(price.costToReserve(tokens, 0, 0, false))).toBe((BigInt(tokens) + 500_000n) / 1_000_000n);
    }),
    { numRuns: 2000 },
  );
});
