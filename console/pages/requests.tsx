// Requests as they end, with filters; one of them opened at the side.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { RequestRecord } from "../api/observed.ts";
import { listChildren, listKeys } from "../api/resources.ts";
import { Badge, toneOfStatus } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Empty, LoadFault, Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { RequestDetail } from "../components/request-detail.tsx";
import { Table } from "../components/table.tsx";
import { formatCost, formatCount, formatMs, Time } from "../components/time.tsx";
import { Filter } from "../forms/filter.tsx";
import { connection } from "../state/connection.ts";
import { useLiveRequests } from "../state/live-requests.ts";
import { useLoad } from "../state/load.ts";
import { place, replaceSearch, type PageParameters } from "../state/router.tsx";

const FILTERS = ["status", "outcome", "rule_id", "api_key_id", "provider", "model"];
const MISSING = "This gateway keeps no record of its requests. Its log has a line for each.";

export function RequestsPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const { search } = place.value;
  const filters = Object.fromEntries(
    FILTERS.map((name) => [name, search.get(name) ?? ""]).filter(([, value]) => value !== ""),
  ) as Record<string, string>;
  const [isPaused, setPaused] = useState(false);
  const [onlyRetried, setOnlyRetried] = useState(false);
  const live = useLiveRequests(gateway, filters, isPaused);
  const shown = onlyRetried ? live.records.filter(({ attempts }) => attempts.length > 1) : live.records;
  const opened = search.get("request");
  const isMissing = live.error !== undefined && live.records.length === 0;
  return (
    <Page
      title="Live requests"
      isWide
      about="Every request of this gateway as it ends, the newest first."
      actions={
        <>
          <LiveState
            isLive={live.isLive && connection.value.state !== "away"}
            isPaused={isPaused}
            waiting={live.waiting}
          />
          <Button
            icon={isPaused ? "playground" : "pause"}
            isPressed={isPaused}
            onClick={() => setPaused(!isPaused)}
          >
            {isPaused ? "Go on" : "Pause"}
          </Button>
        </>
      }
    >
      <RequestFilters
        gateway={gateway}
        filters={filters}
        onlyRetried={onlyRetried}
        onRetried={setOnlyRetried}
      />
      {live.error !== undefined && (
        <LoadFault error={live.error} retry={() => location.reload()} missing={MISSING} />
      )}
      {live.dropped > 0 && (
        <Notice kind="info">
          <p>
            {live.dropped} requests came faster than they could be shown here. They were served all the same.
          </p>
        </Notice>
      )}
      {!isMissing &&
        (shown.length === 0 ? (
          <NoRequest gateway={gateway} isFiltered={Object.keys(filters).length > 0 || onlyRetried} />
        ) : (
          <RequestTable records={shown} />
        ))}
      {opened !== null && <OpenedRequest gateway={gateway} id={opened} known={live.records} />}
    </Page>
  );
}

function LiveState(props: {
  readonly isLive: boolean;
  readonly isPaused: boolean;
  readonly waiting: number;
}): JSX.Element {
  const { isLive, isPaused, waiting } = props;
  return (
    <span class="live-state" role="status">
      {!isLive ? (
        <Badge tone="warning">not connected</Badge>
      ) : isPaused ? (
        <Badge>{waiting === 0 ? "paused" : `paused, ${waiting} new`}</Badge>
      ) : (
        <Badge tone="good">live</Badge>
      )}
    </span>
  );
}

interface RequestFiltersProps {
  readonly gateway: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly onlyRetried: boolean;
  readonly onRetried: (isOn: boolean) => void;
}

function RequestFilters({ gateway, filters, onlyRetried, onRetried }: RequestFiltersProps): JSX.Element {
  const { data } = useLoad(async (signal) => {
    const [rules, keys] = await Promise.all([
      listChildren(gateway, "rules", signal),
      listKeys(gateway, signal),
    ]);
    return { rules, keys };
  }, []);
  const filter = (name: string) => ({
    value: filters[name] ?? "",
    onChange: (value: string) => replaceSearch({ [name]: value }),
  });
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <Filter
        label="Status"
        {...filter("status")}
        choices={[
          ["2xx", "2xx, good"],
          ["4xx", "4xx, refused"],
          ["429", "429, limited"],
          ["5xx", "5xx, failed"],
        ]}
      />
      <Filter
        label="Outcome"
        {...filter("outcome")}
        choices={[
          ["complete", "complete"],
          ["incomplete", "incomplete"],
          ["client_left", "client left"],
          ["failed", "failed"],
        ]}
      />
      <Filter
        label="Rule"
        {...filter("rule_id")}
        choices={(data?.rules ?? []).map(({ id, path }) => [id, path] as const)}
      />
      <Filter
        label="API key"
        {...filter("api_key_id")}
        choices={(data?.keys ?? []).map(({ id, name }) => [id, name] as const)}
      />
      <Filter label="Provider" {...filter("provider")} />
      <Filter label="Model" {...filter("model")} />
      <label class="check">
        <input
          type="checkbox"
          checked={onlyRetried}
          onChange={(event) => onRetried(event.currentTarget.checked)}
        />
        <span>Only failovers</span>
      </label>
    </form>
  );
}

function NoRequest({
  gateway,
  isFiltered,
}: {
  readonly gateway: string;
  readonly isFiltered: boolean;
}): JSX.Element {
  if (isFiltered) {
    return <Empty title="No request fits the filters">Those that come and fit will show here at once.</Empty>;
  }
  return (
    <Empty
      title="No request yet"
      action={
        <LinkButton to={`/gateways/${gateway}/playground`} kind="primary" icon="playground">
          Send one from the playground
        </LinkButton>
      }
    >
      As soon as one ends, it shows here.
    </Empty>
  );
}

function RequestTable({ records }: { readonly records: readonly RequestRecord[] }): JSX.Element {
  return (
    <Table
      label="Requests"
      rows={records}
      keyOf={({ request_id, time }) => request_id + time}
      isDense
      columns={[
        { title: "Time", width: "90px", cell: ({ time }) => <Time at={time} /> },
        {
          title: "Request",
          kind: "main",
          width: "19%",
          cell: ({ request_id, method, path }) => (
            <button type="button" class="as-link" onClick={() => replaceSearch({ request: request_id })}>
              <span class="soft">{method}</span> {path}
            </button>
          ),
        },
        { title: "Status", width: "17%", cell: (record) => <Status record={record} /> },
        { title: "Target", width: "15%", cell: (record) => <Targets record={record} /> },
        { title: "Model", width: "10%", cell: ({ model }) => model ?? <span class="soft">–</span> },
        { title: "API key", cell: ({ api_key }) => api_key?.name ?? <span class="soft">none</span> },
        {
          title: "Tokens",
          kind: "number",
          width: "60px",
          cell: ({ tokens }) => (tokens === null ? "–" : formatCount(tokens.input + tokens.output)),
        },
        {
          title: "Cost",
          kind: "number",
          width: "78px",
          cell: ({ cost }) => (cost === null ? "–" : formatCost(cost)),
        },
        { title: "Took", kind: "number", width: "72px", cell: ({ timings }) => formatMs(timings.total_ms) },
      ]}
    />
  );
}

function Status({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { status, outcome, error_code, attempts } = record;
  const more = error_code ?? (outcome === "complete" ? null : outcome.replaceAll("_", " "));
  return (
    <>
      <Badge tone={toneOfStatus(status)}>{status}</Badge>
      {attempts.length > 1 && <Badge tone="warning">failover</Badge>}
      {more !== null && (
        <span class="soft" title={more}>
          {" "}
          {more}
        </span>
      )}
    </>
  );
}

/** The way over several targets, where one was not enough. */
function Targets({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { attempts, provider } = record;
  if (attempts.length <= 1) return <>{provider ?? <span class="soft">none</span>}</>;
  const way = attempts.map((attempt) => attempt.provider).join(" → ");
  return <span title={way}>{way}</span>;
}

interface OpenedRequestProps {
  readonly gateway: string;
  readonly id: string;
  readonly known: readonly RequestRecord[];
}

function OpenedRequest({ gateway, id, known }: OpenedRequestProps): JSX.Element {
  const here = known.find(({ request_id }) => request_id === id);
  const loaded = useLoad(
    async (signal) => {
      if (here !== undefined) return here;
      const path = `/gateways/${gateway}/requests?request_id=${encodeURIComponent(id)}`;
      return (await get<{ requests: readonly RequestRecord[] }>(path, signal)).requests[0] ?? null;
    },
    [id],
  );
  return (
    <Dialog
      kind="side"
      title={
        loaded.data === undefined || loaded.data === null
          ? "Request"
          : `${loaded.data.method} ${loaded.data.path}`
      }
      onClose={() => replaceSearch({ request: null })}
    >
      <WhenLoaded loaded={loaded} what="the request" missing={MISSING}>
        {(record) =>
          record === null ? (
            <Empty title="No longer kept">Only the latest requests are kept; this one is gone.</Empty>
          ) : (
            <RequestDetail record={record} />
          )
        }
      </WhenLoaded>
    </Dialog>
  );
}
