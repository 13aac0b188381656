// Prices of tokens by model.
import { z } from "zod";
import { nameField } from "./fields.ts";

const dollarsField = z.number().min(0).max(1_000_000, "must be at most 1000000 dollars");

const priceSchema = z
  .strictObject({
    model: nameField.regex(/^[^*]*\*?$/, 'must contain "*" only at the end').meta({
      description: "The model that is sent to the provider. A `*` at the end matches any suffix.",
    }),
    input_per_million: dollarsField.meta({ description: "US dollars per million input tokens." }),
    output_per_million: dollarsField.meta({ description: "US dollars per million output tokens." }),
  })
  .meta({ id: "Price" });

export const pricesSchema = z
  .strictObject({
    prices: z
      .array(priceSchema)
      .max(1000, "must not contain more than 1000 prices")
      .superRefine((prices, context) => {
        const seen = new Set<string>();
        for (const [index, { model }] of prices.entries()) {
          const path = [index, "model"];
          if (seen.has(model)) context.addIssue({ code: "custom", path, message: "is given twice" });
          seen.add(model);
        }
      })
      .meta({ description: "The first entry that matches a model is its price." }),
  })
  .meta({ id: "Prices" });

export type Price = z.output<typeof priceSchema>;
