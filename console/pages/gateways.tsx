// All gateways.
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty, LoadFault, Loading } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { gateways, gatewaysFault, loadGateways } from "../state/gateways.ts";
import { Link } from "../state/router.tsx";

export function GatewaysPage(): JSX.Element {
  const known = gateways.value;
  const fault = gatewaysFault.value;
  return (
    <Page
      title="Gateways"
      about="A gateway has its own rules, upstreams, keys and plugins. One is enough for most."
      actions={
        <LinkButton to="/gateways/new" kind="primary" icon="add">
          New gateway
        </LinkButton>
      }
    >
      {fault !== null && <LoadFault error={fault} retry={() => void loadGateways()} />}
      {known === null && fault === null && <Loading what="gateways" />}
      {known?.length === 0 && (
        <Empty
          title="No gateway yet"
          action={
            <LinkButton to="/start" kind="primary">
              Set up the first route
            </LinkButton>
          }
        >
          The guided start leads from nothing to an answered call in a minute or two.
        </Empty>
      )}
      {known !== null && known.length > 0 && (
        <Table
          label="Gateways"
          rows={known}
          keyOf={({ id }) => id}
          columns={[
            {
              title: "Name",
              kind: "main",
              cell: ({ id, name }) => <Link to={`/gateways/${id}`}>{name}</Link>,
            },
            { title: "Subdomain", cell: ({ subdomain }) => subdomain ?? <span class="soft">none</span> },
            {
              title: "Plugins",
              cell: ({ required_plugins }) =>
                required_plugins.length === 0 ? (
                  <span class="soft">none</span>
                ) : (
                  required_plugins.map(({ name, enabled }, index) => (
                    <Badge key={index} tone={enabled ? "accent" : "neutral"}>
                      {enabled ? name : `${name} (off)`}
                    </Badge>
                  ))
                ),
            },
            { title: "API key", cell: ({ require_api_key }) => (require_api_key ? "required" : "optional") },
            { title: "Changed", cell: ({ updated_at }) => <Time at={updated_at} /> },
          ]}
        />
      )}
    </Page>
  );
}
