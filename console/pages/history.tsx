// Configuration history: all revisions, newest first.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import type { Revision, RevisionList } from "../api/types.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/format.tsx";
import { Filter } from "../forms/filter.tsx";
import { activeRevision } from "../state/connection.ts";
import { gateways, gatewayName } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { Link, route, replaceSearch } from "../state/router.tsx";

const PAGE_SIZE = 50;

export const ACTIONS: Readonly<Record<Revision["action"], { readonly text: string; readonly tone: Tone }>> = {
  create: { text: "Create", tone: "good" },
  update: { text: "Update", tone: "accent" },
  delete: { text: "Delete", tone: "bad" },
  rollback: { text: "Rollback", tone: "warning" },
  apply: { text: "Apply", tone: "accent" },
};

export function HistoryPage(): JSX.Element {
  const [size, setSize] = useState(PAGE_SIZE);
  const gateway = route.value.search.get("gateway") ?? "";
  const loaded = useLoad(
    (signal) => get<RevisionList>(`/revisions${toQueryString({ limit: size, gateway_id: gateway })}`, signal),
    [size, gateway, activeRevision.value],
  );
  return (
    <Page
      title="History"
      description="Every configuration change creates a revision. Open one to see its changes or to roll back to it."
    >
      <div class="filters">
        <Filter
          label="Gateway"
          value={gateway}
          onChange={(value) => replaceSearch({ gateway: value })}
          choices={(gateways.value ?? []).map(({ id, name }) => [id, name] as const)}
        />
      </div>
      <WhenLoaded loaded={loaded} what="history">
        {({ revisions, count }) =>
          revisions.length === 0 ? (
            <Empty title="No revisions yet" action={<LinkButton to="/start">Create first route</LinkButton>}>
              The first change creates revision 1.
            </Empty>
          ) : (
            <>
              <RevisionTable revisions={revisions} />
              {revisions.length < count && (
                <p class="load-more">
                  <Button onClick={() => setSize(size + PAGE_SIZE)} isBusy={loaded.isLoading}>
                    Show more ({revisions.length} of {count})
                  </Button>
                </p>
              )}
            </>
          )
        }
      </WhenLoaded>
    </Page>
  );
}

export function describeRevision({ resource, name }: Revision): string {
  if (resource === "configuration") return name ?? "configuration";
  const kind = resource === "api_key" ? "API key" : resource.replaceAll("_", " ");
  return name === null ? kind : `${kind} “${name}”`;
}

interface RevisionTableProps {
  readonly revisions: readonly Revision[];
}

function RevisionTable({ revisions }: RevisionTableProps): JSX.Element {
  return (
    <Table
      label="Revisions"
      rows={revisions}
      keyOf={(each) => String(each.revision)}
      columns={[
        {
          title: "Revision",
          kind: "main",
          cell: (each) => (
            <>
              <Link to={`/history/${each.revision}`} label={`Revision ${each.revision}`}>
                {each.revision}
              </Link>{" "}
              {each.revision === activeRevision.value && <Badge tone="good">Active</Badge>}
            </>
          ),
        },
        {
          title: "Change",
          cell: (each) => (
            <>
              <Badge tone={ACTIONS[each.action].tone}>{ACTIONS[each.action].text}</Badge>{" "}
              {describeRevision(each)}
            </>
          ),
        },
        {
          title: "Gateway",
          cell: ({ gateway_id }) =>
            gateway_id === null ? <span class="muted">–</span> : gatewayName(gateway_id),
        },
        { title: "Author", cell: ({ subject }) => subject ?? <span class="muted">Unknown</span> },
        { title: "Time", cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}
