// Totals and groups of usage rows, and their CSV export.
import type { UsageRow } from "../api/item-types.ts";

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
  return {
    requests,
    partial: sum(({ partial_requests }) => partial_requests),
    input: sum(({ input_tokens }) => input_tokens),
    output: sum(({ output_tokens }) => output_tokens),
    unpriced,
    cost: requests > 0 && unpriced >= requests ? null : sum(({ cost }) => cost ?? 0),
  };
}

export function groupBy(
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

/** Returns every day from `from` to `to`, both included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  const end = Date.parse(`${to}T00:00:00Z`);
  for (let day = Date.parse(`${from}T00:00:00Z`); day <= end; day += 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days;
}

export function keyName({ api_key, api_key_id }: UsageRow): string {
  return api_key ?? api_key_id ?? "No API key";
}

export function modelName({ model }: UsageRow): string {
  return model ?? "No model";
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
