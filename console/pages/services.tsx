// List of a gateway's services.
import type { JSX } from "preact";
import { collectionPath, listPage, namesOf } from "../api/resources.ts";
import type { Service } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { RecordListPage, UPDATED } from "../components/record-list-page.tsx";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

interface Row extends Service {
  /** Name of its upstream; undefined if it was deleted meanwhile. */
  readonly upstream: string | undefined;
}

export function ServicesPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  return (
    <RecordListPage<Service, Row>
      title="Services"
      description="A service connects rules to an upstream or to MCP servers, so that one change applies to all of its rules."
      singular="service"
      base={`/gateways/${gateway}/services`}
      path={collectionPath(gateway, "services")}
      field="services"
      complete={async (services, signal) => {
        const ids = services.flatMap(({ upstream_id }) => upstream_id ?? []);
        const names = await namesOf(gateway, "upstreams", ids, signal);
        return services.map((service) => ({ ...service, upstream: names.get(service.upstream_id ?? "") }));
      }}
      columns={[
        {
          title: "Leads to",
          cell: ({ upstream_id, upstream, mcp_server_ids: { length } }) =>
            upstream_id === null ? (
              <Link to={`/gateways/${gateway}/mcp-servers`}>
                {length === 1 ? "1 MCP server" : `${length} MCP servers`}
              </Link>
            ) : (
              <Link to={`/gateways/${gateway}/upstreams/${upstream_id}`}>{upstream ?? upstream_id}</Link>
            ),
        },
        { title: "Description", cell: ({ description }) => description },
        UPDATED,
      ]}
      removal={{
        text: "They are deleted immediately. A service that rules refer to is not deleted. You can restore them by rolling back to an earlier revision.",
      }}
      empty={<NoServices gateway={gateway} />}
    />
  );
}

function NoServices({ gateway }: { readonly gateway: string }): JSX.Element {
  const upstreams = useLoad(
    (signal) => listPage(collectionPath(gateway, "upstreams"), "upstreams", { limit: 1 }, signal),
    [],
  );
  return upstreams.data?.count === 0 ? (
    <Empty
      title="No services yet"
      action={
        <LinkButton to={`/gateways/${gateway}/upstreams/new`} kind="primary">
          Create an upstream first
        </LinkButton>
      }
    >
      A service needs an upstream, and this gateway has none.
    </Empty>
  ) : (
    <Empty
      title="No services yet"
      action={
        <LinkButton to={`/gateways/${gateway}/services/new`} kind="primary" icon="add">
          New service
        </LinkButton>
      }
    >
      Create one per API that your applications use, such as “chat”.
    </Empty>
  );
}
