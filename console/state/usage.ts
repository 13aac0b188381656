// Totals and groups of usage rows, and their CSV export.
import type { UsageRow } from "../api/item-types.ts";
import type { ApiKey } from "../api/types.ts";

export interface UsageTotals {
  readonly requests: number;
  readonly partial: number;
  readonly input: number;
  readonly output: number;
  /** Requests whose cost is unknown. */
  readonly unpriced: number;
  /** US dollars, without the unpriced requests; null if all requests are unpriced. */
  readonly cost: number | null;
}

export function sumUsage(rows: readonly UsageRow[]): UsageTotals {
  const sum = (select: (row: UsageRow) => number) => rows.reduce((total, row) => total + select(row), 0);
  const requests = sum((row) => row.requests);
  const unpriced = sum(({ unpriced_requests }) => unpriced_requests);
  const charged = requests - sum(({ cached_requests }) => cached_requests);
  return {
    requests,
    partial: sum(({ partial_requests }) => partial_requests),
    input: sum(({ input_tokens }) => input_tokens),
    output: sum(({ output_tokens }) => output_tokens),
    unpriced,
    cost: charged > 0 && unpriced >= charged ? null : sum(({ cost }) => cost ?? 0),
  };
}

function groupBy(
  rows: readonly UsageRow[],
  select: (row: UsageRow) => string,
): ReadonlyMap<string, readonly UsageRow[]> {
  const groups = new Map<string, UsageRow[]>();
  for (const row of rows) {
    const name = select(row);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}

/** Rows with the same name, and their totals. */
export interface UsageRowGroup {
  readonly name: string;
  readonly rows: readonly UsageRow[];
  readonly totals: UsageTotals;
}

/** Returns the largest group first. */
export function rankGroups(
  rows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string,
  by: (totals: UsageTotals) => number,
): readonly UsageRowGroup[] {
  return [...groupBy(rows, nameOf)]
    .map(([name, group]) => ({ name, rows: group, totals: sumUsage(group) }))
    .sort((left, right) => by(right.totals) - by(left.totals));
}

/** Returns every day from `from` to `to`, both included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  const end = Date.parse(`${to}T00:00:00Z`);
  for (let day = Date.parse(`${from}T00:00:00Z`); day <= end; day += 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days;
}

/** Returns the period of the same length that ends on the day before `from`. */
export function periodBefore(from: string, to: string): { from: string; to: string } {
  const first = Date.parse(`${from}T00:00:00Z`);
  const length = Math.max(Date.parse(`${to}T00:00:00Z`) - first, 0) + 86_400_000;
  const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
  return { from: dayOf(first - length), to: dayOf(first - 86_400_000) };
}

const MAX_DECIMALS = 6;

/** Returns how many decimals the amounts of a column need, so that their decimal points are aligned. */
export function costDecimals(costs: readonly (number | null)[]): number {
  const smallest = Math.min(...costs.filter((cost) => cost !== null && cost > 0).map(Number), 1);
  return smallest >= 1 ? 2 : Math.min(MAX_DECIMALS, 1 - Math.floor(Math.log10(smallest)));
}

export function keyName({ api_key, api_key_id }: UsageRow): string {
  return api_key ?? api_key_id ?? "No API key";
}

export function modelName({ model }: UsageRow): string {
  return model ?? "No model";
}

/** Returns the name of the row in a report that is grouped by `rule`, `provider`, or `label:…`. */
export function groupName({ rule, provider, labels }: UsageRow, group: string): string {
  if (group === "rule") return rule ?? "No rule";
  if (group === "provider") return provider ?? "No provider";
  return labels?.[group.slice("label:".length)] ?? "No label";
}

/** Returns what usage can be grouped by in addition to API key and model, with the label of the control. */
export function groupChoices(keys: readonly ApiKey[]): readonly (readonly [group: string, label: string])[] {
  const names = new Set(keys.flatMap(({ labels }) => Object.keys(labels)));
  const labels = [...names].sort().map((name) => [`label:${name}`, `Label ${name}`] as const);
  return [["rule", "Rule"], ["provider", "Provider"], ...labels];
}

const CSV_COLUMNS: readonly (readonly [
  title: string,
  select: (row: UsageRow) => string | number | null | undefined,
])[] = [
  ["day", ({ day }) => day],
  ["api_key", ({ api_key }) => api_key],
  ["api_key_id", ({ api_key_id }) => api_key_id],
  ["model", ({ model }) => model],
  ["requests", ({ requests }) => requests],
  ["partial_requests", ({ partial_requests }) => partial_requests],
  ["input_tokens", ({ input_tokens }) => input_tokens],
  ["output_tokens", ({ output_tokens }) => output_tokens],
  ["unpriced_requests", ({ unpriced_requests }) => unpriced_requests],
  ["cost_usd", ({ cost }) => cost],
];

export function toCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map((row) => CSV_COLUMNS.map(([, select]) => csvCell(select(row))).join(","));
  return `${[CSV_COLUMNS.map(([title]) => title).join(","), ...lines].join("\r\n")}\r\n`;
}

function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  // Prefix names that a spreadsheet would evaluate as a formula (CSV injection).
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
