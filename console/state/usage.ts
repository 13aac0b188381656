// Sums of usage rows by what a page wants to tell apart, and the rows as CSV.
import type { UsageRow } from "../api/observed.ts";

export interface Sums {
  readonly requests: number;
  readonly partial: number;
  readonly input: number;
  readonly output: number;
  /** US dollars, as far as prices were known. */
  readonly cost: number;
}

export function sumOf(rows: readonly UsageRow[]): Sums {
  const sum = (of: (row: UsageRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    partial: sum(({ partial_requests }) => partial_requests),
    input: sum(({ input_tokens }) => input_tokens),
    output: sum(({ output_tokens }) => output_tokens),
    cost: sum(({ cost }) => cost),
  };
}

export function groupBy(
  rows: readonly UsageRow[],
  of: (row: UsageRow) => string,
): ReadonlyMap<string, readonly UsageRow[]> {
  const groups = new Map<string, UsageRow[]>();
  for (const row of rows) {
    const name = of(row);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}

/** Every day from the first to the last, both included: a day without use is a day too. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  const end = Date.parse(`${to}T00:00:00Z`);
  for (let day = Date.parse(`${from}T00:00:00Z`); day <= end; day += 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days;
}

export function nameOfKey({ api_key, api_key_id }: UsageRow): string {
  return api_key ?? api_key_id ?? "no key";
}

export function nameOfModel({ model }: UsageRow): string {
  return model ?? "no model";
}

const CSV_COLUMNS: readonly (readonly [
  title: string,
  of: (row: UsageRow) => string | number | null | undefined,
])[] = [
  ["day", ({ day }) => day],
  ["api_key", ({ api_key }) => api_key],
  ["api_key_id", ({ api_key_id }) => api_key_id],
  ["model", ({ model }) => model],
  ["requests", ({ requests }) => requests],
  ["partial_requests", ({ partial_requests }) => partial_requests],
  ["input_tokens", ({ input_tokens }) => input_tokens],
  ["output_tokens", ({ output_tokens }) => output_tokens],
  ["cost_usd", ({ cost }) => cost],
];

export function toCsv(rows: readonly UsageRow[]): string {
  const lines = rows.map((row) => CSV_COLUMNS.map(([, of]) => csvCell(of(row))).join(","));
  return `${[CSV_COLUMNS.map(([title]) => title).join(","), ...lines].join("\r\n")}\r\n`;
}

function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  // A name that a spreadsheet would take for a formula is made a text.
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
