// Audit log: all administrative actions with filters, and the verification of the hash chain.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import type { AuditEntry, AuditEntryList, AuditVerification } from "../api/types.ts";
import { AuditDetail, AUDIT_ACTIONS, describeEntry } from "../components/audit-detail.tsx";
import { Badge } from "../components/badge.tsx";
import { ChosenTable } from "../components/chosen-table.tsx";
import { Time } from "../components/format.tsx";
import { Empty, Notice } from "../components/notice.tsx";
import { Forbidden, Page, WhenLoaded } from "../components/page.tsx";
import { pageIn, Pages } from "../components/pages.tsx";
import { Filter, SearchFilter } from "../forms/filter.tsx";
import { TimeFilter } from "../forms/time-filter.tsx";
import { reasonAgainst } from "../state/administrator.ts";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { replaceSearch, route } from "../state/router.tsx";

const PAGE_SIZE = 25;
const FILTERS = ["search", "actor", "action", "outcome", "since", "until"];
const OUTCOMES = [
  ["done", "Done"],
  ["refused", "Rejected"],
] as const;

export function AuditPage(): JSX.Element {
  const reason = reasonAgainst("GET /audit");
  return (
    <Page
      isWide
      title="Audit"
      description="All administrative actions: changes, sign-ins, reads of secrets, and rejected requests. Entries form a chain of hashes, so that later changes in the database are found."
    >
      {reason === null ? <AuditLog /> : <Forbidden reason={reason} />}
    </Page>
  );
}

function AuditLog(): JSX.Element {
  const { search } = route.value;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? ""]));
  const page = pageIn(search);
  const sort = search.get("sort") ?? "";
  const query = toQueryString({ ...filters, sort, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE });
  const loaded = useLoad(
    (signal) => get<AuditEntryList>(`/audit${query}`, signal),
    [query, activeRevision.value],
  );
  const [shown, setShown] = useState<AuditEntry | null>(null);
  const filter = (name: string) => ({
    value: filters[name] ?? "",
    onChange: (value: string) => replaceSearch({ [name]: value, page: null }),
  });
  return (
    <>
      <Verification />
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <SearchFilter what="audit log" value={filters["search"] ?? ""} />
        <Filter label="Administrator" {...filter("actor")} />
        <Filter
          label="Action"
          {...filter("action")}
          choices={Object.entries(AUDIT_ACTIONS).map(([value, { text }]) => [value, text] as const)}
        />
        <Filter label="Outcome" {...filter("outcome")} choices={OUTCOMES} />
        <TimeFilter label="From" {...filter("since")} />
        <TimeFilter label="Until" {...filter("until")} />
      </form>
      <WhenLoaded loaded={loaded} what="audit log">
        {({ audit_entries, count }) =>
          count === 0 ? (
            <Empty title="No entries">No entry matches these filters. Clear a filter to see more.</Empty>
          ) : (
            <>
              <EntryTable entries={audit_entries} onShow={setShown} />
              <Pages page={page} pageSize={PAGE_SIZE} shown={audit_entries.length} count={count} />
            </>
          )
        }
      </WhenLoaded>
      {shown !== null && <AuditDetail entry={shown} onClose={() => setShown(null)} />}
    </>
  );
}

/** Whether the hash chain is intact. Verified once per visit: the server reads every entry for it. */
function Verification(): JSX.Element {
  const loaded = useLoad((signal) => get<AuditVerification>("/audit/verification", signal), []);
  return (
    <WhenLoaded loaded={loaded} what="verification">
      {({ problem, sequence, removed, hash }) =>
        problem === null ? (
          <Notice kind="good">
            <p>
              <strong>Verified to entry {sequence}.</strong>{" "}
              {removed > 0 && `Entries up to ${removed} were removed by AUDIT_KEPT. `}
              Compare its hash with the log line of this entry: <code title={hash}>{hash.slice(0, 16)}…</code>
            </p>
          </Notice>
        ) : (
          <Notice kind="error">
            <p>
              <strong>The chain breaks at entry {problem.sequence}:</strong> {problem.message}. The database
              was changed outside of Gatehouse. Compare the entries with the log lines “audit” of your log
              collector.
            </p>
          </Notice>
        )
      }
    </WhenLoaded>
  );
}

interface EntryTableProps {
  readonly entries: readonly AuditEntry[];
  readonly onShow: (entry: AuditEntry) => void;
}

function EntryTable({ entries, onShow }: EntryTableProps): JSX.Element {
  return (
    <ChosenTable
      label="Audit log"
      unsorted="Newest first"
      rows={entries}
      keyOf={({ sequence }) => String(sequence)}
      columns={[
        {
          title: "Entry",
          kind: "main",
          sort: "created_at",
          cell: (entry) => (
            <button
              type="button"
              class="link-button"
              aria-label={`Entry ${entry.sequence}`}
              onClick={() => onShow(entry)}
            >
              {entry.sequence}
            </button>
          ),
        },
        { title: "Time", cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: "Administrator",
          sort: "actor",
          cell: ({ actor, role }) =>
            actor === null ? (
              <span class="muted">Not signed in</span>
            ) : (
              <>
                {actor.name} {role !== null && <span class="muted">{role}</span>}
              </>
            ),
        },
        {
          title: "Action",
          sort: "action",
          cell: (entry) => (
            <>
              <Badge tone={AUDIT_ACTIONS[entry.action].tone}>{AUDIT_ACTIONS[entry.action].text}</Badge>{" "}
              {describeEntry(entry)}
            </>
          ),
        },
        {
          title: "Address",
          sort: "address",
          cell: ({ address }) => address ?? <span class="muted">Several</span>,
        },
      ]}
    />
  );
}
