// The rules of a gateway.
import type { JSX } from "preact";
import { listChildren } from "../api/resources.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { revision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type PageParameters } from "../state/router.tsx";

export function RulesPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}`;
  const loaded = useLoad(
    async (signal) => {
      const [rules, services] = await Promise.all([
        listChildren(gateway, "rules", signal),
        listChildren(gateway, "services", signal),
      ]);
      return { rules, services };
    },
    [revision.value],
  );
  const create = (
    <LinkButton to={`${base}/rules/new`} kind="primary" icon="add">
      New rule
    </LinkButton>
  );
  return (
    <Page
      title="Rules"
      about="A rule says which requests go to which service. The most exact path wins, then the lower priority."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="rules">
        {({ rules, services }) =>
          rules.length === 0 ? (
            <Empty
              title="No rule yet"
              action={
                services.length === 0 ? (
                  <LinkButton to={`${base}/services/new`} kind="primary">
                    Make a service first
                  </LinkButton>
                ) : (
                  create
                )
              }
            >
              Without a rule nothing is forwarded: every call gets 404.
            </Empty>
          ) : (
            <Table
              label="Rules"
              rows={rules}
              keyOf={({ id }) => id}
              isDimmed={({ active }) => !active}
              columns={[
                {
                  title: "Path",
                  kind: "main",
                  cell: ({ id, path }) => (
                    <Link to={`${base}/rules/${id}`} class="mono">
                      {path}
                    </Link>
                  ),
                },
                { title: "Name", cell: ({ name }) => name ?? <span class="soft">none</span> },
                {
                  title: "Methods",
                  cell: ({ methods }) => methods.map((method) => <Badge key={method}>{method}</Badge>),
                },
                {
                  title: "Service",
                  cell: ({ service_id }) => (
                    <Link to={`${base}/services/${service_id}`}>
                      {services.find(({ id }) => id === service_id)?.name ?? service_id}
                    </Link>
                  ),
                },
                {
                  title: "API key",
                  cell: ({ require_api_key }) =>
                    require_api_key === null ? (
                      <span class="soft">as the gateway</span>
                    ) : require_api_key ? (
                      "required"
                    ) : (
                      "optional"
                    ),
                },
                {
                  title: "State",
                  cell: ({ active }) =>
                    active ? <Badge tone="good">active</Badge> : <Badge>inactive</Badge>,
                },
              ]}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}
