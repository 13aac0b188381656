// The services of a gateway.
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

export function ServicesPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad(
    async (signal) => {
      const [services, upstreams] = await Promise.all([
        listChildren(gateway, "services", signal),
        listChildren(gateway, "upstreams", signal),
      ]);
      return { services, upstreams };
    },
    [revision.value],
  );
  const base = `/gateways/${gateway}`;
  const create = (
    <LinkButton to={`${base}/services/new`} kind="primary" icon="add">
      New service
    </LinkButton>
  );
  return (
    <Page
      title="Services"
      about="A service is a name between rules and an upstream, so that the upstream can change under many rules."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="services">
        {({ services, upstreams }) =>
          services.length === 0 ? (
            upstreams.length === 0 ? (
              <Empty
                title="No service yet"
                action={
                  <LinkButton to={`${base}/upstreams/new`} kind="primary">
                    Make an upstream first
                  </LinkButton>
                }
              >
                A service points to an upstream, and this gateway has none.
              </Empty>
            ) : (
              <Empty title="No service yet" action={create}>
                Make one for each thing your applications call, such as “chat”.
              </Empty>
            )
          ) : (
            <Table
              label="Services"
              rows={services}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Name",
                  kind: "main",
                  cell: ({ id, name }) => <Link to={`${base}/services/${id}`}>{name}</Link>,
                },
                {
                  title: "Upstream",
                  cell: ({ upstream_id }) => (
                    <Link to={`${base}/upstreams/${upstream_id}`}>
                      {upstreams.find(({ id }) => id === upstream_id)?.name ?? upstream_id}
                    </Link>
                  ),
                },
                { title: "Description", cell: ({ description }) => description },
                { title: "Changed", cell: ({ updated_at }) => <Time at={updated_at} /> },
              ]}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}
