// List of all gateways.
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty, LoadError, Loading } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/format.tsx";
import { gateways, gatewaysError, loadGateways } from "../state/gateways.ts";
import { Link } from "../state/router.tsx";

export function GatewaysPage(): JSX.Element {
  const all = gateways.value;
  const error = gatewaysError.value;
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
      {error !== null && <LoadError error={error} retry={() => void loadGateways()} />}
      {all === null && error === null && <Loading what="gateways" />}
      {all?.length === 0 && (
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
      )}
      {all !== null && all.length > 0 && (
        <Table
          label="Gateways"
          rows={all}
          keyOf={({ id }) => id}
          columns={[
            {
              title: "Name",
              kind: "main",
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
            { title: "Updated", cell: ({ updated_at }) => <Time at={updated_at} /> },
          ]}
        />
      )}
    </Page>
  );
}
