// gatehouse reconcile: compares the usage of the gateway with the usage export of a provider.
import { z } from "zod";
import { EXPORT_COLUMNS, EXPORT_FORMATS, type ExportFormat } from "../../formats/usage-exports.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "../admin-client.ts";
import { parseArguments, required } from "../arguments.ts";
import { UsageError, type Command } from "../command.ts";
import { findGateway } from "../find-gateway.ts";
import { paint, printable, table } from "../terminal.ts";
import { COMPARED, compareUsage, type ComparedUsage, type Comparison } from "./compare-usage.ts";
import { readUsageExport, type DayUsage, type UsageExport } from "./usage-export.ts";

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const DIFFERENT = 1;
const INVALID_INPUT = 2;
const reportSchema = z.object({
  usage: z.array(
    z.object({
      day: z.string(),
      model: z.string().nullable(),
      provider: z.string().nullable(),
      requests: z.int(),
      cached_requests: z.int(),
      unpriced_requests: z.int(),
      input_tokens: z.int(),
      output_tokens: z.int(),
      cost: z.number().nullable(),
    }),
  ),
});

const parse = (args: readonly string[]) =>
  parseArguments(args, {
    options: {
      ...CLIENT_OPTIONS,
      gateway: { type: "string" },
      format: { type: "string" },
      provider: { type: "string" },
      tolerance: { type: "string", default: "0" },
      "exact-models": { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
    maxPositionals: 1,
  });
type Values = ReturnType<typeof parse>["values"];

export const reconcile: Command = {
  summary: "compare the usage with the usage export of a provider",
  help: `Usage: gatehouse reconcile FILE [--gateway NAME|ID] [--format FORMAT] [--provider NAME] [--tolerance PERCENT]
                           [--exact-models] [--json]

Compares requests, tokens and cost per day (UTC) and model with a CSV file, and prints the differences with their percentage.
The exit code is 0 if all are equal within the tolerance, 1 if some differ, and 2 if the file cannot be read.

  --gateway G    name or id; default all gateways
  --format F     ${EXPORT_FORMATS.join(", ")}; default by the columns of the file
  --provider P   compare only targets of this provider; "*" is all; default that of the format
  --tolerance P  percent of the provider's number that is no difference; default 0
  --exact-models compare names of models as they are; default without the date of a snapshot
${CLIENT_HELP}
  --json         print the comparison as JSON`,
  run: async (args) => {
    const { values, positionals } = parse(args);
    const file = required("FILE", positionals[0]);
    const tolerance = toleranceIn(values.tolerance);
    const exported = await readExport(file, formatIn(values.format));
    if (exported === null) return INVALID_INPUT;
    const client = await adminClient(values);
    const { rows: ours, unpriced } = await readOwnUsage(client, values, exported);
    const { rows, total } = compareUsage(ours, exported.rows, tolerance, values["exact-models"]);
    const isEqual = rows.every((row) => row.isEqual);
    console.log(
      values.json
        ? JSON.stringify({
            format: exported.format,
            equal: isEqual,
            rows: rows.map(show),
            total: show(total),
            unpriced_requests: unpriced,
          })
        : describe(rows, total, unpriced),
    );
    return isEqual ? 0 : DIFFERENT;
  },
};

/** Resolves to null if the file cannot be read; the reasons are printed. */
async function readExport(file: string, format: ExportFormat | null): Promise<UsageExport | null> {
  try {
    const source = Bun.file(file);
    if (source.size > MAX_FILE_BYTES)
      throw new Error(`the file is larger than ${MAX_FILE_BYTES} bytes; export fewer days`);
    const exported = readUsageExport(decodeText(await source.bytes()), format);
    if (exported.rows.length === 0) throw new Error("the file has no usage; give one with at least one row");
    return exported;
  } catch (error) {
    for (const line of (error instanceof Error ? error.message : String(error)).split("\n"))
      console.error(printable(`gatehouse: ${file}: ${line}`));
    return null;
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new Error("the file is not in UTF-8; save it as CSV in UTF-8", { cause: error });
  }
}

function formatIn(text: string | undefined): ExportFormat | null {
  if (text === undefined) return null;
  const format = EXPORT_FORMATS.find((name) => name === text);
  if (format === undefined)
    throw new UsageError(`--format is "${text}"; give one of ${EXPORT_FORMATS.join(", ")}`);
  return format;
}

function toleranceIn(text: string): number {
  const percent = /^\d{1,3}(?:\.\d{1,6})?$/.test(text) ? Number(text) : NaN;
  if (!(percent <= 100))
    throw new UsageError(`--tolerance is "${text}"; give a number of percent from 0 to 100`);
  return percent;
}

interface OwnUsage {
  readonly rows: readonly DayUsage[];
  /** Requests whose cost is unknown, so that it is in no sum. */
  readonly unpriced: number;
}

async function readOwnUsage(client: AdminClient, values: Values, exported: UsageExport): Promise<OwnUsage> {
  const days = exported.rows.map(({ day }) => day).sort();
  const query = new URLSearchParams({
    group_by: "day,model,provider",
    from: days[0] ?? "",
    to: days.at(-1) ?? "",
  });
  const place =
    values.gateway === undefined ? "" : `/gateways/${(await findGateway(client, values.gateway)).id}`;
  const { usage } = await client.get(`${place}/usage?${query.toString()}`, reportSchema);
  const wanted =
    values.provider === "*" ? null : (values.provider ?? EXPORT_COLUMNS[exported.format].provider);
  const compared = usage.filter(({ provider }) => wanted === null || provider === wanted);
  const rows = compared
    .map(({ day, model, requests, cached_requests, input_tokens, output_tokens, cost }) => ({
      day,
      model: model ?? "(none)",
      // The provider did not get the requests that kept responses served.
      requests: requests - cached_requests,
      input: input_tokens,
      output: output_tokens,
      cost,
    }))
    .filter(({ requests }) => requests > 0);
  return { rows, unpriced: compared.reduce((sum, row) => sum + row.unpriced_requests, 0) };
}

function show({ day, model, counts, isEqual }: ComparedUsage): object {
  const shown = COMPARED.flatMap((name) => {
    const compared = counts[name];
    if (compared === null) return [];
    const { ours, theirs, percent } = compared;
    return [[name, { ours, theirs, difference: ours === null ? null : ours - theirs, percent }] as const];
  });
  return { ...(day !== "" && { day, model }), equal: isEqual, ...Object.fromEntries(shown) };
}

function describe(rows: readonly ComparedUsage[], total: ComparedUsage, unpriced: number): string {
  const different = rows.filter((row) => !row.isEqual);
  const cells = different.flatMap((row) => linesOf(row, [row.day, row.model]));
  const totals = linesOf(total, ["total", ""], true).map((line) => line.map((cell) => paint("bold", cell)));
  const summary =
    different.length === 0
      ? `${rows.length} of ${rows.length} days and models are equal`
      : `${different.length} of ${rows.length} days and models differ`;
  const titles = ["DAY", "MODEL", "COUNT", "GATEHOUSE", "PROVIDER", "DIFFERENCE", "PERCENT"];
  const isNoted = unpriced > 0 && total.counts.cost !== null;
  const note = isNoted ? `\nrequests without a known cost, which are in no cost above: ${unpriced}` : "";
  return `${table(titles, [...cells, ...totals])}\n${summary}${note}`;
}

/** One line per count that differs, or with `isWhole` per count. */
function linesOf({ counts }: ComparedUsage, names: readonly string[], isWhole = false): string[][] {
  return COMPARED.flatMap((name) => {
    const compared = counts[name];
    if (compared === null || (compared.isEqual && !isWhole)) return [];
    const title = name === "input" || name === "output" ? `${name} tokens` : name;
    return [[...names.map(printable), title, ...numbersOf(compared, name === "cost")]];
  });
}

function numbersOf({ ours, theirs, percent }: Comparison, isCost: boolean): string[] {
  const shown = (value: number) => (isCost ? value.toFixed(4) : String(value));
  if (ours === null) return ["-", shown(theirs), "-", "-"];
  const difference = ours - theirs;
  const sign = difference > 0 ? "+" : "";
  const share = percent === null ? (difference === 0 ? "0.00 %" : "-") : `${sign}${percent.toFixed(2)} %`;
  return [shown(ours), shown(theirs), `${sign}${shown(difference)}`, share];
}
