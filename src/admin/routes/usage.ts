// Usage of a gateway or of all gateways: tokens and cost, grouped.
import { z } from "zod";
import { validationError } from "../../base/errors.ts";
import { isUsageGroup, labelIn, USAGE_GROUPS, type UsageGroup } from "../../model/usage-group.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { UsageTotals } from "../../usage/usage-totals.ts";
import type { Store } from "../../store/store.ts";
import type { UsageSum } from "../../store/usage.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const MS_PER_DAY = 86_400_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const MAX_ROWS = 10_000;
const NANOS_PER_DOLLAR = 1e9;
const MAX_LABELS = 8;

const dayField = z
  .string()
  .refine(isDay, "must be a day such as 2026-11-01")
  .optional()
  .meta({ format: "date" });

const groupNames = [...USAGE_GROUPS.filter((group) => group !== "gateway"), "label:<name>"];

/** `names` are the possible groups, for texts. */
const usageQuery = (defaultGroup: UsageGroup, names: readonly string[], isGroup: (name: string) => boolean) =>
  z.strictObject({
    from: dayField.meta({ description: `First day, in UTC. Default: ${DEFAULT_DAYS} days up to \`to\`.` }),
    to: dayField.meta({ description: "Last day, in UTC. Default: today." }),
    group_by: z
      .string()
      .default(defaultGroup)
      .refine(
        (text) => isGroupList(text, isGroup),
        `must be a comma-separated list of ${names.join(", ")}, each at most once, and at most ${MAX_LABELS} labels`,
      )
      .meta({ description: `${names.map((name) => `\`${name}\``).join(", ")}, separated by commas.` }),
  });

const gatewayUsageQuery = usageQuery("day", groupNames, (name) => name !== "gateway");
const allUsageQuery = usageQuery("gateway", ["gateway", ...groupNames], () => true);
type UsageParameters = z.output<typeof allUsageQuery>;

export function addUsageRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  usageTotals: UsageTotals,
): void {
  const response = {
    status: 200,
    schema: "UsageReport",
    description: "Sorted by the groups, in their order. Accurate to within about two seconds.",
  } as const;
  const report = async (gatewayId: string | null, query: UsageParameters): Promise<Response> => {
    const { from, to } = rangeOf(query, dayOf(table.deadlines.clock.unixNow()));
    const groupBy = query.group_by.split(",").filter(isUsageGroup);
    if (gatewayId !== null) await requireRecordedGateway(current.store, gatewayId);
    // The response includes all usage that this process has counted; other processes flush on their own schedule.
    await usageTotals.flush();
    const usage = await current.store.sumUsage({ gatewayId, from, to, groupBy, limit: MAX_ROWS });
    if (usage.length > MAX_ROWS) {
      const message = `results in more than ${MAX_ROWS} rows; use fewer days or fewer groups`;
      throw validationError([{ path: "?group_by", message }]);
    }
    return Response.json({ usage: usage.map(show), from, to, total: show(totalOf(usage)) });
  };
  addOperation(table, {
    method: "get",
    path: "/gateways/{gateway_id}/usage",
    tag: "usage",
    summary: "Sum the tokens and the cost of a gateway, which may have been deleted",
    access: { role: "viewer" },
    query: gatewayUsageQuery,
    response,
    handle: ({ params, query }) => report(params["gateway_id"] ?? "", query),
  });
  addOperation(table, {
    method: "get",
    path: "/usage",
    tag: "usage",
    summary: "Sum the tokens and the cost of all gateways, deleted ones included",
    access: { role: "viewer" },
    query: allUsageQuery,
    response,
    handle: ({ query }) => report(null, query),
  });
}

/** Usage outlives its gateway, so one that was deleted is known by its usage. */
async function requireRecordedGateway(store: Store, gatewayId: string): Promise<void> {
  if ((await store.get("gateways", gatewayId)) !== null) return;
  const everything = { from: "0000-01-01", to: "9999-12-31", groupBy: ["gateway"], limit: 1 } as const;
  const [used] = await store.sumUsage({ gatewayId, ...everything });
  if (used === undefined) await requireGateway(store, gatewayId);
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date.parse reads a day that does not exist, such as February 30, as a later one.
  return !Number.isNaN(time) && dayOf(time) === text;
}

function isGroupList(text: string, isGroup: (name: string) => boolean): boolean {
  const names = text.split(",");
  const groups = names.filter(isUsageGroup).filter(isGroup);
  const labels = groups.filter((group) => labelIn(group) !== null);
  return (
    groups.length === names.length && new Set(names).size === names.length && labels.length <= MAX_LABELS
  );
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function rangeOf(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  today: string,
): { from: string; to: string } {
  const last = to ?? today;
  const first =
    from ?? dayOf(Math.max(Date.parse(last) - (DEFAULT_DAYS - 1) * MS_PER_DAY, Date.parse("0000-01-01")));
  const days = (Date.parse(last) - Date.parse(first)) / MS_PER_DAY + 1;
  if (days < 1) throw validationError([{ path: "?from", message: `must not be later than ${last}` }]);
  if (days > MAX_DAYS)
    throw validationError([
      { path: "?from", message: `must not be more than ${MAX_DAYS} days before ${last}` },
    ]);
  return { from: first, to: last };
}

function totalOf(usage: readonly UsageSum[]): UsageSum {
  const total = {
    requests: 0,
    partial_requests: 0,
    input_tokens: 0,
    output_tokens: 0,
    cost_nanos: 0,
    unpriced_requests: 0,
    cached_requests: 0,
    saved_input_tokens: 0,
    saved_output_tokens: 0,
    saved_nanos: 0,
    unpriced_cached: 0,
  };
  for (const sum of usage) {
    total.requests += sum.requests;
    total.partial_requests += sum.partial_requests;
    total.input_tokens += sum.input_tokens;
    total.output_tokens += sum.output_tokens;
    total.cost_nanos += sum.cost_nanos;
    total.unpriced_requests += sum.unpriced_requests;
    total.cached_requests += sum.cached_requests;
    total.saved_input_tokens += sum.saved_input_tokens;
    total.saved_output_tokens += sum.saved_output_tokens;
    total.saved_nanos += sum.saved_nanos;
    total.unpriced_cached += sum.unpriced_cached;
  }
  return total;
}

/** A cost is unknown, not 0, if no request has one. */
function show({ cost_nanos, saved_nanos, unpriced_cached, ...sum }: UsageSum) {
  const charged = sum.requests - sum.cached_requests;
  const isUnknown = charged > 0 && sum.unpriced_requests >= charged;
  const isSavedUnknown = sum.cached_requests > 0 && unpriced_cached >= sum.cached_requests;
  return {
    ...sum,
    cost: isUnknown ? null : cost_nanos / NANOS_PER_DOLLAR,
    saved_cost: isSavedUnknown ? null : saved_nanos / NANOS_PER_DOLLAR,
  };
}
