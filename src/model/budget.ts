// Budget: an amount of money or tokens that requests of a gateway may use in a period.
import { z } from "zod";
import { isTimeZone } from "../base/calendar-period.ts";
import { decimalOf, DOLLAR_DECIMALS } from "../base/decimal.ts";
import { isForbiddenHost } from "../base/forbidden-address.ts";
import { nameField } from "./fields.ts";
import { LABEL_NAME } from "./label-name.ts";
import { modelPatternField } from "./model-pattern.ts";
import type { ChildFields } from "./record.ts";

const MAX_DOLLARS = 1_000_000;
const MAX_TOKENS = 1_000_000_000_000;
const DOLLARS = /^(?:0|[1-9]\d{0,6})(?:\.\d{1,9})?$/;
const MAX_THRESHOLDS = 10;

export const BUDGET_UNITS = ["usd", "tokens"] as const;
export const BUDGET_PERIODS = ["hour", "day", "week", "month", "total"] as const;
const BUDGET_SCOPES = ["gateway", "api_key", "label", "user", "model"] as const;

/** A header names the budget, so that only characters of a token (RFC 9110, section 5.6.2) and spaces may occur. */
const budgetNameField = nameField
  .max(64, "must not be longer than 64 characters")
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9 ._/-]*$/,
    "must consist of letters, digits, spaces and . _ / -, and start with a letter or a digit",
  );

/** Dollars are stored as the decimal string that they were written as, because YAML reads `2.50` as a number. */
const amountField = z.union([
  z
    .string()
    .regex(/^\d{1,15}(?:\.\d{1,9})?$/, 'must be a decimal such as "25.00", or a whole number of tokens'),
  z.number().min(0, "must not be below 0"),
]);

const thresholdField = z
  .number()
  .gt(0, "must be above 0")
  .max(1, "must be at most 1")
  .refine(
    (share) => Math.abs(share * 1000 - Math.round(share * 1000)) < 1e-9,
    "must not have more than 3 decimal places",
  );

const webhookField = z
  .string()
  .max(2048, "must not be longer than 2048 characters")
  .superRefine((text, context) => {
    const message = webhookProblem(text);
    if (message !== null) context.addIssue({ code: "custom", message });
  });

function webhookProblem(text: string): string | null {
  if (!URL.canParse(text)) return "must be an absolute URL such as https://hooks.example.com/budgets";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must start with http:// or https://";
  if (url.username !== "" || url.password !== "") return "must not contain a user or password";
  if (text.includes("#")) return "must not contain a fragment";
  if (isForbiddenHost(url.hostname)) return "must not be a link-local or metadata address";
  return null;
}

const whatField = {
  unit: z.enum(BUDGET_UNITS).meta({ description: "What is counted: US dollars or tokens." }),
  amount: amountField.meta({
    description:
      'How much may be used in a period: US dollars as a decimal string such as "25.00", or a whole number of tokens.',
  }),
  period: z.enum(BUDGET_PERIODS).default("month").meta({
    description:
      "Calendar hour, day, week (from Monday) or month. `total`: never starts again unless it is reset.",
  }),
  timezone: z
    .string()
    .max(64, "must not be longer than 64 characters")
    .refine(isTimeZone, "must be an IANA time zone such as Europe/Berlin")
    .default("UTC")
    .meta({ description: "IANA time zone in which periods start." }),
};

const whoFields = {
  scope: z.enum(BUDGET_SCOPES).default("gateway").meta({
    description: "Whose requests count: those of the whole gateway, an API key, a label, a user or a model.",
  }),
  label: z
    .string()
    .regex(LABEL_NAME, "must have 1 to 32 characters a-z, 0-9, _ and -")
    .nullable()
    .default(null)
    .meta({ description: "With the scope `label`: the name of the label." }),
  value: nameField.nullable().default(null).meta({
    description: "Id or name of the API key, value of the label, id of the user, or name of the model.",
  }),
  each: z.boolean().default(false).meta({
    description: "Instead of `value`: every API key, value of the label, user or model has this amount.",
  }),
  models: z
    .array(modelPatternField)
    .min(1, "must contain at least one model; null counts all models")
    .max(1000, "must not contain more than 1000 models")
    .overwrite((models) => [...new Set(models)])
    .nullable()
    .default(null)
    .meta({
      description:
        "Only requests that may use these models count: exact names, or prefixes that end in `*`. Null: all models.",
    }),
};

export const budgetSchema = z
  .strictObject({
    name: budgetNameField.meta({
      description: "Name of the budget, in responses and metrics. Unique in the gateway.",
    }),
    ...whatField,
    ...whoFields,
    mode: z.enum(["enforce", "warn"]).default("enforce").meta({
      description: "enforce: requests that do not fit are rejected (402). warn: they are only reported.",
    }),
    warn_at: z
      .array(thresholdField)
      .max(MAX_THRESHOLDS, `must not contain more than ${MAX_THRESHOLDS} shares`)
      .overwrite((shares) => [...new Set(shares)].sort((a, b) => a - b))
      .default([0.8])
      .meta({ description: "Shares of the amount that are reported, once per period each." }),
    on_unknown_price: z.enum(["refuse", "free"]).default("refuse").meta({
      description: "A request whose model has no price is rejected, or costs nothing. For the unit `usd`.",
    }),
    on_store_failure: z
      .enum(["local", "open", "closed"])
      .nullable()
      .default(null)
      .meta({
        description:
          "If the shared ledger is unavailable: counted per node (local), not counted (open) or 503 (closed). " +
          "Null: closed if mode is enforce, open if it is warn.",
      }),
    webhook: webhookField
      .nullable()
      .default(null)
      .meta({
        description:
          "URL that receives a POST request for each of `warn_at`, once per period. Responses show its path and query masked; " +
          "the masked URL keeps the stored one.",
      }),
  })
  .superRefine(reportProblems)
  .overwrite((budget) => ({ ...budget, amount: amountIn(budget) }))
  .meta({ id: "Budget" });

interface Related {
  readonly unit: string;
  readonly amount: string | number;
  readonly scope: string;
  readonly label: string | null;
  readonly value: string | null;
  readonly each: boolean;
}

function reportProblems(budget: Related, context: z.RefinementCtx): void {
  const report = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  const problem = amountProblem(budget.unit, budget.amount);
  if (problem !== null) report("amount", problem);
  const { scope, label, value, each } = budget;
  if (scope === "gateway") {
    if (value !== null) report("value", "must be null with the scope gateway");
    if (each) report("each", "must be false with the scope gateway");
  } else if ((value === null) === !each) report("value", "is required, or each: true, but not both");
  if (scope === "label" && label === null) report("label", "is required with the scope label");
  if (scope !== "label" && label !== null) report("label", "must be null unless the scope is label");
}

/** Tokens are a number, and dollars a decimal string. */
function amountIn({ unit, amount }: Pick<Related, "unit" | "amount">): string | number {
  if (unit === "tokens") return Number(amount);
  return typeof amount === "number" ? decimalOf(amount) : amount;
}

function amountProblem(unit: string, amount: string | number): string | null {
  // The field itself reports text that is no number.
  if (typeof amount === "string" && !/^\d+(?:\.\d+)?$/.test(amount)) return null;
  const text = typeof amount === "number" ? decimalOf(amount) : amount;
  return unit === "usd" ? dollarProblem(text) : tokenProblem(text);
}

function dollarProblem(amount: string): string | null {
  if (!DOLLARS.test(amount))
    return `must be at most ${MAX_DOLLARS} dollars, with at most ${DOLLAR_DECIMALS} decimal places`;
  return Number(amount) > MAX_DOLLARS ? `must be at most ${MAX_DOLLARS} dollars` : null;
}

function tokenProblem(amount: string): string | null {
  if (!/^\d+$/.test(amount)) return "must be a whole number of tokens";
  return Number(amount) > MAX_TOKENS ? `must be at most ${MAX_TOKENS} tokens` : null;
}

export type BudgetFields = z.output<typeof budgetSchema>;
export type Budget = BudgetFields & ChildFields;
