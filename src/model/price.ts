// Prices of models: what a request costs by its tokens, in decimal strings, and limits of the model beside them.
import { z } from "zod";
import { decimalOf, DOLLAR_DECIMALS } from "../base/decimal.ts";
import { nameField } from "./fields.ts";

const MAX_DOLLARS = 1_000_000;
const DECIMAL = /^(?:0|[1-9]\d{0,6})(?:\.\d{1,9})?$/;
const MAX_TOKENS = 1_000_000_000;

/** A number is accepted and stored as the decimal string that it was written as, because YAML reads `2.50` as a number. */
const dollarsField = z.preprocess(
  (value) => (typeof value === "number" ? decimalOf(value) : value),
  z
    .string()
    .regex(
      DECIMAL,
      `must be a decimal such as "2.50", not below 0 and with at most ${DOLLAR_DECIMALS} decimal places`,
    )
    .refine(
      (text) => !DECIMAL.test(text) || Number(text) <= MAX_DOLLARS,
      `must be at most ${MAX_DOLLARS} dollars`,
    ),
);
const numberField = z.number().min(0).max(MAX_DOLLARS, `must be at most ${MAX_DOLLARS} dollars`);
const tokensField = z.int().min(1).max(MAX_TOKENS, `must be at most ${MAX_TOKENS} tokens`);

const amounts = {
  input: dollarsField.optional().meta({ description: "US dollars per million input tokens." }),
  output: dollarsField.optional().meta({ description: "US dollars per million output tokens." }),
  cached_input: dollarsField
    .optional()
    .meta({ description: "Input that the provider read from its cache. Default: `input`." }),
  cache_write_5m: dollarsField
    .optional()
    .meta({ description: "Input that the provider cached for five minutes. Default: `input`." }),
  cache_write_1h: dollarsField
    .optional()
    .meta({ description: "Input that the provider cached for an hour. Default: `input`." }),
  reasoning: dollarsField.optional().meta({ description: "Output that is reasoning. Default: `output`." }),
  audio_input: dollarsField.optional().meta({ description: "Input that is audio. Default: `input`." }),
  audio_output: dollarsField.optional().meta({ description: "Output that is audio. Default: `output`." }),
  per_request: dollarsField
    .optional()
    .meta({ description: "US dollars per request, in addition to its tokens." }),
};

const aboveSchema = z.strictObject({
  tokens: tokensField.meta({ description: "Applies to requests with more input tokens than this." }),
  ...amounts,
});

const priceSchema = z
  .strictObject({
    model: nameField.regex(/^[^*]*\*?$/, 'must contain "*" only at the end').meta({
      description: "The model that is sent to the provider. A `*` at the end matches any suffix.",
    }),
    ...amounts,
    above: aboveSchema.optional().meta({
      description: "Prices of the whole request if its input is larger. Absent ones are those of the price.",
    }),
    context_window: tokensField.optional().meta({ description: "Tokens that the model accepts at most." }),
    max_output_tokens: tokensField.optional().meta({ description: "Tokens that the model returns at most." }),
    input_per_million: numberField
      .optional()
      .meta({ description: "The same as `input`, as a number.", deprecated: true }),
    output_per_million: numberField
      .optional()
      .meta({ description: "The same as `output`, as a number.", deprecated: true }),
  })
  .superRefine((price, context) => {
    const report = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    for (const name of ["input", "output"] as const)
      if (price[name] !== undefined && price[`${name}_per_million`] !== undefined)
        report(`${name}_per_million`, `must not be given together with ${name}`);
    const { input, output, per_request, input_per_million, output_per_million } = price;
    if ((input ?? output ?? per_request ?? input_per_million ?? output_per_million) === undefined)
      report("input", "is required, or output or per_request");
  })
  .meta({ id: "Price" });

/** The first entry that matches a model is its price in this list. */
export const priceListField = z
  .array(priceSchema)
  .max(1000, "must not contain more than 1000 prices")
  .superRefine((prices, context) => {
    const seen = new Set<string>();
    for (const [index, { model }] of prices.entries()) {
      const path = [index, "model"];
      if (seen.has(model)) context.addIssue({ code: "custom", path, message: "is given twice" });
      seen.add(model);
    }
  });

export const pricesSchema = z
  .strictObject({
    prices: priceListField.meta({ description: "The first entry that matches a model is its price." }),
  })
  .meta({ id: "Prices" });

export type Price = z.output<typeof priceSchema>;
export type PriceAmounts = Omit<z.output<typeof aboveSchema>, "tokens">;
