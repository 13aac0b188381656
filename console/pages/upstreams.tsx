// The upstreams of a gateway, with the health of their targets.
import type { JSX } from "preact";
import { listChildren } from "../api/resources.ts";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { revision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type PageParameters } from "../state/router.tsx";

export function UpstreamsPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/upstreams`;
  const loaded = useLoad((signal) => listChildren(gateway, "upstreams", signal), [revision.value]);
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New upstream
    </LinkButton>
  );
  return (
    <Page
      title="Upstreams"
      about="An upstream is a group of targets, each one endpoint of a provider, with the way calls are shared among them."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="upstreams">
        {(upstreams) =>
          upstreams.length === 0 ? (
            <Empty title="No upstream yet" action={create}>
              Make one with a target for each provider account you have.
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
                      `out after ${health_checks.threshold} failures, for ${health_checks.interval} s`
                    ) : (
                      <span class="soft">off</span>
                    ),
                },
                { title: "Changed", cell: ({ updated_at }) => <Time at={updated_at} /> },
              ]}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}
