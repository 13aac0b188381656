// Use by day, key and model: tokens, requests, cost; to look at and to take away as CSV.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, query } from "../api/client.ts";
import type { UsageRow } from "../api/observed.ts";
import type { UsageReport } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { DayBars } from "../components/day-bars.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table, type Column } from "../components/table.tsx";
import { formatCost, formatCount } from "../components/time.tsx";
import { nameOfGateway } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { place, replaceSearch, type PageParameters } from "../state/router.tsx";
import { daysBetween, groupBy, nameOfKey, nameOfModel, sumOf, toCsv, type Sums } from "../state/usage.ts";

const DAYS = 14;
const MAX_PARTS = 6;

type Metric = "tokens" | "requests" | "cost";

const METRICS: Readonly<
  Record<Metric, { title: string; of: (sums: Sums) => number; format: (value: number) => string }>
> = {
  tokens: { title: "Tokens", of: ({ input, output }) => input + output, format: formatCount },
  requests: { title: "Requests", of: ({ requests }) => requests, format: formatCount },
  cost: { title: "Cost", of: ({ cost }) => cost, format: formatCost },
};

export function UsagePage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const { search } = place.value;
  const from = search.get("from") ?? dayAgo(DAYS - 1);
  const to = search.get("to") ?? dayAgo(0);
  const loaded = useLoad(
    (signal) =>
      get<UsageReport>(
        `/gateways/${gateway}/usage${query({ from, to, group_by: "day,model,api_key" })}`,
        signal,
      ),
    [from, to],
  );
  const save = (rows: readonly UsageRow[]) =>
    download(`usage-${nameOfGateway(gateway)}-${from}-${to}.csv`, toCsv(rows));
  const rows = loaded.data?.usage ?? [];
  return (
    <Page
      title="Usage"
      about="Tokens, requests and cost by key and model. Days are those of UTC."
      actions={
        <>
          <LinkButton to="/prices">Prices</LinkButton>
          <Button isDisabled={rows.length === 0} onClick={() => save(rows)}>
            Save as CSV
          </Button>
        </>
      }
    >
      <div class="filters">
        <DayFilter label="From" value={from} onChange={(value) => replaceSearch({ from: value })} />
        <DayFilter label="To" value={to} onChange={(value) => replaceSearch({ to: value })} />
      </div>
      <WhenLoaded loaded={loaded} what="usage" missing="This gateway does not count usage.">
        {({ usage }) =>
          usage.length === 0 ? (
            <Empty
              title="No use in these days"
              action={<LinkButton to={`/gateways/${gateway}/playground`}>To the playground</LinkButton>}
            >
              Choose other days, or send something from the playground.
            </Empty>
          ) : (
            <UsageTables rows={usage} days={daysBetween(from, to)} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

function UsageTables({
  rows,
  days,
}: {
  readonly rows: readonly UsageRow[];
  readonly days: readonly string[];
}): JSX.Element {
  const [metric, setMetric] = useState<Metric>("tokens");
  const { title, of, format } = METRICS[metric];
  const byModel = ranked(rows, nameOfModel, of);
  const byKey = ranked(rows, nameOfKey, of);
  return (
    <>
      <div class="chart-card">
        <div class="switch" role="group" aria-label="What is shown">
          {(Object.keys(METRICS) as Metric[]).map((each) => (
            <Button key={each} isPressed={each === metric} onClick={() => setMetric(each)}>
              {METRICS[each].title}
            </Button>
          ))}
        </div>
        <DayBars
          title={`${title} a day, by model`}
          days={days}
          parts={partsOf(byModel, days, of)}
          format={format}
        />
      </div>
      <Section title="By API key">
        <SumTable label="Usage by API key" first="API key" groups={byKey} />
      </Section>
      <Section title="By model">
        <SumTable label="Usage by model" first="Model" groups={byModel} />
      </Section>
    </>
  );
}

interface Group {
  readonly name: string;
  readonly rows: readonly UsageRow[];
  readonly sums: Sums;
}

function ranked(
  rows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string,
  by: (sums: Sums) => number,
): readonly Group[] {
  return [...groupBy(rows, nameOf)]
    .map(([name, group]) => ({ name, rows: group, sums: sumOf(group) }))
    .sort((left, right) => by(right.sums) - by(left.sums));
}

/** The largest groups each, and all the rest as one. */
function partsOf(groups: readonly Group[], days: readonly string[], of: (sums: Sums) => number) {
  const named = groups.length <= MAX_PARTS ? groups : groups.slice(0, MAX_PARTS - 1);
  const others = groups.slice(named.length).flatMap(({ rows }) => rows);
  const values = (rows: readonly UsageRow[]) =>
    days.map((day) => of(sumOf(rows.filter((row) => row.day === day))));
  return [
    ...named.map(({ name, rows }) => ({ label: name, values: values(rows) })),
    ...(others.length === 0 ? [] : [{ label: "others", values: values(others) }]),
  ];
}

function SumTable(props: {
  readonly label: string;
  readonly first: string;
  readonly groups: readonly Group[];
}): JSX.Element {
  const { label, first, groups } = props;
  const figure = (title: string, of: (sums: Sums) => string): Column<Group> => ({
    title,
    kind: "number",
    cell: ({ sums }) => of(sums),
  });
  return (
    <Table
      label={label}
      rows={groups}
      keyOf={({ name }) => name}
      columns={[
        { title: first, kind: "main", cell: ({ name }) => name },
        figure("Requests", ({ requests }) => formatCount(requests)),
        figure("Cut short", ({ partial }) => formatCount(partial)),
        figure("Tokens in", ({ input }) => formatCount(input)),
        figure("Tokens out", ({ output }) => formatCount(output)),
        figure("Cost", ({ cost }) => formatCost(cost)),
      ]}
    />
  );
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

function dayAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replaceAll(/[^\w.-]+/g, "-");
  link.click();
  URL.revokeObjectURL(address);
}
