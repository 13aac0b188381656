// Request log: requests of a gateway as they complete, with filters. A selected request opens in a drawer.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RequestRecord } from "../api/item-types.ts";
import { findRequest } from "../api/resources.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Empty, LoadError, Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { RequestDetail } from "../components/request-detail.tsx";
import { RequestStrip } from "../components/request-strip.tsx";
import { requestButtonId, RequestTable } from "../components/request-table.tsx";
import { FILTER_NAMES, RequestFilters } from "../forms/request-filters.tsx";
import { SavedViews } from "../forms/saved-views.tsx";
import { connection } from "../state/connection.ts";
import { useLiveRequests } from "../state/live-requests.ts";
import { useLoad } from "../state/load.ts";
import { replaceSearch, route, type RoutedPageProps } from "../state/router.tsx";

export function RequestsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const { search } = route.value;
  const filters = readFilters(search);
  const [isPaused, setPaused] = useState(false);
  const [onlyFailovers, setOnlyFailovers] = useState(false);
  const live = useLiveRequests(gateway, filters, isPaused);
  const shown = onlyFailovers ? live.records.filter(({ attempts }) => attempts.length > 1) : live.records;
  const opened = search.get("request");
  useFocusAfterClose(opened);
  const hasNoLog = live.error !== undefined && live.records.length === 0;
  return (
    <Page
      title="Request log"
      isWide
      description="Requests of this gateway as they complete, newest first."
      actions={
        <>
          <LiveStatus
            isLive={live.isLive && connection.value.state !== "unreachable"}
            isPaused={isPaused}
            pendingCount={live.pendingCount}
          />
          <Button
            icon={isPaused ? "playground" : "pause"}
            isPressed={isPaused}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? "Resume" : "Pause"}
          </Button>
        </>
      }
    >
      <RequestFilters
        gateway={gateway}
        filters={filters}
        onlyFailovers={onlyFailovers}
        onOnlyFailovers={setOnlyFailovers}
      />
      <SavedViews filters={filters} onApply={applyFilters} />
      {live.error !== undefined && <LoadError error={live.error} retry={() => location.reload()} />}
      {live.droppedCount > 0 && (
        <Notice kind="info">
          <p>
            {live.droppedCount} requests are not shown because they arrived faster than this page could load
            them.
          </p>
        </Notice>
      )}
      {!hasNoLog &&
        (shown.length === 0 ? (
          <NoRequests gateway={gateway} isFiltered={Object.keys(filters).length > 0 || onlyFailovers} />
        ) : (
          <>
            <RequestStrip
              records={shown}
              onSelect={({ from, until }) =>
                replaceSearch({ since: new Date(from).toISOString(), until: new Date(until).toISOString() })
              }
            />
            <RequestTable records={shown} onOpen={(id) => replaceSearch({ request: id })} />
          </>
        ))}
      {!hasNoLog && <KeptRequests shownCount={shown.length} storedCount={live.storedCount} />}
      {opened !== null && <RequestDrawer gateway={gateway} id={opened} records={shown} />}
    </Page>
  );
}

/** Returns the focus to the row of the request that was closed, or to the heading if the row is gone. */
function useFocusAfterClose(opened: string | null): void {
  const last = useRef<string | null>(null);
  useEffect(() => {
    if (opened === null && last.current !== null)
      (
        document.getElementById(requestButtonId(last.current)) ??
        document.querySelector<HTMLElement>("main h1")
      )?.focus();
    last.current = opened;
  }, [opened]);
}

function readFilters(search: URLSearchParams): Record<string, string> {
  const filters: Record<string, string> = {};
  for (const name of FILTER_NAMES) {
    const value = search.get(name);
    if (value !== null && value !== "") filters[name] = value;
  }
  return filters;
}

function applyFilters(filters: Readonly<Record<string, string>>): void {
  replaceSearch(Object.fromEntries(FILTER_NAMES.map((name) => [name, filters[name] ?? null])));
}

/** Says where older requests are: the gateway keeps none besides those in memory. */
function KeptRequests({
  shownCount,
  storedCount,
}: {
  readonly shownCount: number;
  readonly storedCount: number;
}): JSX.Element {
  return (
    <p class="hint kept-requests">
      {storedCount > shownCount && `${shownCount} of ${storedCount} matching requests are shown. `}
      Gatehouse keeps the latest requests in memory, as many as <code>REQUEST_LOG_SIZE</code> allows, until it
      restarts. To keep all of them elsewhere, set <code>REQUEST_LOG_SINK</code>.
    </p>
  );
}

interface LiveStatusProps {
  readonly isLive: boolean;
  readonly isPaused: boolean;
  readonly pendingCount: number;
}

function LiveStatus({ isLive, isPaused, pendingCount }: LiveStatusProps): JSX.Element {
  return (
    <span class="live-status" role="status">
      {!isLive ? (
        <Badge tone="warning">Disconnected</Badge>
      ) : isPaused ? (
        <Badge>{pendingCount === 0 ? "Paused" : `Paused, ${pendingCount} new`}</Badge>
      ) : (
        <Badge tone="good">Live</Badge>
      )}
    </span>
  );
}

interface NoRequestsProps {
  readonly gateway: string;
  readonly isFiltered: boolean;
}

function NoRequests({ gateway, isFiltered }: NoRequestsProps): JSX.Element {
  if (isFiltered)
    return <Empty title="No requests match the filters">New requests that match will appear here.</Empty>;
  return (
    <Empty
      title="No requests yet"
      action={
        <LinkButton to={`/gateways/${gateway}/playground`} kind="primary" icon="playground">
          Open playground
        </LinkButton>
      }
    >
      Send a request to see it here.
    </Empty>
  );
}

interface RequestDrawerProps {
  readonly gateway: string;
  readonly id: string;
  readonly records: readonly RequestRecord[];
}

function RequestDrawer({ gateway, id, records }: RequestDrawerProps): JSX.Element {
  const listed = records.find(({ request_id }) => request_id === id);
  const loaded = useLoad(async (signal) => listed ?? findRequest(gateway, id, signal), [id]);
  const { data } = loaded;
  useEffect(() => {
    const step = (event: KeyboardEvent) => {
      const direction = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (direction === undefined || isScrollable(event.target)) return;
      const next = records[records.findIndex(({ request_id }) => request_id === id) + direction];
      if (next === undefined || listed === undefined) return;
      event.preventDefault();
      replaceSearch({ request: next.request_id });
    };
    addEventListener("keydown", step);
    return () => removeEventListener("keydown", step);
  }, [id, records]);
  return (
    <Dialog
      kind="drawer"
      title={data === undefined || data === null ? "Request" : `${data.method} ${data.path}`}
      onClose={() => replaceSearch({ request: null })}
    >
      <WhenLoaded loaded={loaded} what="request">
        {(record) =>
          record === null ? (
            <Empty title="Request not found">The log keeps only the latest requests.</Empty>
          ) : (
            <RequestDetail record={record} />
          )
        }
      </WhenLoaded>
    </Dialog>
  );
}

/** Whether the arrow keys scroll the element or move in it, such as a body or an input. */
function isScrollable(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("input, select, textarea, pre, [tabindex]");
}
