// List of a gateway's rules.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { changeUnchanged, collectionPath, etagOfUnchanged, listPage, namesOf } from "../api/resources.ts";
import type { Rule } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { Toggle } from "../components/toggle.tsx";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

interface Row extends Rule {
  /** Name of its service; undefined if it was deleted meanwhile. */
  readonly service: string | undefined;
}

export function RulesPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const collection = collectionPath(gateway, "rules");
  const [changes, setChanges] = useState(0);
  const pathOf = ({ id }: Row) => `${collection}/${id}`;
  const setActive = (rule: Row, active: boolean) =>
    changeUnchanged(pathOf(rule), { ...rule, name: rule.path }, { active });
  const move = async (rule: Row, place: "before" | "after", other: Row): Promise<Partial<Row>> => {
    const etag = await etagOfUnchanged(pathOf(rule), { ...rule, name: rule.path });
    return (await call<Rule>("POST", `${pathOf(rule)}/move`, { body: { [place]: other.id }, etag })).data;
  };
  const setActiveAction = (active: boolean) => ({
    verb: active ? "Enable" : "Disable",
    done: active ? "Enabled" : "Disabled",
    text: active ? "They match requests again immediately." : "An inactive rule matches no requests.",
    operation: `PATCH ${collection}/one`,
    appliesTo: (rule: Row) => rule.active !== active,
    run: (rule: Row) => setActive(rule, active),
  });
  return (
    <Page
      title="Rules"
      description="A rule routes matching requests to a service. The most specific path wins, then the lowest priority number."
      actions={<NewRule gateway={gateway} />}
    >
      <RecordList
        what="rules"
        label="Rules"
        load={async (query, signal) => {
          const { rows, count } = await listPage<Rule>(collection, "rules", { ...query }, signal);
          const ids = rows.map(({ service_id }) => service_id);
          const services = await namesOf(gateway, "services", ids, signal);
          return { rows: rows.map((rule) => ({ ...rule, service: services.get(rule.service_id) })), count };
        }}
        dependencies={[activeRevision.value, changes]}
        keyOf={({ id }) => id}
        nameOf={({ path }) => path}
        isDimmed={({ active }) => !active}
        columns={columnsOf(gateway, (rule) => (
          <Toggle
            isOn={rule.active}
            label={`${rule.path} is active`}
            texts={["Inactive", "Active"]}
            operation={`PATCH ${pathOf(rule)}`}
            onToggle={() => setActive(rule, !rule.active)}
            onDone={() => setChanges((before) => before + 1)}
          />
        ))}
        actions={[
          setActiveAction(true),
          setActiveAction(false),
          {
            verb: "Delete",
            done: "Deleted",
            text: "They are deleted immediately for all clients. You can restore them by rolling back to an earlier revision.",
            operation: `DELETE ${collection}/one`,
            isDangerous: true,
            run: (rule) => call("DELETE", pathOf(rule)),
          },
        ]}
        order={{ sort: "priority", operation: `POST ${collection}/one/move`, move }}
        empty={<NoRules gateway={gateway} />}
      />
    </Page>
  );
}

function NewRule({ gateway }: { readonly gateway: string }): JSX.Element {
  return (
    <LinkButton to={`/gateways/${gateway}/rules/new`} kind="primary" icon="add">
      New rule
    </LinkButton>
  );
}

function NoRules({ gateway }: { readonly gateway: string }): JSX.Element {
  const services = useLoad(
    (signal) => listPage(collectionPath(gateway, "services"), "services", { limit: 1 }, signal),
    [],
  );
  return (
    <Empty
      title="No rules yet"
      action={
        services.data?.count === 0 ? (
          <LinkButton to={`/gateways/${gateway}/services/new`} kind="primary">
            Create a service first
          </LinkButton>
        ) : (
          <NewRule gateway={gateway} />
        )
      }
    >
      Without a rule, every request gets 404.
    </Empty>
  );
}

function columnsOf(gateway: string, toggle: (rule: Row) => JSX.Element): readonly ListColumn<Row>[] {
  const base = `/gateways/${gateway}`;
  return [
    {
      title: "Path",
      kind: "main",
      sort: "path",
      cell: ({ id, path }) => (
        <Link to={`${base}/rules/${id}`} class="mono">
          {path}
        </Link>
      ),
    },
    { title: "Name", sort: "name", cell: ({ name }) => name ?? <span class="muted">None</span> },
    {
      title: "Methods",
      cell: ({ methods }) => methods.map((method) => <Badge key={method}>{method}</Badge>),
    },
    {
      title: "Service",
      cell: ({ service_id, service }) => (
        <Link to={`${base}/services/${service_id}`}>{service ?? service_id}</Link>
      ),
    },
    {
      title: "API key",
      cell: ({ require_api_key }) =>
        require_api_key === null ? (
          <span class="muted">Gateway default</span>
        ) : require_api_key ? (
          "Required"
        ) : (
          "Optional"
        ),
    },
    { title: "Priority", kind: "number", sort: "priority", cell: ({ priority }) => priority },
    { title: "State", cell: toggle },
    { title: "Updated", sort: "updated_at", cell: ({ updated_at }) => <Time at={updated_at} /> },
    {
      title: "Actions",
      kind: "actions",
      cell: ({ id, path }) => <DuplicateLink to={`${base}/rules/new`} id={id} name={path} />,
    },
  ];
}
