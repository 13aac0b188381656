// Page with the routes of a gateway as one picture: rules, services, upstreams, MCP servers, targets and virtual models, with live traffic and health.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { collectionPath, listChildren } from "../api/resources.ts";
import { LinkButton } from "../components/button.tsx";
import { formatCount } from "../components/format.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { RouteList } from "../components/route-list.tsx";
import { RoutePicture } from "../components/route-picture.tsx";
import { useTargetHealth } from "../components/target-health.tsx";
import { RecordDrawer } from "../forms/record-drawer.tsx";
import { mayCall } from "../state/administrator.ts";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { routeGraph, type NodeKind, type OpenedRecord, type RouteRecords } from "../state/route-graph.ts";
import { graphRates, WINDOW_SECONDS } from "../state/route-rates.ts";
import { useRouteTraffic } from "../state/route-traffic.ts";
import type { RoutedPageProps } from "../state/router.tsx";

const COLLECTIONS = {
  rule: "rules",
  service: "services",
  upstream: "upstreams",
  "mcp-server": "mcp-servers",
  model: "models",
} as const;

/** More rules would not be readable. A search finds the others. */
const SHOWN_RULES = 40;
/** The picture needs more width with virtual models. */
const NARROW = { without: "(max-width: 900px)", with: "(max-width: 1100px)" };

export function RoutesPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const loaded = useLoad(
    async (signal): Promise<RouteRecords> => {
      const [rules, services, upstreams, models, servers] = await Promise.all([
        listChildren(gateway, "rules", signal),
        listChildren(gateway, "services", signal),
        listChildren(gateway, "upstreams", signal),
        listChildren(gateway, "models", signal),
        listChildren(gateway, "mcp-servers", signal),
      ]);
      return { rules, services, upstreams, models, servers };
    },
    [gateway, activeRevision.value],
  );
  return (
    <Page
      isWide
      title="Routes"
      description="How requests are routed: from a rule to its service, to the upstream of the service, and to a target; or from the service to MCP servers. Select a record to edit it."
    >
      <WhenLoaded loaded={loaded} what="routes">
        {(records) =>
          records.upstreams.length === 0 && records.servers.length === 0 ? (
            <Empty
              title="No routes yet"
              action={<LinkButton to={`/gateways/${gateway}/upstreams/new`}>Create upstream</LinkButton>}
            >
              Begin with an upstream, then add a service and a rule.
            </Empty>
          ) : (
            <Routes gateway={gateway} records={records} reload={loaded.reload} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface RoutesProps {
  readonly gateway: string;
  readonly records: RouteRecords;
  readonly reload: () => void;
}

function Routes({ gateway, records, reload }: RoutesProps): JSX.Element {
  const [search, setSearch] = useState("");
  const [opened, setOpened] = useState<OpenedRecord | null>(null);
  const isNarrow = useMediaQuery(NARROW[records.models.length === 0 ? "without" : "with"]);
  const { rates, isLive, droppedCount } = useRouteTraffic(gateway);
  const health = useTargetHealth(gateway).data?.targets ?? [];
  const graph = routeGraph(records, search, SHOWN_RULES);
  const rememberFocus = useReturnedFocus(opened !== null);
  const state = {
    rates: graphRates(graph, rates),
    health: new Map(health.map((target) => [target.target_id, target])),
    open: (record: OpenedRecord) => {
      rememberFocus();
      setOpened(record);
    },
    // Targets are added to their upstream.
    mayCreate: (kind: NodeKind) =>
      kind !== "target" && mayCall(`POST ${collectionPath(gateway, COLLECTIONS[kind])}`),
  };
  const close = (hasChanged: boolean) => {
    setOpened(null);
    if (hasChanged) reload();
  };
  const { matchCount, shownCount } = graph;
  return (
    <>
      <form class="filters route-search" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="filter">
          <span>Search</span>
          <input
            class="input"
            type="search"
            value={search}
            placeholder="Path, name, provider, or virtual model"
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        <p class="hint" role="status">
          {describeCount(matchCount, shownCount, records.rules.length)}{" "}
          {isLive ? `Traffic of the last ${WINDOW_SECONDS} seconds.` : "Traffic is not live at the moment."}
          {droppedCount > 0 && ` ${formatCount(droppedCount)} requests were too many to show.`}
        </p>
      </form>
      {shownCount === 0 && search !== "" ? (
        <Empty title="No matching rule">
          Search for a part of a path, a name, a provider, or a virtual model.
        </Empty>
      ) : isNarrow ? (
        <RouteList graph={graph} state={state} />
      ) : (
        <RoutePicture graph={graph} state={state} />
      )}
      {opened !== null && <RecordDrawer gateway={gateway} record={opened} onClose={close} />}
    </>
  );
}

function describeCount(matching: number, shown: number, all: number): string {
  if (shown < matching)
    return `The first ${shown} of ${formatCount(matching)} rules. Search to find the others.`;
  return matching === all
    ? `${all} ${all === 1 ? "rule" : "rules"}.`
    : `${matching} of ${formatCount(all)} rules.`;
}

/** Returns a function that notes which control has the focus. It gets the focus back when the drawer is closed. */
function useReturnedFocus(isOpen: boolean): () => void {
  const opener = useRef<Element | null>(null);
  // After the drawer is removed: nothing outside of a modal dialog can have the focus.
  useEffect(() => {
    if (isOpen || opener.current === null) return;
    const control = opener.current.isConnected ? opener.current : document.querySelector("main h1");
    opener.current = null;
    if (control instanceof HTMLElement) control.focus();
  }, [isOpen]);
  return () => (opener.current = document.activeElement);
}

function useMediaQuery(query: string): boolean {
  const [isMatching, setMatching] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = () => setMatching(list.matches);
    update();
    list.addEventListener("change", update);
    return () => list.removeEventListener("change", update);
  }, [query]);
  return isMatching;
}
