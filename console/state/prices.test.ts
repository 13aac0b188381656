// Price rows of the form: old fields are converted, and emptied fields are left out.
import { expect, test } from "bun:test";
import { compactRow, withDecimals } from "./prices.ts";

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
