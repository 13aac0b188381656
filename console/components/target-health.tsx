// The targets of some gateways with their health, asked for every few seconds.
import type { JSX } from "preact";
import { ApiError, get } from "../api/client.ts";
import type { TargetHealth } from "../api/observed.ts";
import { collectionPath, listChildren } from "../api/resources.ts";
import type { Target, Upstream } from "../api/types.ts";
import { nameOfGateway } from "../state/gateways.ts";
import { usePoll } from "../state/load.ts";
import { Link } from "../state/router.tsx";
import { Badge, type Tone } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { Empty } from "./notice.tsx";
import { WhenLoaded } from "./page.tsx";
import { Table } from "./table.tsx";
import { formatMs, Time } from "./time.tsx";

const EVERY_MS = 4000;
/** One question an upstream: beyond this many the page would ask more than it shows. */
const MAX_UPSTREAMS = 24;

interface Row {
  readonly gateway: string;
  readonly upstream: Upstream;
  readonly target: Target;
  /** Null where the gateway does not tell. */
  readonly health: TargetHealth | null;
}

const TONES: Readonly<Record<TargetHealth["state"], Tone>> = {
  healthy: "good",
  out: "bad",
  trial: "warning",
  resting: "warning",
};

export function TargetHealthTable({ gateways }: { readonly gateways: readonly string[] }): JSX.Element {
  const loaded = usePoll((signal) => readRows(gateways, signal), EVERY_MS, [gateways.join()]);
  return (
    <WhenLoaded loaded={loaded} what="targets">
      {(rows) =>
        rows.length === 0 ? (
          <Empty
            title="No target yet"
            action={
              gateways[0] !== undefined && (
                <LinkButton to={`/gateways/${gateways[0]}/upstreams/new`}>Make an upstream</LinkButton>
              )
            }
          >
            Targets belong to upstreams.
          </Empty>
        ) : (
          <Table
            label="Targets"
            rows={rows}
            keyOf={({ target }) => target.id ?? target.provider}
            columns={[
              { title: "Target", kind: "main", cell: ({ target }) => target.provider },
              {
                title: "Upstream",
                cell: ({ gateway, upstream }) => (
                  <Link to={`/gateways/${gateway}/upstreams/${upstream.id}`}>
                    {gateways.length > 1 ? `${nameOfGateway(gateway)} / ${upstream.name}` : upstream.name}
                  </Link>
                ),
              },
              {
                title: "State",
                cell: ({ health, target }) => <State health={health} weight={target.weight} />,
              },
              { title: "Failures in a row", kind: "number", cell: ({ health }) => health?.failures ?? "–" },
              { title: "In flight", kind: "number", cell: ({ health }) => health?.in_flight ?? "–" },
              {
                title: "First byte",
                kind: "number",
                cell: ({ health }) =>
                  health === null || health.latency_ms === null ? "–" : formatMs(health.latency_ms),
              },
            ]}
          />
        )
      }
    </WhenLoaded>
  );
}

function State({
  health,
  weight,
}: {
  readonly health: TargetHealth | null;
  readonly weight: number;
}): JSX.Element {
  if (weight === 0) return <Badge>drained</Badge>;
  if (health === null) return <span class="soft">not told</span>;
  return (
    <>
      <Badge tone={TONES[health.state]}>{health.state}</Badge>
      {health.until !== null && (
        <span class="soft">
          {" "}
          until <Time at={health.until} />
        </span>
      )}
    </>
  );
}

async function readRows(gateways: readonly string[], signal: AbortSignal): Promise<readonly Row[]> {
  const upstreams = (
    await Promise.all(
      gateways.map(async (gateway) =>
        (await listChildren(gateway, "upstreams", signal)).map((upstream) => ({ gateway, upstream })),
      ),
    )
  ).flat();
  const rows = await Promise.all(
    upstreams.slice(0, MAX_UPSTREAMS).map(async ({ gateway, upstream }) => {
      const healths = await readHealth(gateway, upstream.id, signal);
      return upstream.targets.map((target): Row => ({
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
    return (await get<{ targets: readonly TargetHealth[] }>(path, signal)).targets;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}
