// Overview: traffic of the last minutes, health of the targets, and rejected requests.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get } from "../api/client.ts";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { Traffic } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { GatewaySwitch } from "../components/gateway-switch.tsx";
import { formatCount } from "../components/format.tsx";
import { Empty, Loading } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { ChosenTable } from "../components/chosen-table.tsx";
import { TargetHealthTable, useTargetHealth } from "../components/target-health.tsx";
import { TextWithCode } from "../components/text-with-code.tsx";
import { TrafficCharts } from "../components/traffic-charts.tsx";
import { TrafficTiles } from "../components/traffic-tiles.tsx";
import { currentGatewayId, gatewayCount } from "../state/gateways.ts";
import { usePoll } from "../state/load.ts";
import { redirect } from "../state/router.tsx";

const SECONDS = 300;
const POLL_INTERVAL_MS = 2000;

export function OverviewPage(): JSX.Element {
  const isEmpty = gatewayCount.value === 0;
  useEffect(() => {
    // A separate route: the setup page must stay open after it has created the first gateway.
    if (isEmpty) redirect("/start");
  }, [isEmpty]);
  return isEmpty ? <Loading what="console" /> : <Overview />;
}

function Overview(): JSX.Element {
  const loaded = usePoll(
    async (signal) => {
      return get<Traffic>(`/traffic?seconds=${SECONDS}`, signal);
    },
    POLL_INTERVAL_MS,
    [],
  );
  const targets = useTargetHealth(null);
  return (
    <Page
      title="Overview"
      isWide
      description="Traffic of this node in the last five minutes, in steps of one second."
      actions={<GatewaySwitch gateway={null} />}
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
        <TargetHealthTable gateway={null} loaded={targets} />
      </Section>
      {loaded.data !== undefined && <RejectedRequests total={loaded.data.total} />}
    </Page>
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
        <ChosenTable
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
