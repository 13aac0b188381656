// What is going on now: traffic of the last minutes, targets with their health, what was refused and why.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get, query } from "../api/client.ts";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { TrafficPoint } from "../api/observed.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Chart } from "../components/chart.tsx";
import { Empty, Loading } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Prose } from "../components/prose.tsx";
import { Table } from "../components/table.tsx";
import { TargetHealthTable } from "../components/target-health.tsx";
import { formatCost, formatCount, formatMs } from "../components/time.tsx";
import { currentGatewayId, gateways, nameOfGateway } from "../state/gateways.ts";
import { usePoll } from "../state/load.ts";
import { go, redirect, type PageParameters } from "../state/router.tsx";
import { linesOf, summarize, type TrafficSummary } from "../state/traffic.ts";

const SECONDS = 300;
const EVERY_MS = 2000;

export function OverviewPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? null;
  const isEmpty = gateways.value?.length === 0;
  useEffect(() => {
    // A page of its own: it stays open while the gateways it makes appear.
    if (isEmpty) redirect("/start");
  }, [isEmpty]);
  return isEmpty ? <Loading what="the console" /> : <Overview gateway={gateway} />;
}

function Overview({ gateway }: { readonly gateway: string | null }): JSX.Element {
  const loaded = usePoll(
    async (signal) => {
      const path = `/traffic${query({ seconds: SECONDS, gateway_id: gateway })}`;
      return (await get<{ points: readonly TrafficPoint[] }>(path, signal)).points;
    },
    EVERY_MS,
    [gateway],
  );
  const chosen = currentGatewayId.value;
  return (
    <Page
      title="Overview"
      isWide
      about="The last five minutes of all worker processes here, a point a second."
      actions={
        <div class="switch" role="group" aria-label="Which traffic">
          <Button isPressed={gateway === null} onClick={() => void go("/")}>
            All gateways
          </Button>
          {chosen !== null && (
            <Button
              isPressed={gateway !== null}
              onClick={() => void go(`/gateways/${gateway ?? chosen}/overview`)}
            >
              {nameOfGateway(gateway ?? chosen)}
            </Button>
          )}
        </div>
      }
    >
      <WhenLoaded
        loaded={loaded}
        what="traffic"
        missing="This gateway does not measure its traffic. Its /metrics tell what it knows."
      >
        {(points) => <Traffic points={points} />}
      </WhenLoaded>
      <Section
        title="Targets"
        about="A target that fails again and again is taken out, and tried with one real request after a while."
      >
        <TargetHealthTable
          gateways={gateway === null ? (gateways.value ?? []).map(({ id }) => id) : [gateway]}
        />
      </Section>
      {loaded.data !== undefined && <Refused points={loaded.data} />}
    </Page>
  );
}

function Traffic({ points }: { readonly points: readonly TrafficPoint[] }): JSX.Element {
  const summary = summarize(points, 60);
  const lines = linesOf(points, SECONDS);
  return (
    <>
      <Tiles summary={summary} />
      <div class="charts">
        <Chart
          title="Requests a second"
          times={lines.times}
          format={formatCount}
          series={[
            { label: "requests", values: lines.requests, colour: "series-1", isFilled: true },
            { label: "errors", values: lines.errors, colour: "series-2" },
          ]}
        />
        <Chart
          title="Time taken"
          times={lines.times}
          format={formatMs}
          series={[
            { label: "p50", values: lines.p50, colour: "series-1" },
            { label: "p99", values: lines.p99, colour: "series-4" },
            { label: "first byte", values: lines.firstByte, colour: "series-3" },
          ]}
        />
        <Chart
          title="Tokens a second"
          times={lines.times}
          format={formatCount}
          series={[
            { label: "in", values: lines.inputTokens, colour: "series-3" },
            { label: "out", values: lines.outputTokens, colour: "series-4" },
          ]}
        />
        <Chart
          title="Cost a second"
          times={lines.times}
          format={formatCost}
          series={[{ label: "cost", values: lines.cost, colour: "series-5", isFilled: true }]}
        />
      </div>
    </>
  );
}

function Refused({ points }: { readonly points: readonly TrafficPoint[] }): JSX.Element {
  const { refused: counts, all } = summarize(points, SECONDS);
  const refused = Object.entries(counts).sort(([, left], [, right]) => right - left);
  return (
    <Section title="Refused" about="What the gateway itself turned away in the last five minutes, and why.">
      {refused.length === 0 ? (
        <NothingRefused hadTraffic={all > 0} />
      ) : (
        <Table
          label="Refused requests by reason"
          rows={refused}
          keyOf={([code]) => code}
          columns={[
            { title: "Code", kind: "main", cell: ([code]) => <code>{code}</code> },
            { title: "Requests", kind: "number", cell: ([, count]) => formatCount(count) },
            { title: "Meaning", cell: ([code]) => <Prose text={ERROR_MEANINGS[code] ?? ""} /> },
          ]}
        />
      )}
    </Section>
  );
}

function NothingRefused({ hadTraffic }: { readonly hadTraffic: boolean }): JSX.Element {
  const gateway = currentGatewayId.value;
  if (hadTraffic || gateway === null) return <p class="soft">Nothing was refused.</p>;
  return (
    <Empty
      title="No request in the last five minutes"
      action={
        <LinkButton to={`/gateways/${gateway}/playground`} icon="playground">
          Send one from the playground
        </LinkButton>
      }
    >
      As soon as one comes, it shows here within seconds.
    </Empty>
  );
}

function Tiles({ summary }: { readonly summary: TrafficSummary }): JSX.Element {
  const { requests, errors } = summary;
  const share = requests === 0 ? 0 : (errors / requests) * 100;
  const tiles: readonly (readonly [label: string, value: string, note: string])[] = [
    ["Requests / s", (requests / 60).toFixed(requests < 600 ? 2 : 1), `${formatCount(requests)} in all`],
    ["Errors", `${share.toFixed(share > 0 && share < 10 ? 1 : 0)} %`, `${formatCount(errors)} requests`],
    ["p50", sayMs(summary.p50), "typical second"],
    ["p99", sayMs(summary.p99), "worst second"],
    ["First byte", sayMs(summary.firstByte), "typical second"],
    [
      "Tokens",
      formatCount(summary.inputTokens + summary.outputTokens),
      `${formatCount(summary.inputTokens)} in, ${formatCount(summary.outputTokens)} out`,
    ],
    ["Cost", formatCost(summary.cost), "US dollars"],
  ];
  return (
    <section aria-label="The last minute">
      <h2 class="tiles-title">The last minute</h2>
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

function sayMs(value: number | null): string {
  return value === null ? "–" : formatMs(value);
}
