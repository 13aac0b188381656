// Usage of a gateway: tokens and cost, summed up by day, model and API key.
import { z } from "zod";
import { validationError } from "../../base/errors.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { UsageTotals } from "../../usage/usage-totals.ts";
import { USAGE_GROUPS, type UsageGroup, type UsageSum } from "../../store/usage.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const MS_A_DAY = 86_400_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const MAX_ROWS = 10_000;

const dayField = z
  .string()
  .refine(isDay, "must be a day such as 2026-11-01")
  .optional()
  .meta({ format: "date" });

const usageQuery = z.strictObject({
  from: dayField.meta({
    description: `First day, in UTC; ${DEFAULT_DAYS} days up to \`to\` where it is left out.`,
  }),
  to: dayField.meta({ description: "Last day, in UTC; today where it is left out." }),
  group_by: z
    .string()
    .default("day")
    .refine(isGroups, `must be some of ${USAGE_GROUPS.join(", ")}, each once, with commas between`)
    .meta({ description: "Any of `day`, `model` and `api_key`, with commas between." }),
});

export function addUsageRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  usageTotals: UsageTotals,
): void {
  addOperation(table, {
    method: "get",
    path: "/gateways/{gateway_id}/usage",
    tag: "usage",
    summary: "Sum up the tokens and the cost of a gateway",
    query: usageQuery,
    answer: {
      status: 200,
      schema: "UsageReport",
      description: "By what it is grouped by, in that order; right within about two seconds.",
    },
    handle: async ({ params, query }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const { from, to } = spanOf(query);
      const groupBy = query.group_by.split(",") as UsageGroup[];
      await requireGateway(current.store, gatewayId);
      // What this process has counted is in the answer; of others it is as they last wrote.
      await usageTotals.flush();
      const usage = await current.store.sumUsage({ gatewayId, from, to, groupBy, limit: MAX_ROWS });
      if (usage.length > MAX_ROWS) {
        const message = `leads to more than ${MAX_ROWS} rows; ask for fewer days or group by less`;
        throw validationError([{ path: "?group_by", message }]);
      }
      return Response.json({ usage: usage.map(rounded), from, to, total: rounded(totalOf(usage)) });
    },
  });
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Some days are not in the calendar, and would be read as another.
  return !Number.isNaN(time) && dayOf(time) === text;
}

function isGroups(text: string): boolean {
  const groups = text.split(",");
  const known: readonly string[] = USAGE_GROUPS;
  return groups.every((group) => known.includes(group)) && new Set(groups).size === groups.length;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function spanOf({ from, to }: { from?: string | undefined; to?: string | undefined }): {
  from: string;
  to: string;
} {
  const last = to ?? dayOf(Date.now());
  const first =
    from ?? dayOf(Math.max(Date.parse(last) - (DEFAULT_DAYS - 1) * MS_A_DAY, Date.parse("0000-01-01")));
  const days = (Date.parse(last) - Date.parse(first)) / MS_A_DAY + 1;
  if (days < 1) throw validationError([{ path: "?from", message: `must not be later than ${last}` }]);
  if (days > MAX_DAYS)
    throw validationError([
      { path: "?from", message: `must not be more than ${MAX_DAYS} days before ${last}` },
    ]);
  return { from: first, to: last };
}

function totalOf(usage: readonly UsageSum[]): UsageSum {
  const total = { requests: 0, partial_requests: 0, input_tokens: 0, output_tokens: 0, cost: 0 };
  for (const sum of usage) {
    total.requests += sum.requests;
    total.partial_requests += sum.partial_requests;
    total.input_tokens += sum.input_tokens;
    total.output_tokens += sum.output_tokens;
    total.cost += sum.cost;
  }
  return total;
}

/** Adding up fractions leaves a trace far behind the last digit that means something. */
function rounded(sum: UsageSum): UsageSum {
  return { ...sum, cost: Number(sum.cost.toFixed(10)) };
}
