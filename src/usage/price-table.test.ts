// The cost of a request is exact, the first matching price applies, by name or by prefix, and the built-in list is valid.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { tokenCounts, type TokenCounts } from "../formats/token-counts.ts";
import { pricesSchema, type Price, type PriceAmounts } from "../model/price.ts";
import { BUILTIN_PRICES, BUILTIN_PRICES_DATE, BUILTIN_PRICES_SOURCES } from "./builtin-prices.ts";
import { PriceTable } from "./price-table.ts";
import { runs } from "../../test/support/long-form.ts";

const NO_PARTS = {
  cachedInputTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
};
const tokens = (input: number, output: number, parts: Partial<TokenCounts> = {}) =>
  tokenCounts(input, output, { ...NO_PARTS, ...parts });
const price = (model: string, input: string, output = "0"): Price => ({ model, input, output });

/** Returns the cost in US dollars at this price. */
const dollars = (fields: Omit<Price, "model">, counts: TokenCounts) => {
  const nanos = new PriceTable([{ model: "m", ...fields }]).costOf("m", counts);
  return nanos === null ? null : nanos / 1e9;
};

describe("the cost of a request", () => {
  test("is that of input and output tokens", () => {
    const table = new PriceTable([price("m", "2.5", "10")]);
    expect(table.costOf("m", tokens(1_000_000, 0))).toBe(2_500_000_000);
    expect(table.costOf("m", tokens(0, 1_000_000))).toBe(10_000_000_000);
    expect(table.costOf("m", tokens(100, 20))).toBe(450_000);
    expect(table.costOf("m", tokens(0, 0))).toBe(0);
    expect(table.costOf("other", tokens(1, 1))).toBeNull();
  });

  test("OpenAI: cached input and reasoning are priced once, at their own prices", () => {
    const counts = tokens(2006, 300, { cachedInputTokens: 1920, reasoningTokens: 192 });
    // 86 × 1.25 + 1920 × 0.125 + 300 × 10
    expect(dollars({ input: "1.25", output: "10", cached_input: "0.125" }, counts)).toBe(0.0033475);
    // 86 × 1.25 + 1920 × 1.25 + 108 × 10 + 192 × 20
    expect(dollars({ input: "1.25", output: "10", reasoning: "20" }, counts)).toBe(0.0074275);
  });

  test("Anthropic: cache reads and writes of both lifetimes are priced once, at their own prices", () => {
    const counts = tokens(4096, 503, {
      cachedInputTokens: 1800,
      cacheWrite5mTokens: 148,
      cacheWrite1hTokens: 100,
    });
    const fields = { cached_input: "0.30", cache_write_5m: "3.75", cache_write_1h: "6" };
    // 2048 × 3 + 1800 × 0.3 + 148 × 3.75 + 100 × 6 + 503 × 15
    expect(dollars({ input: "3", output: "15", ...fields }, counts)).toBe(0.015384);
    // 4096 × 3 + 503 × 15
    expect(dollars({ input: "3", output: "15" }, counts)).toBe(0.019833);
  });

  test("audio has its own prices, or those of input and output", () => {
    const counts = tokens(10, 10, { audioInputTokens: 4, audioOutputTokens: 6 });
    expect(dollars({ input: "1", output: "2" }, counts)).toBe(0.00003);
    expect(dollars({ input: "1", output: "2", audio_input: "100", audio_output: "200" }, counts)).toBe(
      0.001614,
    );
  });

  test("above a size of the input, the whole request has other prices", () => {
    const fields = {
      input: "1",
      output: "10",
      cached_input: "0.1",
      reasoning: "5",
      above: { tokens: 1000, input: "2" },
    };
    expect(dollars(fields, tokens(1000, 10))).toBe(0.0011);
    expect(dollars(fields, tokens(1001, 10))).toBe(0.002102);
    // `input` is given above 1000 tokens, so that cached input costs as much; `output` and `reasoning` do not change.
    const parts = { cachedInputTokens: 1, reasoningTokens: 10 };
    expect(dollars(fields, tokens(1001, 10, parts))).toBe(0.002052);
    const above = { tokens: 1000, cached_input: "0.5" };
    expect(dollars({ ...fields, above }, tokens(1001, 0, parts))).toBe(0.0010005);
  });

  test("per_request is added, and may be the only price", () => {
    expect(dollars({ per_request: "0.01" }, tokens(1000, 1000))).toBe(0.01);
    expect(dollars({ per_request: "0.01", input: "1" }, tokens(1000, 1000))).toBe(0.011);
    expect(dollars({ per_request: "0.01", above: { tokens: 1, per_request: "0.02" } }, tokens(2, 0))).toBe(
      0.02,
    );
  });

  test("the old fields are accepted, exactly as they were written", () => {
    const old = { input_per_million: 0.1, output_per_million: 0.7 };
    expect(dollars(old, tokens(3, 7))).toBe(dollars({ input: "0.1", output: "0.7" }, tokens(3, 7)));
    expect(dollars({ input_per_million: 1e-7, output_per_million: 0 }, tokens(1e9, 0))).toBe(0.0001);
  });

  test("is rounded once, to a nano-dollar", () => {
    expect(dollars({ input: "0.0375" }, tokens(1, 0))).toBe(0.000000038);
    expect(dollars({ input: "0.0374" }, tokens(1, 0))).toBe(0.000000037);
  });

  test("equals a naive computation with big integers, and so do sums", () => {
    const amount = fc
      .tuple(fc.oneof(fc.nat(20), fc.nat(9999)), fc.nat(999_999_999), fc.nat(9))
      .map(([whole, fraction, digits]) =>
        digits === 0 ? String(whole) : `${whole}.${String(fraction).padStart(9, "0").slice(0, digits)}`,
      );
    const amounts = fc.record(Object.fromEntries(AMOUNT_NAMES.map((name) => [name, amount])), {
      requiredKeys: [],
    }) as fc.Arbitrary<PriceAmounts>;
    const above = fc.option(fc.tuple(fc.integer({ min: 1, max: 3e6 }), amounts), { nil: undefined });
    const count = fc.oneof(fc.nat(5000), fc.nat(3_000_000));
    const counts = fc
      .tuple(count, count, fc.array(count, { minLength: 6, maxLength: 6 }))
      .map(([input, output, [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0]]) =>
        tokenCounts(input, output, {
          cachedInputTokens: a,
          cacheWrite5mTokens: b,
          cacheWrite1hTokens: c,
          audioInputTokens: d,
          reasoningTokens: e,
          audioOutputTokens: f,
        }),
      );
    fc.assert(
      fc.property(
        amounts,
        above,
        fc.array(counts, { minLength: 1, maxLength: 5 }),
        (base, tier, requests) => {
          const fields = {
            ...base,
            ...(tier !== undefined && { above: { tokens: tier[0], ...tier[1] } }),
          };
          const table = new PriceTable([{ model: "m", ...fields }]);
          let sum = 0;
          let expected = 0n;
          for (const each of requests) {
            sum += table.costOf("m", each) ?? NaN;
            expected += naiveNanos(base, tier ?? null, each);
          }
          expect(BigInt(sum)).toBe(expected);
        },
      ),
      { numRuns: runs({ short: 400, long: 2000 }) },
    );
  });
});

const AMOUNT_NAMES = [
  "input",
  "output",
  "cached_input",
  "cache_write_5m",
  "cache_write_1h",
  "reasoning",
  "audio_input",
  "audio_output",
  "per_request",
] as const;

/** US dollars with 9 decimals as an integer. */
const units = (text: string): bigint => {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(9, "0"));
};

function naiveNanos(base: PriceAmounts, tier: [number, PriceAmounts] | null, counts: TokenCounts): bigint {
  const isAbove = tier !== null && counts.inputTokens > tier[0];
  const rate = (name: (typeof AMOUNT_NAMES)[number], plain: "input" | "output") => {
    const above = isAbove ? (tier[1][name] ?? tier[1][plain]) : undefined;
    return units(above ?? base[name] ?? base[plain] ?? "0");
  };
  const plainInput =
    counts.inputTokens -
    counts.cachedInputTokens -
    counts.cacheWrite5mTokens -
    counts.cacheWrite1hTokens -
    counts.audioInputTokens;
  const plainOutput = counts.outputTokens - counts.reasoningTokens - counts.audioOutputTokens;
  const perRequest = units((isAbove ? tier[1].per_request : undefined) ?? base.per_request ?? "0");
  const millionths =
    BigInt(plainInput) * rate("input", "input") +
    BigInt(counts.cachedInputTokens) * rate("cached_input", "input") +
    BigInt(counts.cacheWrite5mTokens) * rate("cache_write_5m", "input") +
    BigInt(counts.cacheWrite1hTokens) * rate("cache_write_1h", "input") +
    BigInt(counts.audioInputTokens) * rate("audio_input", "input") +
    BigInt(plainOutput) * rate("output", "output") +
    BigInt(counts.reasoningTokens) * rate("reasoning", "output") +
    BigInt(counts.audioOutputTokens) * rate("audio_output", "output") +
    perRequest * 1_000_000n;
  return (millionths + 500_000n) / 1_000_000n;
}

describe("PriceTable", () => {
  const perMillion = (table: PriceTable, model: string) => {
    const nanos = table.costOf(model, tokens(1_000_000, 0));
    return nanos === null ? null : nanos / 1e9;
  };

  test("the first match applies, whether it is a name or a prefix", () => {
    const table = new PriceTable([price("a-1", "1"), price("a*", "2"), price("a-2", "3"), price("*", "4")]);
    expect(["a-1", "a-2", "a", "b", "A"].map((model) => perMillion(table, model))).toEqual([1, 2, 2, 4, 4]);
  });

  test("a model without a price in a table has that of the next table", () => {
    const last = new PriceTable([price("a", "1"), price("b", "2"), price("c", "3")]);
    const middle = new PriceTable([price("a", "10"), price("b", "20")], last);
    const first = new PriceTable([price("a", "100")], middle);
    expect(["a", "b", "c", "d"].map((model) => perMillion(first, model))).toEqual([100, 20, 3, null]);
  });

  test("equals comparing one price after the other, also if the cache is full", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 4 });
    const pattern = fc.tuple(name, fc.constantFrom("", "*")).map(([text, star]) => text + star);
    fc.assert(
      fc.property(fc.uniqueArray(pattern), fc.array(name), (patterns, models) => {
        const table = new PriceTable(patterns.map((model, index) => price(model, String(index + 1))));
        for (const model of models) {
          const found = patterns.findIndex((text) =>
            text.endsWith("*") ? model.startsWith(text.slice(0, -1)) : model === text,
          );
          expect(perMillion(table, model)).toBe(found < 0 ? null : found + 1);
        }
      }),
    );
    const table = new PriceTable([price("m*", "1")]);
    for (let serial = 0; serial < 2500; serial++) expect(perMillion(table, `m${serial}`)).toBe(1);
  });
});

describe("the built-in prices", () => {
  test("are valid input of the Admin API and have a date and sources", () => {
    for (const source of BUILTIN_PRICES_SOURCES) expect(new URL(source).protocol).toBe("https:");
    expect(BUILTIN_PRICES_SOURCES.length).toBeGreaterThan(3);
    expect(pricesSchema.safeParse({ prices: BUILTIN_PRICES }).error).toBeUndefined();
    expect(BUILTIN_PRICES_DATE).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(BUILTIN_PRICES.length).toBeGreaterThan(30);
  });

  test("none is hidden by an earlier one", () => {
    for (const [index, { model }] of BUILTIN_PRICES.entries()) {
      const name = model.replace("*", "");
      const earlier = BUILTIN_PRICES.slice(0, index).filter(
        (other) => other.model.endsWith("*") && name.startsWith(other.model.slice(0, -1)),
      );
      expect({ model, hiddenBy: earlier.map((other) => other.model) }).toEqual({ model, hiddenBy: [] });
    }
  });

  test.each([
    ["gpt-4o-2024-08-06", 1.25],
    ["gpt-4.1-mini", 0.1],
    ["gpt-5-mini", 0.025],
    ["o3", 0.5],
    ["claude-fable-5", 1],
    ["claude-fable-5-1", 0.25],
    ["claude-opus-5-5", 0.2],
    ["claude-opus-4-8", 0.5],
    ["claude-sonnet-4-5-20250929", 0.3],
    ["grok-4", 0.75],
    // No price of cached input is known, so that it costs as much as other input.
    ["gpt-4o-2024-05-13", 5],
  ])("cached input of %s costs $%s per million tokens", (model, cached) => {
    const counts = tokens(1e5, 0, { cachedInputTokens: 1e5 });
    expect(new PriceTable(BUILTIN_PRICES).costOf(model, counts)).toBe(cached * 1e8);
  });

  test("Anthropic: cache writes cost 1.25 times the input for five minutes and twice the input for an hour", () => {
    const table = new PriceTable(BUILTIN_PRICES);
    for (const { model: pattern } of BUILTIN_PRICES.filter(({ model }) => model.startsWith("claude-"))) {
      const model = pattern.replace("*", "");
      if (model === "claude-3-haiku") continue;
      const input = table.costOf(model, tokens(1e5, 0)) ?? NaN;
      const written5m = table.costOf(model, tokens(1e5, 0, { cacheWrite5mTokens: 1e5 }));
      const written1h = table.costOf(model, tokens(1e5, 0, { cacheWrite1hTokens: 1e5 }));
      expect([model, written5m, written1h]).toEqual([model, input * 1.25, input * 2]);
    }
  });

  test("large requests cost more where the provider says so", () => {
    const table = new PriceTable(BUILTIN_PRICES);
    expect(table.costOf("claude-haiku-5-5", tokens(100_000, 1000))).toBe(10_500_000);
    expect(table.costOf("claude-haiku-5-5", tokens(100_001, 1000))).toBe(52_500_500);
    expect(table.costOf("gemini-2.5-pro", tokens(300_000, 1000, { cachedInputTokens: 100_000 }))).toBe(
      540_000_000,
    );
  });

  test.each([
    ...["gpt-4o-realtime-preview", "gpt-4o-audio-preview", "gpt-4o-transcribe", "gpt-4o-mini-tts"],
    ...["gpt-4o-mini-transcribe", "gpt-4o-mini-realtime-preview-2024-12-17", "gpt-3.5-turbo-instruct"],
    ...[
      "gpt-3.5-turbo-16k",
      "o3-deep-research",
      "o4-mini-deep-research-2025-06-26",
      "gemini-2.5-flash-image",
    ],
    ...["gemini-2.5-flash-preview-tts", "gemini-2.5-flash-native-audio-preview-09-2025"],
    ...[
      "gemini-2.5-pro-preview-tts",
      "gemini-2.0-flash-preview-image-generation",
      "gemini-3-pro-image-preview",
    ],
  ])(
    "%s, which has prices of its own, does not have those of the model that its name begins with",
    (model) => {
      expect(new PriceTable(BUILTIN_PRICES).priceOf(model)).toBeNull();
    },
  );

  test.each([
    ["gpt-4o-2024-08-06", 2.5, 10],
    ["gpt-4o-mini-2024-07-18", 0.15, 0.6],
    ["gpt-3.5-turbo-0125", 0.5, 1.5],
    ["o3-2025-04-16", 2, 8],
    ["gemini-2.5-flash-preview-09-2025", 0.3, 2.5],
    ["gemini-2.5-pro-preview-06-05", 1.25, 10],
    ["gemini-2.0-flash-001", 0.1, 0.4],
    ["gpt-4o-mini", 0.15, 0.6],
    ["gpt-5-mini-2025-08-07", 0.25, 2],
    ["claude-sonnet-4-5-20250929", 3, 15],
    ["claude-opus-4-1", 15, 75],
    ["claude-opus-4-8", 5, 25],
  ])("%s", (model, input, output) => {
    const table = new PriceTable(BUILTIN_PRICES);
    const costs = [table.costOf(model, tokens(1e5, 0)), table.costOf(model, tokens(0, 1e5))];
    expect(costs).toEqual([input * 1e8, output * 1e8]);
  });
});
