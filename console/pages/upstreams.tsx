// List of a gateway's upstreams.
import type { JSX } from "preact";
import { collectionPath } from "../api/resources.ts";
import type { Upstream } from "../api/types.ts";
import type { ListColumn } from "../components/list-tools.tsx";
import { RecordListPage, UPDATED } from "../components/record-list-page.tsx";
import type { RoutedPageProps } from "../state/router.tsx";

const COLUMNS: readonly ListColumn<Upstream>[] = [
  { title: "Targets", cell: ({ targets }) => targets.map(({ provider }) => provider).join(", ") },
  { title: "Algorithm", cell: ({ algorithm }) => algorithm },
  {
    title: "Health checks",
    cell: ({ health_checks }) =>
      health_checks.passive ? (
        `Eject for ${health_checks.interval} s after ${health_checks.threshold} failures`
      ) : (
        <span class="muted">Off</span>
      ),
  },
  UPDATED,
];

export function UpstreamsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  return (
    <RecordListPage<Upstream, Upstream>
      title="Upstreams"
      description="An upstream is a group of provider endpoints (targets) among which requests are balanced."
      singular="upstream"
      base={`/gateways/${gateway}/upstreams`}
      path={collectionPath(gateway, "upstreams")}
      field="upstreams"
      complete={(upstreams) => upstreams}
      columns={COLUMNS}
      removal={{
        text: "They are deleted immediately. An upstream that services refer to is not deleted. You can restore them by rolling back to an earlier revision.",
      }}
      empty="Create one with a target for each provider account."
    />
  );
}
