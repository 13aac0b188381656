// List of a gateway's services.
import type { JSX } from "preact";
import { listChildren } from "../api/resources.ts";
import type { Service, Upstream } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/format.tsx";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

export function ServicesPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad(
    async (signal) => {
      const [services, upstreams] = await Promise.all([
        listChildren(gateway, "services", signal),
        listChildren(gateway, "upstreams", signal),
      ]);
      return { services, upstreams };
    },
    [activeRevision.value],
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
      description="A service connects rules to an upstream, so that one change of the upstream applies to all of its rules."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="services">
        {({ services, upstreams }) =>
          services.length === 0 ? (
            upstreams.length === 0 ? (
              <Empty
                title="No services yet"
                action={
                  <LinkButton to={`${base}/upstreams/new`} kind="primary">
                    Create an upstream first
                  </LinkButton>
                }
              >
                A service needs an upstream, and this gateway has none.
              </Empty>
            ) : (
              <Empty title="No services yet" action={create}>
                Create one per API that your applications use, such as “chat”.
              </Empty>
            )
          ) : (
            <ServiceTable base={base} services={services} upstreams={upstreams} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface ServiceTableProps {
  /** Console path of the gateway. */
  readonly base: string;
  readonly services: readonly Service[];
  readonly upstreams: readonly Upstream[];
}

function ServiceTable({ base, services, upstreams }: ServiceTableProps): JSX.Element {
  return (
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
        { title: "Updated", cell: ({ updated_at }) => <Time at={updated_at} /> },
      ]}
    />
  );
}
