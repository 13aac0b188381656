// List of a gateway's virtual models.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { collectionPath, listPage, namesOf } from "../api/resources.ts";
import type { VirtualModel } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { activeRevision } from "../state/connection.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

interface Row extends VirtualModel {
  /** Names of upstreams by id. */
  readonly upstreams: ReadonlyMap<string, string>;
}

export function ModelsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/models`;
  const collection = collectionPath(gateway, "models");
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New virtual model
    </LinkButton>
  );
  return (
    <Page
      title="Virtual models"
      description="A virtual model is a name that clients request, and the upstreams and models that serve it."
      actions={create}
    >
      <RecordList<Row>
        what="virtual models"
        label="Virtual models"
        load={async (query, signal) => {
          const { rows, count } = await listPage<VirtualModel>(collection, "models", { ...query }, signal);
          const ids = rows.flatMap(({ targets }) => targets.map(({ upstream }) => upstream));
          const upstreams = await namesOf(gateway, "upstreams", ids, signal);
          return { rows: rows.map((row) => ({ ...row, upstreams })), count };
        }}
        dependencies={[activeRevision.value]}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        columns={columnsOf(base)}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            text: "Requests for their names are no longer routed by them. One that is the fallback of another is not deleted. You can restore them by rolling back to an earlier revision.",
            operation: `DELETE ${collection}/one`,
            isDangerous: true,
            run: ({ id }) => call("DELETE", `${collection}/${id}`),
          },
        ]}
        empty={
          <Empty title="No virtual models yet" action={create}>
            Give clients one name, such as “assistant”, and decide here which models serve it.
          </Empty>
        }
      />
    </Page>
  );
}

/** `base` is the console path of the list. */
function columnsOf(base: string): readonly ListColumn<Row>[] {
  return [
    {
      title: "Name",
      kind: "main",
      sort: "name",
      cell: ({ id, name }) => (
        <Link to={`${base}/${id}`} class="mono">
          {name}
        </Link>
      ),
    },
    { title: "Aliases", cell: ({ aliases }) => aliases.join(", ") },
    {
      title: "Targets",
      cell: ({ targets, upstreams }) =>
        targets
          .map(({ upstream, model }) =>
            [upstreams.get(upstream) ?? upstream, ...(model === null ? [] : [model])].join(": "),
          )
          .join(", "),
    },
    { title: "Strategy", cell: ({ strategy }) => <Badge>{strategy}</Badge> },
    { title: "Fallback", cell: ({ fallback }) => fallback.join(", ") },
    {
      title: "Listed",
      cell: ({ visible }) => (visible ? <Badge tone="good">Listed</Badge> : <Badge>Hidden</Badge>),
    },
    { title: "Updated", sort: "updated_at", cell: ({ updated_at }) => <Time at={updated_at} /> },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ id, name }) => <DuplicateLink to={`${base}/new`} id={id} name={name} />,
    },
  ];
}
