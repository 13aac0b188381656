// List of a gateway's upstreams.
import type { JSX } from "preact";
import { listChildren } from "../api/resources.ts";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/format.tsx";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

export function UpstreamsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/upstreams`;
  const loaded = useLoad((signal) => listChildren(gateway, "upstreams", signal), [activeRevision.value]);
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New upstream
    </LinkButton>
  );
  return (
    <Page
      title="Upstreams"
      description="An upstream is a group of provider endpoints (targets) among which requests are balanced."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="upstreams">
        {(upstreams) =>
          upstreams.length === 0 ? (
            <Empty title="No upstreams yet" action={create}>
              Create one with a target for each provider account.
            </Empty>
          ) : (
            <Table
              label="Upstreams"
              rows={upstreams}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Name",
                  kind: "main",
                  cell: ({ id, name }) => <Link to={`${base}/${id}`}>{name}</Link>,
                },
                {
                  title: "Targets",
                  cell: ({ targets }) => targets.map(({ provider }) => provider).join(", "),
                },
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
                { title: "Updated", cell: ({ updated_at }) => <Time at={updated_at} /> },
              ]}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}
