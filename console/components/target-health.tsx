// Table of the targets of some gateways with their health, refreshed every few seconds.
import type { JSX } from "preact";
import { ApiError, get } from "../api/client.ts";
import type { TargetHealth } from "../api/item-types.ts";
import { collectionPath, listChildren } from "../api/resources.ts";
import type { Target, TargetHealthList, Upstream } from "../api/types.ts";
import { gatewayName } from "../state/gateways.ts";
import { usePoll, type Loaded } from "../state/load.ts";
import { Link } from "../state/router.tsx";
import { Badge } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { formatMs, Time } from "./format.tsx";
import { targetStateLabel } from "./labels.ts";
import { Empty } from "./notice.tsx";
import { WhenLoaded } from "./page.tsx";
import { Table, type Column } from "./table.tsx";

const POLL_INTERVAL_MS = 4000;
/** Health takes one API request per upstream, so the number of upstreams is limited. */
const MAX_UPSTREAMS = 24;

export interface TargetRow {
  readonly gateway: string;
  readonly upstream: Upstream;
  readonly target: Target;
  /** Null if the gateway does not report it, for example because the target is new. */
  readonly health: TargetHealth | null;
}

export function useTargetHealth(gateways: readonly string[]): Loaded<readonly TargetRow[]> {
  return usePoll((signal) => readRows(gateways, signal), POLL_INTERVAL_MS, [gateways.join()]);
}

interface TargetHealthTableProps {
  readonly gateways: readonly string[];
  readonly loaded: Loaded<readonly TargetRow[]>;
}

export function TargetHealthTable({ gateways, loaded }: TargetHealthTableProps): JSX.Element {
  const [first] = gateways;
  return (
    <WhenLoaded loaded={loaded} what="targets">
      {(rows) =>
        rows.length === 0 ? (
          <Empty
            title="No targets yet"
            action={
              first !== undefined && (
                <LinkButton to={`/gateways/${first}/upstreams/new`}>Create upstream</LinkButton>
              )
            }
          >
            Targets belong to an upstream.
          </Empty>
        ) : (
          <Table
            label="Targets"
            rows={rows}
            keyOf={({ target }) => target.id ?? target.provider}
            columns={columns(gateways.length > 1)}
          />
        )
      }
    </WhenLoaded>
  );
}

function columns(hasGatewayName: boolean): readonly Column<TargetRow>[] {
  return [
    { title: "Target", kind: "main", cell: ({ target }) => target.provider },
    {
      title: "Upstream",
      cell: ({ gateway, upstream }) => (
        <Link to={`/gateways/${gateway}/upstreams/${upstream.id}`}>
          {hasGatewayName ? `${gatewayName(gateway)} / ${upstream.name}` : upstream.name}
        </Link>
      ),
    },
    { title: "State", cell: ({ health, target }) => <State health={health} weight={target.weight} /> },
    { title: "Consecutive failures", kind: "number", cell: ({ health }) => health?.recent_failures ?? "–" },
    { title: "In flight", kind: "number", cell: ({ health }) => health?.in_flight ?? "–" },
    {
      title: "First byte",
      kind: "number",
      cell: ({ health }) =>
        health === null || health.latency_ms === null ? "–" : formatMs(health.latency_ms),
    },
  ];
}

function State({
  health,
  weight,
}: {
  readonly health: TargetHealth | null;
  readonly weight: number;
}): JSX.Element {
  if (weight === 0) return <Badge>Drained</Badge>;
  const label = targetStateLabel(health);
  if (health === null || label === null) return <span class="muted">Unknown</span>;
  const { text, tone } = label;
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {health.until !== null && (
        <span class="muted">
          {" "}
          until <Time at={health.until} />
        </span>
      )}
    </>
  );
}

async function readRows(gateways: readonly string[], signal: AbortSignal): Promise<readonly TargetRow[]> {
  const upstreams = await Promise.all(
    gateways.map(async (gateway) =>
      (await listChildren(gateway, "upstreams", signal)).map((upstream) => ({ gateway, upstream })),
    ),
  );
  const rows = await Promise.all(
    upstreams
      .flat()
      .slice(0, MAX_UPSTREAMS)
      .map(async ({ gateway, upstream }) => {
        const healths = await readHealth(gateway, upstream.id, signal);
        return upstream.targets.map((target): TargetRow => ({
          gateway,
          upstream,
          target,
          health: healths.find(({ target_id }) => target_id === target.id) ?? null,
        }));
      }),
  );
  return rows.flat();
}

async function readHealth(
  gateway: string,
  upstream: string,
  signal: AbortSignal,
): Promise<readonly TargetHealth[]> {
  try {
    const path = `${collectionPath(gateway, "upstreams")}/${upstream}/health`;
    return (await get<TargetHealthList>(path, signal)).targets;
  } catch (error) {
    // The upstream may have been deleted since it was listed.
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}
