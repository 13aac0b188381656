// The first matching price applies, by name or by prefix, and the built-in list is valid.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pricesSchema, type Price } from "../model/price.ts";
import { BUILTIN_PRICES, BUILTIN_PRICES_DATE } from "./builtin-prices.ts";
import { PriceTable } from "./price-table.ts";

const price = (model: string, input: number, output = 0): Price => ({
  model,
  input_per_million: input,
  output_per_million: output,
});

describe("PriceTable", () => {
  test("the cost is that of input and output tokens", () => {
    const table = new PriceTable([price("m", 2.5, 10)]);
    expect(table.costOf("m", 1_000_000, 0)).toBe(2.5);
    expect(table.costOf("m", 0, 1_000_000)).toBe(10);
    expect(table.costOf("m", 100, 20)).toBeCloseTo(0.00045, 12);
    expect(table.costOf("m", 0, 0)).toBe(0);
    expect(table.costOf("other", 1, 1)).toBeNull();
  });

  test("the first match applies, whether it is a name or a prefix", () => {
    const table = new PriceTable([price("a-1", 1), price("a*", 2), price("a-2", 3), price("*", 4)]);
    const perMillion = (model: string) => table.costOf(model, 1_000_000, 0);
    expect(["a-1", "a-2", "a", "b", "A"].map(perMillion)).toEqual([1, 2, 2, 4, 4]);
  });

  test("equals comparing one price after the other, also if the cache is full", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 4 });
    const pattern = fc.tuple(name, fc.constantFrom("", "*")).map(([text, star]) => text + star);
    fc.assert(
      fc.property(fc.uniqueArray(pattern), fc.array(name), (patterns, models) => {
        const table = new PriceTable(patterns.map((model, index) => price(model, index + 1)));
        for (const model of models) {
          const found = patterns.findIndex((text) =>
            text.endsWith("*") ? model.startsWith(text.slice(0, -1)) : model === text,
          );
          expect(table.costOf(model, 1_000_000, 0)).toBe(found < 0 ? null : found + 1);
        }
      }),
    );
    const table = new PriceTable([price("m*", 1)]);
    for (let serial = 0; serial < 2500; serial++) expect(table.costOf(`m${serial}`, 1e6, 0)).toBe(1);
  });
});

describe("the built-in prices", () => {
  test("are valid input of the Admin API and have a date", () => {
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
    ["gpt-4o-2024-08-06", 2.5, 10],
    ["gpt-4o-mini", 0.15, 0.6],
    ["gpt-5-mini-2025-08-07", 0.25, 2],
    ["claude-sonnet-4-5-20250929", 3, 15],
    ["claude-opus-4-1", 15, 75],
    ["claude-opus-4-8", 5, 25],
  ])("%s", (model, input, output) => {
    const table = new PriceTable(BUILTIN_PRICES);
    expect([table.costOf(model, 1e6, 0), table.costOf(model, 0, 1e6)]).toEqual([input, output]);
  });
});
