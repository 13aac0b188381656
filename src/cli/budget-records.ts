// Budgets and their states as the Admin API has them, for gatehouse budgets.
import { z } from "zod";
import { UsageError } from "./command.ts";
import { printable, table } from "./terminal.ts";

const amount = z.union([z.string(), z.number()]);

/** Further fields are printed with --json only. */
export const budgetSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  unit: z.string(),
  amount,
  period: z.string(),
  scope: z.string(),
  label: z.string().nullable(),
  value: z.string().nullable(),
  each: z.boolean(),
  mode: z.string(),
});

export const stateSchema = z.object({
  period: z.object({ name: z.string(), starts_at: z.string().nullable(), ends_at: z.string().nullable() }),
  unit: z.string(),
  amount,
  spent: amount,
  reserved: amount,
  remaining: amount.nullable(),
  top_spenders: z.array(
    z.object({ subject: z.string(), name: z.string().nullable(), spent: amount, reserved: amount }),
  ),
});

/** The flags that are fields of a budget. */
interface FieldFlags {
  readonly name?: string | undefined;
  readonly unit?: string | undefined;
  readonly amount?: string | undefined;
  readonly period?: string | undefined;
  readonly timezone?: string | undefined;
  readonly scope?: string | undefined;
  readonly label?: string | undefined;
  readonly value?: string | undefined;
  readonly each?: boolean | undefined;
  readonly model?: readonly string[] | undefined;
  readonly mode?: string | undefined;
  readonly "warn-at"?: readonly string[] | undefined;
  readonly webhook?: string | undefined;
  readonly "on-unknown-price"?: string | undefined;
  readonly "on-store-failure"?: string | undefined;
}

/** Returns the fields that the flags give. `--each` and `--value` replace each other. */
export function budgetFieldsIn(flags: FieldFlags): Record<string, unknown> {
  const {
    name,
    unit,
    amount: size,
    period,
    timezone,
    scope,
    label,
    value,
    each,
    model,
    mode,
    webhook,
  } = flags;
  const given = {
    ...{ name, unit, amount: size, period, timezone, scope, label, mode, webhook },
    models: model,
    warn_at: flags["warn-at"]?.map(shareIn),
    on_unknown_price: flags["on-unknown-price"],
    on_store_failure: flags["on-store-failure"],
    ...(value !== undefined && { value, each: false }),
    ...(each === true && { each, value: null }),
  };
  if (value !== undefined && each === true)
    throw new UsageError("--value and --each exclude each other; give one");
  return Object.fromEntries(Object.entries(given).filter(([, field]) => field !== undefined));
}

function shareIn(text: string): number {
  const share = Number(text);
  if (text === "" || Number.isNaN(share))
    throw new UsageError(`--warn-at is "${text}"; give a share such as 0.8`);
  return share;
}

export function budgetLines(budget: z.output<typeof budgetSchema>): string[] {
  const { id, name, unit, period, scope, label, value, each, mode } = budget;
  const subject = scope === "gateway" ? "" : each ? " each" : ` ${value ?? ""}`;
  const what = label === null ? scope : `${scope} ${label}`;
  return [id, name, amountText(budget.amount, unit), period, `${what}${subject}`, mode].map(printable);
}

export function stateLines(name: string, state: z.output<typeof stateSchema>): string {
  const { period, unit, top_spenders } = state;
  const shown = (value: string | number) => amountText(value, unit);
  const until = period.ends_at === null ? "does not end" : `ends at ${period.ends_at}`;
  const remaining = state.remaining === null ? "each has its own" : shown(state.remaining);
  const lines = [
    printable(`budget "${name}": ${shown(state.amount)} per ${period.name}; the period ${until}`),
    `spent ${shown(state.spent)}, reserved ${shown(state.reserved)}, remaining ${remaining}`,
  ];
  if (top_spenders.length === 0) return lines.join("\n");
  const rows = top_spenders.map((each) =>
    [each.subject, each.name ?? "", shown(each.spent), shown(each.reserved)].map(printable),
  );
  return [...lines, table(["SUBJECT", "NAME", "SPENT", "RESERVED"], rows)].join("\n");
}

function amountText(value: string | number, unit: string): string {
  return unit === "usd" ? `$${value}` : `${value} tokens`;
}
