// Overview: traffic of the last minutes, health of the targets, and rejected requests.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { Traffic } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { formatCount } from "../components/format.tsx";
import { Empty, Loading } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { TargetHealthTable } from "../components/target-health.tsx";
import { TextWithCode } from "../components/text-with-code.tsx";
import { TrafficCharts } from "../components/traffic-charts.tsx";
import { TrafficTiles } from "../components/traffic-tiles.tsx";
import { currentGatewayId, gatewayName, gateways } from "../state/gateways.ts";
import { usePoll } from "../state/load.ts";
import { navigate, redirect, type RoutedPageProps } from "../state/router.tsx";

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
      return get<Traffic>(path, signal);
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
        {({ points, total }) => (
          <>
            <TrafficTiles total={total} seconds={SECONDS} title="Last 5 minutes" />
            <TrafficCharts points={points} stepSeconds={1} />
          </>
        )}
      </WhenLoaded>
      <Section
        title="Targets"
        description="A target that fails repeatedly is ejected. After a while, a trial request checks whether it has recovered."
      >
        <TargetHealthTable
          gateways={gateway === null ? (gateways.value ?? []).map(({ id }) => id) : [gateway]}
        />
      </Section>
      {loaded.data !== undefined && <RejectedRequests total={loaded.data.total} />}
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

function RejectedRequests({ total }: { readonly total: Traffic["total"] }): JSX.Element {
  const rows = Object.entries(total.refused).sort(([, left], [, right]) => right - left);
  return (
    <Section
      title="Rejected requests"
      description="Requests of the last five minutes that the gateway rejected without contacting a provider, by error code."
    >
      {rows.length === 0 ? (
        <NothingRejected hadTraffic={total.requests > 0} />
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
