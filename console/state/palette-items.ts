// What the command palette offers: records and requests that the API finds, pages, actions, and documentation.
import { useEffect, useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import { API_SECTIONS } from "../api/api-sections.ts";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { SearchResultList } from "../api/types.ts";
import type { IconName } from "../components/icon.tsx";
import { navigationGroups, targetOf } from "./navigation-items.ts";
import { mayCall, operationOfPath } from "./administrator.ts";
import { setPreference } from "./appearance.ts";
import { currentGatewayId } from "./gateways.ts";
import { mayLeave } from "./router.tsx";
import { signOut } from "./session.ts";

export interface PaletteItem {
  readonly title: string;
  readonly icon: IconName;
  /** Muted text after the title. */
  readonly detail?: string;
  /** Console path to open. */
  readonly to?: string;
  /** Address outside of the console to open. */
  readonly href?: string;
  readonly run?: () => void;
}

interface PaletteGroup {
  readonly title: string;
  readonly items: readonly PaletteItem[];
}

const SEARCH_DELAY_MS = 120;
const MAX_DOCUMENTS = 6;

const CREATABLE: readonly (readonly [title: string, icon: IconName, to: string])[] = [
  ["New rule", "rules", "rules/new"],
  ["New service", "services", "services/new"],
  ["New MCP server", "plugins", "mcp-servers/new"],
  ["New upstream", "upstreams", "upstreams/new"],
  ["New virtual model", "models", "models/new"],
  ["New API key", "keys", "keys/new"],
  ["New budget", "budgets", "budgets/new"],
  ["New gateway", "gateways", "/gateways/new"],
  ["New admin token", "administrators", "/administrators/new"],
  ["Set up a first route", "playground", "/start"],
];

const APPEARANCE = [
  ["Theme: light", "theme", "light"],
  ["Theme: dark", "theme", "dark"],
  ["Theme: as the system", "theme", ""],
  ["Density: comfortable", "density", ""],
  ["Density: compact", "density", "compact"],
] as const;

function pages(): readonly PaletteItem[] {
  return navigationGroups().flatMap(([, items]) =>
    items.map((item) => ({ title: item.title, icon: item.icon, to: targetOf(item) })),
  );
}

function actions(): readonly PaletteItem[] {
  const gateway = currentGatewayId.value;
  const create = CREATABLE.map(([title, icon, to]) => ({
    title,
    icon,
    to: to.startsWith("/") ? to : gateway === null ? "/start" : `/gateways/${gateway}/${to}`,
  })).filter(({ to }) => {
    const operation = operationOfPath(to);
    return operation === null || mayCall(operation);
  });
  const appearance = APPEARANCE.map(([title, name, value]): PaletteItem => ({
    title,
    icon: "overview",
    run: () => setPreference(name, value),
  }));
  return [...create, ...appearance, { title: "Sign out", icon: "out", run: leave }];
}

function leave(): void {
  void mayLeave().then((isLeaving) => isLeaving && signOut());
}

function documents(): readonly PaletteItem[] {
  const gateway = currentGatewayId.value;
  const errors = Object.entries(ERROR_MEANINGS).map(([code, detail]): PaletteItem => ({
    title: code,
    icon: "warning",
    detail,
    // The meaning is in the item; the requests with this error are the next thing to look at.
    ...(gateway !== null && { to: `/gateways/${gateway}/requests?error_code=${code}` }),
  }));
  return [
    { title: "API reference", icon: "audit", href: "/api/docs" },
    ...API_SECTIONS.map((tag): PaletteItem => ({
      title: `API reference: ${tag}`,
      icon: "audit",
      href: `/api/docs#${tag.replaceAll(" ", "-")}`,
    })),
    ...errors,
  ];
}

type Result = SearchResultList["results"][number];

/** Kinds of results that have a page in the console. */
const KINDS: Readonly<
  Partial<Record<Result["kind"], readonly [label: string, icon: IconName, section: string]>>
> = {
  gateway: ["Gateway", "gateways", "overview"],
  upstream: ["Upstream", "upstreams", "upstreams/"],
  mcp_server: ["MCP server", "plugins", "mcp-servers/"],
  service: ["Service", "services", "services/"],
  rule: ["Rule", "rules", "rules/"],
  model: ["Virtual model", "models", "models/"],
  budget: ["Budget", "budgets", "budgets/"],
  api_key: ["API key", "keys", "keys/"],
  request: ["Request", "requests", "requests?request="],
};

function toItem({ kind, id, name, detail, gateway_id, gateway }: Result): PaletteItem | [] {
  const [label, icon, section] = KINDS[kind] ?? [];
  if (label === undefined || icon === undefined) return [];
  const place = gateway_id === null ? "reached no gateway" : gateway;
  const details = [name === null ? null : detail, label, kind === "gateway" ? null : place];
  return {
    title: name ?? detail ?? id,
    icon,
    detail: details.filter((each) => each !== null).join(" · "),
    // Request logs are those of gateways, so that a request without one has no page.
    ...(gateway_id !== null && {
      to: `/gateways/${gateway_id}/${section}${kind === "gateway" ? "" : encodeURIComponent(id)}`,
    }),
  };
}

/** Every word of the text occurs in the item. */
function matching(items: readonly PaletteItem[], text: string): readonly PaletteItem[] {
  const words = text.toLowerCase().split(/\s+/);
  return items.filter(({ title, detail = "" }) => {
    const searched = `${title} ${detail}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}

/** Returns the items for a text, in groups that are not empty, and whether records are still being searched. */
export function usePaletteGroups(text: string): { groups: readonly PaletteGroup[]; isSearching: boolean } {
  const wanted = text.trim();
  const [found, setFound] = useState<{ text: string; results: readonly Result[] }>({ text: "", results: [] });
  useEffect(() => {
    if (wanted === "") return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      get<SearchResultList>(`/search${toQueryString({ q: wanted.slice(0, 200) })}`, abort.signal).then(
        ({ results }) => setFound({ text: wanted, results }),
        // A newer text has replaced this one, or the banner reports the server as unreachable.
        () => undefined,
      );
    }, SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [wanted]);
  const isSearching = wanted !== "" && found.text !== wanted;
  const records = wanted === "" ? [] : found.results.flatMap(toItem);
  const groups: readonly PaletteGroup[] = [
    { title: "Pages", items: matching(pages(), wanted) },
    { title: "Actions", items: matching(actions(), wanted) },
    { title: "Records and requests", items: records },
    {
      title: "Documentation",
      items: wanted === "" ? documents().slice(0, 1) : matching(documents(), wanted).slice(0, MAX_DOCUMENTS),
    },
  ];
  return { groups: groups.filter(({ items }) => items.length > 0), isSearching };
}
