// Configuration history: all revisions, newest first.
import type { JSX } from "preact";
import { get, toQueryString } from "../api/client.ts";
import type { Revision, RevisionList } from "../api/types.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { ChosenTable } from "../components/chosen-table.tsx";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { pageIn, Pages, PAGE_SIZE } from "../components/pages.tsx";
import { describeRecord } from "../components/record-changes.tsx";
import { Time } from "../components/format.tsx";
import { Filter, SearchFilter } from "../forms/filter.tsx";
import { GatewayFilter } from "../forms/gateway-filter.tsx";
import { TimeFilter } from "../forms/time-filter.tsx";
import { activeRevision } from "../state/connection.ts";
import { gatewayName } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { Link, route, replaceSearch } from "../state/router.tsx";
import { me } from "../state/session.ts";

export const ACTIONS: Readonly<Record<Revision["action"], { readonly text: string; readonly tone: Tone }>> = {
  create: { text: "Create", tone: "good" },
  update: { text: "Update", tone: "accent" },
  delete: { text: "Delete", tone: "bad" },
  rollback: { text: "Rollback", tone: "warning" },
  apply: { text: "Apply", tone: "accent" },
};

const RESOURCES = [
  ["gateway", "Gateway"],
  ["upstream", "Upstream"],
  ["service", "Service"],
  ["rule", "Rule"],
  ["model", "Virtual model"],
  ["budget", "Budget"],
  ["game_day", "Game day"],
  ["api_key", "API key"],
  ["prices", "Prices"],
  ["configuration", "Several records"],
] as const;
const FILTERS = ["search", "gateway_id", "actor", "resource", "since", "until"];

export function HistoryPage(): JSX.Element {
  const { search } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? ""]));
  // An administrator who is limited to gateways must name one.
  filters["gateway_id"] ||= me.value?.gateways?.[0] ?? "";
  const page = pageIn(search);
  const sort = search.get("sort") ?? "";
  const query = toQueryString({ ...filters, sort, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE });
  const loaded = useLoad(
    (signal) => get<RevisionList>(`/revisions${query}`, signal),
    [query, activeRevision.value],
  );
  const filter = (name: string) => ({
    value: filters[name] ?? "",
    onChange: (value: string) => replaceSearch({ [name]: value, page: null }),
  });
  const isFiltered = FILTERS.some((name) => search.has(name));
  return (
    <Page
      title="History"
      description="Every configuration change creates a revision. Open one to see its changes or to roll back to it."
    >
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <SearchFilter what="history" value={filters["search"] ?? ""} />
        <GatewayFilter label="Gateway" {...filter("gateway_id")} />
        <Filter label="Administrator" {...filter("actor")} />
        <Filter label="Record type" {...filter("resource")} choices={RESOURCES} />
        <TimeFilter label="From" {...filter("since")} />
        <TimeFilter label="Until" {...filter("until")} />
      </form>
      <WhenLoaded loaded={loaded} what="history">
        {({ revisions, count }) =>
          count === 0 ? (
            <NoRevisions isFiltered={isFiltered} />
          ) : (
            <>
              <RevisionTable revisions={revisions} />
              <Pages page={page} shown={revisions.length} count={count} />
            </>
          )
        }
      </WhenLoaded>
    </Page>
  );
}

function NoRevisions({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered)
    return <Empty title="No revisions">No revision matches these filters. Clear a filter to see more.</Empty>;
  return (
    <Empty title="No revisions yet" action={<LinkButton to="/start">Create first route</LinkButton>}>
      The first change creates revision 1.
    </Empty>
  );
}

/** Name of the administrator. */
export function authorOf({ actor, subject }: Revision): string {
  return actor?.name ?? subject ?? "unknown";
}

export function describeRevision({ resource, name }: Revision): string {
  return resource === "configuration" ? (name ?? "configuration") : describeRecord(resource, name);
}

interface RevisionTableProps {
  readonly revisions: readonly Revision[];
}

function RevisionTable({ revisions }: RevisionTableProps): JSX.Element {
  return (
    <ChosenTable
      label="Revisions"
      unsorted="Newest first"
      rows={revisions}
      keyOf={(each) => String(each.revision)}
      columns={[
        {
          title: "Revision",
          kind: "main",
          sort: "created_at",
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
          sort: "name",
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
        { title: "Administrator", sort: "actor", cell: authorOf },
        { title: "Time", cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}
