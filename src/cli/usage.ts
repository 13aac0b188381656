// gatehouse usage: prints the requests, tokens, and cost of a gateway, or of all, grouped.
import { z } from "zod";
import { isUsageGroup, labelIn, USAGE_GROUPS, type UsageGroup } from "../model/usage-group.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClient } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { paint, printable, table } from "./terminal.ts";

const sums = {
  requests: z.int(),
  partial_requests: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  unpriced_requests: z.int(),
  cost: z.number().nullable(),
};
/** Rows also have the fields that they are grouped by. */
const reportSchema = z.object({
  usage: z.array(
    z.looseObject({
      ...sums,
      labels: z.record(z.string(), z.string().nullable()).optional(),
      gateway_deleted: z.boolean().optional(),
    }),
  ),
  from: z.string(),
  to: z.string(),
  total: z.object(sums),
});

type Sums = z.output<typeof reportSchema>["total"];

const SUM_TITLES = ["REQUESTS", "PARTIAL", "INPUT TOKENS", "OUTPUT TOKENS", "UNPRICED", "COST"];
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MS_PER_DAY = 86_400_000;
/** The flag says "key", as the command `keys` does. */
const GROUP_NAMES: readonly string[] = [
  ...USAGE_GROUPS.map((group) => (group === "api_key" ? "key" : group)),
  "label:NAME",
];

export const usage: Command = {
  summary: "print the requests, tokens, and cost of a gateway, or of all",
  help: `Usage: gatehouse usage [--gateway NAME|ID|--all] [--from DAY] [--to DAY] [--by GROUPS] [--json]

Prints sums per group and in total. Days are in UTC. PARTIAL counts requests whose tokens are a lower bound, because the response
was cut off. The cost is in US dollars. UNPRICED counts requests that are not in it, because their model has no price or their
tokens are unknown; "-" is the cost where all requests are unpriced. The usage of deleted gateways is kept: --by gateway prints their ids.

  --gateway G    name or id; optional if there is only one gateway
  --all          all gateways; the default with --by gateway
  --from DAY     first day: 2026-11-01, or 7d for 7 days ago; default 30 days up to --to
  --to DAY       last day, written like --from; default today
  --by GROUPS    one of ${GROUP_NAMES.join(", ")}, or several separated by commas; default day
${CLIENT_HELP}
  --json         print the report as JSON`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        all: { type: "boolean", default: false },
        from: { type: "string" },
        to: { type: "string" },
        by: { type: "string", default: "day" },
        json: { type: "boolean", default: false },
      },
    });
    const groups = groupsIn(values.by);
    const query = new URLSearchParams({ group_by: groups.join(",") });
    for (const name of ["from", "to"] as const) {
      const day = dayOf(`--${name}`, values[name]);
      if (day !== null) query.set(name, day);
    }
    const isAll = values.all || (values.gateway === undefined && groups.includes("gateway"));
    if (isAll && values.gateway !== undefined)
      throw new UsageError("--all and --gateway exclude each other; give one");
    const client = await adminClient(values);
    const place = isAll ? "" : `/gateways/${await gatewayIdIn(client, values.gateway)}`;
    const report = await client.get(`${place}/usage?${query.toString()}`, reportSchema);
    console.log(values.json ? JSON.stringify(report) : describe(report, groups));
    return 0;
  },
};

/** The usage of a deleted gateway is kept under its id. */
async function gatewayIdIn(client: AdminClient, nameOrId: string | undefined): Promise<string> {
  if (nameOrId === undefined || !UUID.test(nameOrId)) return (await findGateway(client, nameOrId)).id;
  return nameOrId;
}

/** Returns the names of the groups as the Admin API has them. */
function groupsIn(list: string): UsageGroup[] {
  const names = list.split(",").map((name) => name.trim());
  const groups = names.map((name) => (name === "key" ? "api_key" : name)).filter(isUsageGroup);
  if (groups.length < names.length || new Set(groups).size < groups.length)
    throw new UsageError(
      `--by is "${list}"; give one or several of ${GROUP_NAMES.join(", ")}, separated by commas`,
    );
  return groups;
}

function dayOf(flag: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const [, daysAgo] = /^(\d{1,4})d$/.exec(text) ?? [];
  if (daysAgo !== undefined)
    return new Date(Date.now() - Number(daysAgo) * MS_PER_DAY).toISOString().slice(0, 10);
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new UsageError(`${flag} is "${text}"; give a day such as 2026-11-01, or 7d for 7 days ago`);
}

function describe(
  { usage: rows, from, to, total }: z.output<typeof reportSchema>,
  groups: readonly UsageGroup[],
): string {
  if (rows.length === 0) return `no usage from ${from} to ${to}`;
  const titles = groups.map((group) => (labelIn(group) ?? group.replace("_", " ")).toUpperCase());
  const named = rows.map((row) => groups.map((group) => printable(groupText(valueOf(row, group)))));
  const numbers = alignRight([SUM_TITLES, ...rows.map(numbersOf), numbersOf(total)]);
  const [head = [], ...cells] = numbers;
  const lines = named.map((names, index) => [...names, ...(cells[index] ?? [])]);
  const totalLine = ["total", ...groups.slice(1).map(() => ""), ...(cells.at(-1) ?? [])];
  return table([...titles, ...head], [...lines, totalLine.map((cell) => paint("bold", cell))]);
}

function valueOf(row: z.output<typeof reportSchema>["usage"][number], group: UsageGroup): unknown {
  const label = labelIn(group);
  if (label !== null) return row.labels?.[label];
  if (group !== "gateway" || row.gateway_deleted !== true) return row[group];
  return `${groupText(row[group])} (deleted, ${String(row["gateway_id"])})`;
}

/** Requests without a model or an API key are one group. */
function groupText(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : "(none)";
}

function numbersOf(sum: Sums): string[] {
  const { requests, partial_requests, input_tokens, output_tokens, unpriced_requests, cost } = sum;
  const counts = [requests, partial_requests, input_tokens, output_tokens, unpriced_requests].map(String);
  return [...counts, cost === null ? "-" : `$${cost.toFixed(4)}`];
}

/** Pads the cells of each column on the left to the widest one. */
function alignRight(rows: readonly (readonly string[])[]): string[][] {
  const widths = SUM_TITLES.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)));
}
