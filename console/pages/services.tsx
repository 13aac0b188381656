// List of a gateway's services.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { collectionPath, listPage, namesOf } from "../api/resources.ts";
import type { Service } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

interface Row extends Service {
  /** Name of its upstream; undefined if it was deleted meanwhile. */
  readonly upstream: string | undefined;
}

export function ServicesPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const collection = collectionPath(gateway, "services");
  return (
    <Page
      title="Services"
      description="A service connects rules to an upstream, so that one change of the upstream applies to all of its rules."
      actions={<NewService gateway={gateway} />}
    >
      <RecordList
        what="services"
        label="Services"
        load={async (query, signal) => {
          const { rows, count } = await listPage<Service>(collection, "services", { ...query }, signal);
          const ids = rows.map(({ upstream_id }) => upstream_id);
          const names = await namesOf(gateway, "upstreams", ids, signal);
          return { rows: rows.map((row) => ({ ...row, upstream: names.get(row.upstream_id) })), count };
        }}
        dependencies={[activeRevision.value]}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        columns={columnsOf(`/gateways/${gateway}`)}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            text: "They are deleted immediately. A service that rules refer to is not deleted. You can restore them by rolling back to an earlier revision.",
            operation: `DELETE ${collection}/one`,
            isDangerous: true,
            run: ({ id }) => call("DELETE", `${collection}/${id}`),
          },
        ]}
        empty={<NoServices gateway={gateway} />}
      />
    </Page>
  );
}

function NewService({ gateway }: { readonly gateway: string }): JSX.Element {
  return (
    <LinkButton to={`/gateways/${gateway}/services/new`} kind="primary" icon="add">
      New service
    </LinkButton>
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
    <Empty title="No services yet" action={<NewService gateway={gateway} />}>
      Create one per API that your applications use, such as “chat”.
    </Empty>
  );
}

/** `base` is the console path of the gateway. */
function columnsOf(base: string): readonly ListColumn<Row>[] {
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
      cell: ({ id, name }) => <Link to={`${base}/services/${id}`}>{name}</Link>,
    },
    {
      title: "Upstream",
      cell: ({ upstream_id, upstream }) => (
        <Link to={`${base}/upstreams/${upstream_id}`}>{upstream ?? upstream_id}</Link>
      ),
    },
    { title: "Description", cell: ({ description }) => description },
    { title: "Updated", sort: "updated_at", cell: ({ updated_at }) => <Time at={updated_at} /> },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ id, name }) => <DuplicateLink to={`${base}/services/new`} id={id} name={name} />,
    },
  ];
}
