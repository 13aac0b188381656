// Overview: traffic of the last minutes, health of the targets, and rejected requests.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { TrafficPoint } from "../api/item-types.ts";
import type { Traffic } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Chart } from "../components/chart.tsx";
import { formatCost, formatCount, formatMs } from "../components/format.tsx";
import { Empty, Loading } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { TargetHealthTable } from "../components/target-health.tsx";
import { TextWithCode } from "../components/text-with-code.tsx";
import { currentGatewayId, gatewayName, gateways } from "../state/gateways.ts";
import { usePoll } from "../state/load.ts";
import { navigate, redirect, type RoutedPageProps } from "../state/router.tsx";
import { summarize, toSeries, type TrafficSummary } from "../state/traffic.ts";

const SECONDS = 300;
const POLL_INTERVAL_MS = 2000;

export function OverviewPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? null;
  const isEmpty = gateways.value?.length === 0;
  useEffect(() => {
    // A separate route: the setup page must stay open after it has created the first gateway.
    if (isEmpty) redirect("/start");
  }, [isEmpty]);
  return isEmpty ? <Loading what="console" /> : <Overview gateway={gateway} />;
}

function Overview({ gateway }: { readonly gateway: string | null }): JSX.Element {
  const loaded = usePoll(
    async (signal) => {
      const path = `/traffic${toQueryString({ seconds: SECONDS, gateway_id: gateway })}`;
      return (await get<Traffic>(path, signal)).points;
    },
    POLL_INTERVAL_MS,
    [gateway],
  );
  return (
    <Page
      title="Overview"
      isWide
      description="Traffic of this node in the last five minutes, in steps of one second."
      actions={<GatewaySwitch gateway={gateway} />}
    >
      <WhenLoaded loaded={loaded} what="traffic">
        {(points) => <TrafficCharts points={points} />}
      </WhenLoaded>
      <Section
        title="Targets"
        description="A target that fails repeatedly is ejected. After a while, a trial request checks whether it has recovered."
      >
        <TargetHealthTable
          gateways={gateway === null ? (gateways.value ?? []).map(({ id }) => id) : [gateway]}
        />
      </Section>
      {loaded.data !== undefined && <RejectedRequests points={loaded.data} />}
    </Page>
  );
}

/** Switches between the traffic of all gateways and of one. */
function GatewaySwitch({ gateway }: { readonly gateway: string | null }): JSX.Element {
  const selected = gateway ?? currentGatewayId.value;
  return (
    <div class="button-group" role="group" aria-label="Gateways">
      <Button isPressed={gateway === null} onClick={() => void navigate("/")}>
        All gateways
      </Button>
      {selected !== null && (
        <Button isPressed={gateway !== null} onClick={() => void navigate(`/gateways/${selected}/overview`)}>
          {gatewayName(selected)}
        </Button>
      )}
    </div>
  );
}

function TrafficCharts({ points }: { readonly points: readonly TrafficPoint[] }): JSX.Element {
  const series = toSeries(points, SECONDS);
  const { times } = series;
  return (
    <>
      <Tiles summary={summarize(points, 60)} />
      <div class="charts">
        <Chart
          title="Requests per second"
          times={times}
          format={formatCount}
          series={[
            { label: "Requests", values: series.requests, color: "series-1", isFilled: true },
            { label: "Errors", values: series.errors, color: "series-2" },
          ]}
        />
        <Chart
          title="Latency"
          times={times}
          format={formatMs}
          series={[
            { label: "p50", values: series.p50, color: "series-1" },
            { label: "p99", values: series.p99, color: "series-4" },
            { label: "First byte", values: series.firstByte, color: "series-3" },
            { label: "First token", values: series.firstToken, color: "series-5" },
          ]}
        />
        <Chart
          title="Tokens per second"
          times={times}
          format={formatCount}
          series={[
            { label: "Input", values: series.inputTokens, color: "series-3" },
            { label: "Output", values: series.outputTokens, color: "series-4" },
          ]}
        />
        <Chart
          title="Cost per second"
          times={times}
          format={formatCost}
          series={[{ label: "Cost", values: series.cost, color: "series-5", isFilled: true }]}
        />
      </div>
    </>
  );
}

function RejectedRequests({ points }: { readonly points: readonly TrafficPoint[] }): JSX.Element {
  const { rejected, totalRequests } = summarize(points, SECONDS);
  const rows = Object.entries(rejected).sort(([, left], [, right]) => right - left);
  return (
    <Section
      title="Rejected requests"
      description="Requests of the last five minutes that the gateway rejected without contacting a provider, by error code."
    >
      {rows.length === 0 ? (
        <NothingRejected hadTraffic={totalRequests > 0} />
      ) : (
        <Table
          label="Rejected requests by error code"
          rows={rows}
          keyOf={([code]) => code}
          columns={[
            { title: "Error code", kind: "main", cell: ([code]) => <code>{code}</code> },
            { title: "Requests", kind: "number", cell: ([, count]) => formatCount(count) },
            { title: "Meaning", cell: ([code]) => <TextWithCode text={ERROR_MEANINGS[code] ?? ""} /> },
          ]}
        />
      )}
    </Section>
  );
}

function NothingRejected({ hadTraffic }: { readonly hadTraffic: boolean }): JSX.Element {
  const gateway = currentGatewayId.value;
  if (hadTraffic || gateway === null) return <p class="muted">No requests were rejected.</p>;
  return (
    <Empty
      title="No requests in the last five minutes"
      action={
        <LinkButton to={`/gateways/${gateway}/playground`} icon="playground">
          Open playground
        </LinkButton>
      }
    >
      Send a request to see it here.
    </Empty>
  );
}

function Tiles({ summary }: { readonly summary: TrafficSummary }): JSX.Element {
  const { requests, errors, inputTokens, outputTokens } = summary;
  const percent = requests === 0 ? 0 : (errors / requests) * 100;
  const tiles: readonly (readonly [label: string, value: string, note: string])[] = [
    ["Requests / s", (requests / 60).toFixed(requests < 600 ? 2 : 1), `${formatCount(requests)} requests`],
    [
      "Errors",
      `${percent.toFixed(percent > 0 && percent < 10 ? 1 : 0)} %`,
      `${formatCount(errors)} requests`,
    ],
    ["p50", formatOptionalMs(summary.p50), "mean"],
    ["p99", formatOptionalMs(summary.p99), "worst second"],
    ["First byte", formatOptionalMs(summary.firstByte), "p50, mean"],
    ["First token", formatOptionalMs(summary.firstToken), "p50, mean"],
    [
      "Tokens",
      formatCount(inputTokens + outputTokens),
      `${formatCount(inputTokens)} in, ${formatCount(outputTokens)} out`,
    ],
    [
      "Cost",
      formatCost(summary.cost),
      summary.unpriced === 0 ? "US dollars" : `without ${formatCount(summary.unpriced)} unpriced requests`,
    ],
  ];
  return (
    <section aria-label="Last minute">
      <h2 class="tiles-title">Last minute</h2>
      <dl class="tiles">
        {tiles.map(([label, value, note]) => (
          <div class={label === "Errors" && errors > 0 ? "tile bad" : "tile"} key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
            <dd class="hint">{note}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function formatOptionalMs(value: number | null): string {
  return value === null ? "–" : formatMs(value);
}
