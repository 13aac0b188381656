// List of a gateway's rules.
import type { JSX } from "preact";
import { listChildren } from "../api/resources.ts";
import type { Rule, Service } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

export function RulesPage({ parameters }: RoutedPageProps): JSX.Element {
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
    [activeRevision.value],
  );
  const create = (
    <LinkButton to={`${base}/rules/new`} kind="primary" icon="add">
      New rule
    </LinkButton>
  );
  return (
    <Page
      title="Rules"
      description="A rule routes matching requests to a service. The most specific path wins, then the lowest priority number."
      actions={create}
    >
      <WhenLoaded loaded={loaded} what="rules">
        {({ rules, services }) =>
          rules.length === 0 ? (
            <Empty
              title="No rules yet"
              action={
                services.length === 0 ? (
                  <LinkButton to={`${base}/services/new`} kind="primary">
                    Create a service first
                  </LinkButton>
                ) : (
                  create
                )
              }
            >
              Without a rule, every request gets 404.
            </Empty>
          ) : (
            <RuleTable base={base} rules={rules} services={services} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface RuleTableProps {
  /** Console path of the gateway. */
  readonly base: string;
  readonly rules: readonly Rule[];
  readonly services: readonly Service[];
}

function RuleTable({ base, rules, services }: RuleTableProps): JSX.Element {
  return (
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
        { title: "Name", cell: ({ name }) => name ?? <span class="muted">None</span> },
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
              <span class="muted">Gateway default</span>
            ) : require_api_key ? (
              "Required"
            ) : (
              "Optional"
            ),
        },
        {
          title: "State",
          cell: ({ active }) => (active ? <Badge tone="good">Active</Badge> : <Badge>Inactive</Badge>),
        },
      ]}
    />
  );
}
