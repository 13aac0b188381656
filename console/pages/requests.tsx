// Request log: requests of a gateway as they complete, with filters. A selected request opens in a drawer.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RequestRecord } from "../api/item-types.ts";
import { findRequest } from "../api/resources.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Empty, LoadError, Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { RequestDetail } from "../components/request-detail.tsx";
import { RequestTable } from "../components/request-table.tsx";
import { FILTER_NAMES, RequestFilters } from "../forms/request-filters.tsx";
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
          <RequestTable records={shown} onOpen={(id) => replaceSearch({ request: id })} />
        ))}
      {opened !== null && <RequestDrawer gateway={gateway} id={opened} records={live.records} />}
    </Page>
  );
}

function readFilters(search: URLSearchParams): Record<string, string> {
  const filters: Record<string, string> = {};
  for (const name of FILTER_NAMES) {
    const value = search.get(name);
    if (value !== null && value !== "") filters[name] = value;
  }
  return filters;
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
