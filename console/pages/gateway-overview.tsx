// Overview of one gateway: what is wrong first, then traffic of the selected period and the health of the targets.
import type { JSX } from "preact";
import { get, toQueryString } from "../api/client.ts";
import type { BlockList, Traffic } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Problems } from "../components/problems.tsx";
import { TargetHealthTable, useTargetHealth } from "../components/target-health.tsx";
import { TrafficCharts } from "../components/traffic-charts.tsx";
import { TrafficTiles } from "../components/traffic-tiles.tsx";
import { GatewaySwitch } from "../components/gateway-switch.tsx";
import { gatewayName } from "../state/gateways.ts";
import { usePoll } from "../state/load.ts";
import { navigate, replaceSearch, route, type RoutedPageProps } from "../state/router.tsx";

interface Range {
  readonly label: string;
  readonly title: string;
  readonly seconds: number;
  readonly query: Readonly<Record<string, string | number>>;
  readonly pollMs: number;
}

const DEFAULT_RANGE = "5m";
const RANGES: Readonly<Record<string, Range>> = {
  "5m": { label: "5 min", title: "Last 5 minutes", seconds: 300, query: { seconds: 300 }, pollMs: 2000 },
  "1h": { label: "1 h", title: "Last hour", seconds: 3600, query: { range: "1h" }, pollMs: 10_000 },
  "24h": { label: "24 h", title: "Last 24 hours", seconds: 86_400, query: { range: "24h" }, pollMs: 30_000 },
  "7d": { label: "7 days", title: "Last 7 days", seconds: 604_800, query: { range: "7d" }, pollMs: 60_000 },
};

export function GatewayOverviewPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const name = route.value.search.get("range") ?? DEFAULT_RANGE;
  const range = RANGES[name] ?? RANGES[DEFAULT_RANGE];
  if (range === undefined) throw new Error("no default range");
  const loaded = usePoll(
    async (signal) => {
      const [traffic, blocks] = await Promise.all([
        get<Traffic>(`/traffic${toQueryString({ ...range.query, gateway_id: gateway })}`, signal),
        get<BlockList>(`/gateways/${gateway}/blocks?limit=1`, signal),
      ]);
      return { ...traffic, range, blockCount: blocks.count };
    },
    range.pollMs,
    [gateway, range],
  );
  const targets = useTargetHealth(gateway);
  return (
    <Page
      title="Overview"
      isWide
      description={`Traffic of ${gatewayName(gateway)}. Five minutes are those of this node; longer periods cover all nodes.`}
      actions={
        <>
          <RangePicker selected={range} />
          <GatewaySwitch gateway={gateway} />
        </>
      }
    >
      <WhenLoaded loaded={loaded} what="traffic">
        {({ points, total, step_seconds: step, range: shown, blockCount }) => (
          <>
            <Problems
              gateway={gateway}
              total={total}
              targets={targets.data?.targets ?? []}
              blockCount={blockCount}
              since={points[0]?.time ?? new Date().toISOString()}
              period={shown.title.toLowerCase()}
            />
            <TrafficTiles total={total} seconds={shown.seconds} title={shown.title} />
            {total.requests === 0 ? (
              <NoTraffic gateway={gateway} period={shown.title.toLowerCase()} />
            ) : (
              <TrafficCharts
                points={points}
                stepSeconds={step}
                onSelect={(time) => openRequests(gateway, time, step)}
              />
            )}
          </>
        )}
      </WhenLoaded>
      <Section
        title="Targets"
        description="A target that fails repeatedly is ejected if passive health checks are on. After a while, a trial request checks whether it has recovered."
      >
        <TargetHealthTable gateway={gateway} loaded={targets} />
      </Section>
    </Page>
  );
}

/** Opens the requests that ended in the step. They may have started earlier, so a short step is widened. */
function openRequests(gateway: string, time: number, stepSeconds: number): void {
  const margin = stepSeconds === 1 ? 2 : 0;
  const since = new Date((time - margin) * 1000).toISOString();
  const until = new Date((time + stepSeconds) * 1000).toISOString();
  void navigate(`/gateways/${gateway}/requests${toQueryString({ since, until })}`);
}

function RangePicker({ selected }: { readonly selected: Range }): JSX.Element {
  return (
    <div class="button-group" role="group" aria-label="Period">
      {Object.entries(RANGES).map(([name, range]) => (
        <Button
          key={name}
          isPressed={range === selected}
          onClick={() => replaceSearch({ range: name === DEFAULT_RANGE ? null : name })}
        >
          {range.label}
        </Button>
      ))}
    </div>
  );
}

function NoTraffic({ gateway, period }: { readonly gateway: string; readonly period: string }): JSX.Element {
  return (
    <Empty
      title={`No requests in the ${period}`}
      action={
        <LinkButton to={`/gateways/${gateway}/playground`} icon="playground">
          Open playground
        </LinkButton>
      }
    >
      Send a request, or select a longer period.
    </Empty>
  );
}
