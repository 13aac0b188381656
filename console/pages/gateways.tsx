// List of all gateways.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { listPage } from "../api/resources.ts";
import type { Gateway } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { DuplicateLink } from "../components/duplicate.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { Time } from "../components/format.tsx";
import { activeRevision } from "../state/connection.ts";
import { rememberGateways } from "../state/gateways.ts";
import { Link } from "../state/router.tsx";

const COLUMNS: readonly ListColumn<Gateway>[] = [
  {
    title: "Name",
    kind: "main",
    sort: "name",
    cell: ({ id, name }) => <Link to={`/gateways/${id}`}>{name}</Link>,
  },
  { title: "Subdomain", cell: ({ subdomain }) => subdomain ?? <span class="muted">None</span> },
  {
    title: "Plugins",
    cell: ({ required_plugins }) =>
      required_plugins.length === 0 ? (
        <span class="muted">None</span>
      ) : (
        required_plugins.map(({ name, enabled }, index) => (
          <Badge key={index} tone={enabled ? "accent" : "neutral"}>
            {enabled ? name : `${name} (off)`}
          </Badge>
        ))
      ),
  },
  { title: "API key", cell: ({ require_api_key }) => (require_api_key ? "Required" : "Optional") },
  { title: "Updated", sort: "updated_at", cell: ({ updated_at }) => <Time at={updated_at} /> },
  {
    title: "Actions",
    kind: "actions",
    cell: ({ id, name }) => <DuplicateLink to="/gateways/new" id={id} name={name} />,
  },
];

export function GatewaysPage(): JSX.Element {
  return (
    <Page
      title="Gateways"
      description="A gateway has its own rules, services, upstreams, API keys, and plugins. Most installations need one."
      actions={
        <LinkButton to="/gateways/new" kind="primary" icon="add">
          New gateway
        </LinkButton>
      }
    >
      <RecordList
        what="gateways"
        label="Gateways"
        load={async (query, signal) => {
          const page = await listPage<Gateway>("/gateways", "gateways", { ...query }, signal);
          rememberGateways(page.rows);
          return page;
        }}
        dependencies={[activeRevision.value]}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            operation: "DELETE /gateways/one",
            text: "They are deleted immediately for all clients. A gateway that still has records is not deleted. You can restore them by rolling back to an earlier revision.",
            isDangerous: true,
            run: ({ id }) => call("DELETE", `/gateways/${id}`),
          },
        ]}
        empty={
          <Empty
            title="No gateways yet"
            action={
              <LinkButton to="/start" kind="primary">
                Create first route
              </LinkButton>
            }
          >
            The setup page creates a gateway with a working route.
          </Empty>
        }
      />
    </Page>
  );
}
