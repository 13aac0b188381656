// Table of targets with their health, those that need attention first, refreshed every few seconds.
import type { JSX } from "preact";
import { get, toQueryString } from "../api/client.ts";
import type { Overview } from "../api/types.ts";
import { currentGatewayId } from "../state/gateways.ts";
import { usePoll, type Loaded } from "../state/load.ts";
import { Link } from "../state/router.tsx";
import { Badge } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { formatCount, formatMs, Time } from "./format.tsx";
import { targetStateLabel } from "./labels.ts";
import { Empty } from "./notice.tsx";
import { WhenLoaded } from "./page.tsx";
import { ChosenTable } from "./chosen-table.tsx";
import type { Column } from "./table.tsx";

const POLL_INTERVAL_MS = 4000;
const SHOWN = 50;

export type TargetRow = Overview["targets"][number];

/** Of one gateway, or of all of them if `gateway` is null. */
export function useTargetHealth(gateway: string | null): Loaded<Overview> {
  return usePoll(
    (signal) => get<Overview>(`/overview${toQueryString({ limit: SHOWN, gateway_id: gateway })}`, signal),
    POLL_INTERVAL_MS,
    [gateway],
  );
}

interface TargetHealthTableProps {
  readonly gateway: string | null;
  readonly loaded: Loaded<Overview>;
}

export function TargetHealthTable({ gateway, loaded }: TargetHealthTableProps): JSX.Element {
  return (
    <WhenLoaded loaded={loaded} what="targets">
      {({ targets, target_count, gateway_count }) =>
        targets.length === 0 ? (
          <NoTargets gateway={gateway ?? currentGatewayId.value} />
        ) : (
          <>
            <ChosenTable
              label="Targets"
              rows={targets}
              keyOf={({ target_id }) => target_id}
              columns={columns(gateway === null && gateway_count > 1)}
            />
            {target_count > targets.length && (
              <p class="hint">
                The first {targets.length} of {formatCount(target_count)} targets. Those that fail are first.
              </p>
            )}
          </>
        )
      }
    </WhenLoaded>
  );
}

function NoTargets({ gateway }: { readonly gateway: string | null }): JSX.Element {
  return (
    <Empty
      title="No targets yet"
      action={
        gateway !== null && <LinkButton to={`/gateways/${gateway}/upstreams/new`}>Create upstream</LinkButton>
      }
    >
      Targets belong to an upstream.
    </Empty>
  );
}

function columns(hasGatewayName: boolean): readonly Column<TargetRow>[] {
  return [
    { title: "Target", kind: "main", cell: ({ provider }) => provider },
    {
      title: "Upstream",
      cell: ({ gateway_id, gateway, upstream_id, upstream }) => (
        <Link to={`/gateways/${gateway_id}/upstreams/${upstream_id}`}>
          {hasGatewayName ? `${gateway} / ${upstream}` : upstream}
        </Link>
      ),
    },
    { title: "State", cell: (target) => <State target={target} /> },
    { title: "Consecutive failures", kind: "number", cell: ({ recent_failures }) => recent_failures ?? "–" },
    { title: "In flight", kind: "number", cell: ({ in_flight }) => in_flight },
    {
      title: "First byte",
      kind: "number",
      cell: ({ latency_ms }) => (latency_ms === null ? "–" : formatMs(latency_ms)),
    },
  ];
}

function State({ target }: { readonly target: TargetRow }): JSX.Element {
  if (target.weight === 0) return <Badge>Drained</Badge>;
  const label = targetStateLabel(target);
  if (label === null) return <span class="muted">Unknown</span>;
  const { text, tone } = label;
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {target.until !== null && (
        <span class="muted">
          {" "}
          until <Time at={target.until} />
        </span>
      )}
    </>
  );
}
