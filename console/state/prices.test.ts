// Price rows of the form: old fields are converted, and emptied fields are left out.
import { expect, test } from "bun:test";
import { compactRow, matchesOf, rowsOf, withDecimals, withPrice, type PriceRow } from "./prices.ts";

test("prices with the old fields are edited like those with the new ones", () => {
  const old = { model: "m", input_per_million: 0.15, output_per_million: 0.6 };
  expect(withDecimals(old)).toEqual({ model: "m", input: "0.15", output: "0.6" });
  expect(withDecimals({ model: "m", input: "2.50" })).toEqual({ model: "m", input: "2.50" });
});

test("fields that were emptied are left out, and so is a size without prices", () => {
  const emptied = {
    model: "m",
    input: "1",
    output: undefined,
    above: { tokens: undefined, input: undefined },
  };
  expect(compactRow(emptied as never)).toEqual({ model: "m", input: "1" });
  const above = { tokens: 5, output: undefined };
  expect(compactRow({ model: "m", above } as never)).toEqual({ model: "m", above: { tokens: 5 } });
});

const list = (...models: string[]) => models.map((model) => ({ model, input: "1" }));

test("a new price comes before the one that would hide it, and after more specific ones", () => {
  const models = (prices: readonly PriceRow[]) => prices.map(({ model }) => model);
  expect(models(withPrice(list("a-mini", "*"), { model: "a*" }))).toEqual(["a-mini", "a*", "*"]);
  expect(models(withPrice(list("a-mini"), { model: "a*" }))).toEqual(["a-mini", "a*"]);
  expect(models(withPrice([], { model: "a" }))).toEqual(["a"]);
});

test("the first match of the first list is in effect", () => {
  const lists = [
    { source: "gateway" as const, prices: list("x", "gpt-4o-mini") },
    { source: "installation" as const, prices: list("gpt-4o*") },
    { source: "builtin" as const, prices: list("gpt-4o-mini*", "gpt-4o*") },
  ];
  const found = (model: string) => matchesOf(lists, model).map(({ source, price }) => [source, price.model]);
  expect(found("gpt-4o-mini")).toEqual([
    ["gateway", "gpt-4o-mini"],
    ["installation", "gpt-4o*"],
    ["builtin", "gpt-4o-mini*"],
  ]);
  expect(found("gpt-4o-2024")).toEqual([
    ["installation", "gpt-4o*"],
    ["builtin", "gpt-4o*"],
  ]);
  expect(found("other")).toEqual([]);
});

test("a price that an earlier one of its list hides is found", () => {
  const rows = rowsOf({ source: "gateway", prices: list("a-mini", "a*", "a-large", "b") });
  expect(rows.map(({ shadowedBy }) => shadowedBy)).toEqual([null, null, "a*", null]);
});
