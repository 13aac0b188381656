// List of a gateway's upstreams.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { collectionPath, listPage } from "../api/resources.ts";
import type { Upstream } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { activeRevision } from "../state/connection.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

export function UpstreamsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/upstreams`;
  const collection = collectionPath(gateway, "upstreams");
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
      <RecordList
        what="upstreams"
        label="Upstreams"
        load={(query, signal) => listPage<Upstream>(collection, "upstreams", { ...query }, signal)}
        dependencies={[activeRevision.value]}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        columns={columnsOf(base)}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            text: "They are deleted immediately. An upstream that services refer to is not deleted. You can restore them by rolling back to an earlier revision.",
            operation: `DELETE ${collection}/one`,
            isDangerous: true,
            run: ({ id }) => call("DELETE", `${collection}/${id}`),
          },
        ]}
        empty={
          <Empty title="No upstreams yet" action={create}>
            Create one with a target for each provider account.
          </Empty>
        }
      />
    </Page>
  );
}

/** `base` is the console path of the list. */
function columnsOf(base: string): readonly ListColumn<Upstream>[] {
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
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
    { title: "Updated", sort: "updated_at", cell: ({ updated_at }) => <Time at={updated_at} /> },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ id, name }) => <DuplicateLink to={`${base}/new`} id={id} name={name} />,
    },
  ];
}
