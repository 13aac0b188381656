// Usage by day, API key, and model: tokens, requests, cost. Exports CSV.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import type { TrafficPoint, UsageRow } from "../api/item-types.ts";
import type { UsageReport } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { DayBars } from "../components/day-bars.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { TotalsTable } from "../components/usage-totals.tsx";
import { UsageByHour } from "../components/usage-by-hour.tsx";
import { UsageSummary } from "../components/usage-summary.tsx";
import { UsageByGroup } from "../components/usage-by-group.tsx";
import { formatCost, formatCount } from "../components/format.tsx";
import { gatewayName } from "../state/gateways.ts";
import { downloadText } from "../state/download.ts";
import { useLoad } from "../state/load.ts";
import { route, replaceSearch, type RoutedPageProps } from "../state/router.tsx";
import {
  daysBetween,
  keyName,
  modelName,
  periodBefore,
  rankGroups,
  sumUsage,
  toCsv,
  type UsageRowGroup,
  type UsageTotals,
} from "../state/usage.ts";

const DAYS = 14;
const MAX_PARTS = 6;

type Metric = "tokens" | "requests" | "cost";

const METRICS: Readonly<
  Record<
    Metric,
    {
      title: string;
      select: (totals: UsageTotals) => number;
      selectPoint: (point: TrafficPoint) => number;
      format: (value: number) => string;
    }
  >
> = {
  tokens: {
    title: "Tokens",
    select: ({ input, output }) => input + output,
    selectPoint: (point) => point.input_tokens + point.output_tokens,
    format: formatCount,
  },
  requests: {
    title: "Requests",
    select: ({ requests }) => requests,
    selectPoint: ({ requests }) => requests,
    format: formatCount,
  },
  cost: {
    title: "Cost",
    select: ({ cost }) => cost ?? 0,
    selectPoint: ({ cost }) => cost,
    format: formatCost,
  },
};

export function UsagePage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const { search } = route.value;
  const from = search.get("from") ?? daysAgo(DAYS - 1);
  const to = search.get("to") ?? daysAgo(0);
  const loaded = useLoad(
    async (signal) => {
      const report = (query: Record<string, string>) =>
        get<UsageReport>(`/gateways/${gateway}/usage${toQueryString(query)}`, signal);
      const [selected, before] = await Promise.all([
        report({ from, to, group_by: "day,model,api_key" }),
        report({ ...periodBefore(from, to), group_by: "day" }),
      ]);
      return { ...selected, before: before.total };
    },
    [from, to],
  );
  const save = (rows: readonly UsageRow[]) =>
    downloadText(`usage-${gatewayName(gateway)}-${from}-${to}.csv`, toCsv(rows), "text/csv");
  const rows = loaded.data?.usage ?? [];
  return (
    <Page
      title="Usage"
      description="Tokens, requests, and cost by API key and model. Days are in UTC. The cost does not include unpriced requests: those of models without a price."
      actions={
        <>
          <LinkButton to={`/gateways/${gateway}/prices`}>Prices</LinkButton>
          <Button isDisabled={rows.length === 0} onClick={() => save(rows)}>
            Export CSV
          </Button>
        </>
      }
    >
      <div class="filters">
        <DayFilter label="From" value={from} onChange={(value) => replaceSearch({ from: value })} />
        <DayFilter label="To" value={to} onChange={(value) => replaceSearch({ to: value })} />
      </div>
      <WhenLoaded loaded={loaded} what="usage">
        {({ usage, total, before }) =>
          usage.length === 0 ? (
            <Empty
              title="No usage in this period"
              action={<LinkButton to={`/gateways/${gateway}/playground`}>Open playground</LinkButton>}
            >
              Select other days, or send a request from the playground.
            </Empty>
          ) : (
            <>
              <UsageSummary total={total} before={before} days={daysBetween(from, to).length} />
              <UsageTables gateway={gateway} rows={usage} days={daysBetween(from, to)} />
              <UsageByGroup gateway={gateway} from={from} to={to} />
            </>
          )
        }
      </WhenLoaded>
    </Page>
  );
}

function UsageTables({
  gateway,
  rows,
  days,
}: {
  readonly gateway: string;
  readonly rows: readonly UsageRow[];
  readonly days: readonly string[];
}): JSX.Element {
  const [metric, setMetric] = useState<Metric>("tokens");
  const [isHourly, setHourly] = useState(false);
  const { title, select, selectPoint, format } = METRICS[metric];
  const byModel = rankGroups(rows, modelName, select);
  const byKey = rankGroups(rows, keyName, select);
  return (
    <>
      <div class="chart-card">
        <div class="button-group" role="group" aria-label="Metric">
          {(Object.keys(METRICS) as Metric[]).map((each) => (
            <Button key={each} isPressed={each === metric} onClick={() => setMetric(each)}>
              {METRICS[each].title}
            </Button>
          ))}
        </div>
        <div class="button-group" role="group" aria-label="Buckets">
          <Button isPressed={!isHourly} onClick={() => setHourly(false)}>
            Per day
          </Button>
          <Button isPressed={isHourly} onClick={() => setHourly(true)}>
            Per hour
          </Button>
        </div>
        {isHourly ? (
          <UsageByHour gateway={gateway} title={title} select={selectPoint} format={format} />
        ) : (
          <DayBars
            title={`${title} per day, by model`}
            days={days}
            parts={toParts(byModel, days, select)}
            format={format}
          />
        )}
      </div>
      <Section title="By API key">
        <TotalsTable label="Usage by API key" first="API key" groups={byKey} />
      </Section>
      <Section title="By model">
        <TotalsTable label="Usage by model" first="Model" groups={byModel} />
      </Section>
    </>
  );
}

/** Returns the largest groups, with all others combined into one. */
function toParts(
  groups: readonly UsageRowGroup[],
  days: readonly string[],
  select: (totals: UsageTotals) => number,
) {
  const named = groups.length <= MAX_PARTS ? groups : groups.slice(0, MAX_PARTS - 1);
  const others = groups.slice(named.length).flatMap(({ rows }) => rows);
  const values = (rows: readonly UsageRow[]) =>
    days.map((day) => select(sumUsage(rows.filter((row) => row.day === day))));
  return [
    ...named.map(({ name, rows }) => ({ label: name, values: values(rows) })),
    ...(others.length === 0 ? [] : [{ label: "Others", values: values(others) }]),
  ];
}

function DayFilter(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const { label, value, onChange } = props;
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        class="input"
        type="date"
        value={value}
        onChange={(event) => {
          if (event.currentTarget.value !== "") onChange(event.currentTarget.value);
        }}
      />
    </label>
  );
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}
