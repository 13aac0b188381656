// The routes of a gateway as a graph: rules, services, upstreams and MCP servers, targets and virtual models in columns, and edges
// between neighboring columns.
import type { McpServer, Rule, Service, Upstream, VirtualModel } from "../api/types.ts";

export type NodeKind = "rule" | "service" | "upstream" | "mcp-server" | "target" | "model";

export interface RouteNode {
  /** Unique in the graph. */
  readonly id: string;
  readonly kind: NodeKind;
  readonly title: string;
  readonly detail: string;
  /** The record that its form edits: a target is edited in its upstream. */
  readonly recordId: string;
  /** Whether requests cannot pass it: an inactive rule, a target with weight 0. */
  readonly isOff: boolean;
  /** What its traffic is counted as. */
  readonly countId: string;
}

/** The record whose form is shown. The id of one that does not exist yet is `new`. */
export type OpenedRecord = Pick<RouteNode, "kind" | "title" | "recordId">;

export interface RouteEdge {
  readonly from: string;
  readonly to: string;
  /** What its traffic is counted as, if it is not that of one of its ends. */
  readonly countId?: string;
  /** Whether no requests pass it although they could pass both ends. */
  readonly isOff?: boolean;
}

export interface RouteGraph {
  /** The kinds of the nodes of each column. */
  readonly kinds: readonly (readonly NodeKind[])[];
  /** One list per column, from top to bottom. */
  readonly columns: readonly (readonly RouteNode[])[];
  readonly edges: readonly RouteEdge[];
  /** Rules that match the search, and those of them in the graph. */
  readonly matchCount: number;
  readonly shownCount: number;
}

export interface RouteRecords {
  readonly rules: readonly Rule[];
  readonly services: readonly Service[];
  readonly upstreams: readonly Upstream[];
  readonly models: readonly VirtualModel[];
  readonly servers: readonly McpServer[];
}

/**
 * Returns the graph of the first `limit` rules that match the search. Records without a rule are included if nothing is
 * searched. Virtual models have a column if there are any. MCP servers are in the column of the upstreams, below them.
 */
export function routeGraph(records: RouteRecords, search: string, limit: number): RouteGraph {
  const services = new Map(records.services.map((service) => [service.id, service]));
  const upstreams = new Map(records.upstreams.map((upstream) => [upstream.id, upstream]));
  const text = search.trim().toLowerCase();
  const matching = records.rules.filter((rule) => {
    const service = services.get(rule.service_id);
    const upstream = upstreams.get(service?.upstream_id ?? "");
    const providers = upstream?.targets.map(({ provider }) => provider) ?? [];
    const models = records.models.filter((model) => isAt(model, service, upstream));
    const servers = records.servers.filter(({ id }) => serversOf(service).includes(id));
    const texts = [rule.name ?? "", rule.path, service?.name ?? "", upstream?.name ?? "", ...providers];
    texts.push(
      ...models.flatMap(({ name, aliases }) => [name, ...aliases]),
      ...servers.map(({ name }) => name),
    );
    return text === "" || texts.some((each) => each.toLowerCase().includes(text));
  });
  const shown = matching.slice(0, limit);
  const isWhole = text === "" && matching.length === shown.length;
  // Along the upstreams, so that edges cross as little as possible.
  const usedUpstreams = unique(shown.map((rule) => services.get(rule.service_id)?.upstream_id ?? ""));
  const upstreamIds = isWhole ? unique([...usedUpstreams, ...upstreams.keys()]) : usedUpstreams;
  const usedServices = new Set(shown.map(({ service_id }) => service_id));
  const byUpstream = upstreamIds.flatMap((id) =>
    records.services.filter((each) => each.upstream_id === id && (isWhole || usedServices.has(each.id))),
  );
  const toServers = records.services.filter(
    ({ id, type }) => type === "mcp" && (isWhole || usedServices.has(id)),
  );
  const usedServers = unique(toServers.flatMap(serversOf));
  const serverIds = isWhole ? unique([...usedServers, ...records.servers.map(({ id }) => id)]) : usedServers;
  const servers = serverIds.flatMap((id) => records.servers.find((server) => server.id === id) ?? []);
  const shownServices = [...byUpstream, ...toServers];
  const rules = shownServices.flatMap(({ id }) => shown.filter(({ service_id }) => service_id === id));
  const found = upstreamIds.flatMap((id) => upstreams.get(id) ?? []);
  const served = found.flatMap((upstream) => modelEdges(upstream, records.models));
  const shownModels = unique(served.map(({ to }) => to));
  const modelIds = isWhole ? unique([...shownModels, ...records.models.map(({ id }) => id)]) : shownModels;
  const models = modelIds.flatMap((id) => records.models.find((model) => model.id === id) ?? []);
  const hasModels = records.models.length > 0;
  return {
    kinds: [
      ["rule"],
      ["service"],
      records.servers.length === 0 ? ["upstream"] : ["upstream", "mcp-server"],
      ["target"],
      ...(hasModels ? [["model"] as const] : []),
    ],
    columns: [
      rules.map(ruleNode),
      shownServices.map(({ id, name, description }) => node("service", id, name, description ?? "")),
      [
        ...found.map((upstream) => node("upstream", upstream.id, upstream.name, upstream.algorithm)),
        ...servers.map(serverNode),
      ],
      found.flatMap(targetNodes),
      ...(hasModels ? [models.map(modelNode)] : []),
    ],
    edges: [
      ...rules.map(({ id, service_id }) => ({ from: id, to: service_id })),
      ...byUpstream.map(({ id, upstream_id }) => ({ from: id, to: upstream_id ?? "" })),
      ...toServers.flatMap((each) => serversOf(each).map((to) => ({ from: each.id, to }))),
      ...found.flatMap(({ id, targets }) => targets.map((target) => ({ from: id, to: target.id ?? "" }))),
      ...served,
    ],
    matchCount: matching.length,
    shownCount: shown.length,
  };
}

/** The ids of the MCP servers of a service; none if it leads to an upstream. */
function serversOf(service: Service | undefined): readonly string[] {
  return service?.type === "mcp" ? service.mcp_server_ids : [];
}

function serverNode({ id, name, url, enabled }: McpServer): RouteNode {
  const detail = enabled ? new URL(url).host : "disabled";
  return { ...node("mcp-server", id, name, detail), isOff: !enabled };
}

function node(kind: NodeKind, id: string, title: string, detail: string): RouteNode {
  return { id, kind, title, detail, recordId: id, isOff: false, countId: id };
}

/** Whether rules of the service can use the virtual model. */
function isAt(model: VirtualModel, service: Service | undefined, upstream: Upstream | undefined): boolean {
  return (
    service?.virtual_models === "any" || allTargets(model).some((each) => each.upstream === upstream?.id)
  );
}

/** Edges from the targets of the upstream to the virtual models that they serve. */
function modelEdges({ id, targets }: Upstream, models: readonly VirtualModel[]): RouteEdge[] {
  return targets.flatMap((target) =>
    models.flatMap((model) => {
      const own = allTargets(model).filter(
        (each) => each.upstream === id && serves(target, model, each.model),
      );
      const isOff = own.every(({ weight }) => weight === 0);
      const countId = `${target.id ?? ""} ${modelCountId(model.name)}`;
      return own.length === 0 ? [] : { from: target.id ?? "", to: model.id, countId, isOff };
    }),
  );
}

/** With the canary and the mirror, whose shares are their weights. */
function allTargets({ targets, canary, mirror }: VirtualModel): VirtualModel["targets"] {
  const further = [canary, mirror].flatMap((each) =>
    each === null ? [] : { ...each.target, weight: each.share },
  );
  return [...targets, ...further];
}

function serves(target: Upstream["targets"][number], { name }: VirtualModel, sent: string | null): boolean {
  const model = sent ?? (name.endsWith("*") ? null : name);
  const { models, default_model } = target;
  return model === null || models.length === 0 || models.includes(model) || default_model === model;
}

/** Requests carry the name of a virtual model, not its id. */
export function modelCountId(name: string): string {
  return `model ${name}`;
}

function modelNode({ id, name, strategy, fallback, targets }: VirtualModel): RouteNode {
  const detail = fallback.length === 0 ? strategy : `${strategy} · then ${fallback.join(", ")}`;
  const isOff = targets.every(({ weight }) => weight === 0);
  return { ...node("model", id, name, detail), isOff, countId: modelCountId(name) };
}

function ruleNode({ id, name, path, methods, active }: Rule): RouteNode {
  const verbs = methods.includes("*") ? "all methods" : methods.join(", ");
  const detail = [name ?? "", active ? verbs : "inactive"].filter((part) => part !== "").join(" · ");
  return { ...node("rule", id, path, detail), isOff: !active };
}

function targetNodes({ id: upstreamId, targets }: Upstream): RouteNode[] {
  return targets.map(({ id = "", provider, default_model, models, weight, priority }) => {
    const model = default_model ?? models[0] ?? "all models";
    const parts = [
      model,
      ...(weight === 0 ? ["drained"] : weight === 1 ? [] : [`weight ${weight}`]),
      ...(priority === 1 ? [] : [`priority ${priority}`]),
    ];
    return {
      ...node("target", id, provider, parts.join(" · ")),
      recordId: upstreamId,
      isOff: weight === 0,
    };
  });
}

function unique(ids: readonly string[]): string[] {
  return [...new Set(ids)];
}

/** Where nodes and edges are drawn. Horizontal positions are percentages of the width, vertical ones pixels. */
export interface RouteLayout {
  readonly height: number;
  readonly columnWidth: number;
  readonly places: ReadonlyMap<string, { readonly left: number; readonly top: number }>;
}

export const NODE_HEIGHT = 56;
const GAP = 12;
/** Share of the width that is between the columns, where the edges and their numbers are. */
const BETWEEN = 28;

/** Places each node next to the middle of the nodes that lead to it, without overlap. */
export function layOut({ columns, edges }: RouteGraph): RouteLayout {
  const between = BETWEEN / (columns.length - 1);
  const columnWidth = (100 - BETWEEN) / columns.length;
  const places = new Map<string, { left: number; top: number }>();
  const sources = Map.groupBy(edges, ({ to }) => to);
  let height = 0;
  for (const [index, nodes] of columns.entries()) {
    const left = index * (columnWidth + between);
    let next = 0;
    for (const { id } of nodes) {
      const tops = (sources.get(id) ?? []).flatMap(({ from }) => places.get(from)?.top ?? []);
      // All targets of an upstream have the same source: the first one is next to it, the others follow.
      const wanted = tops.length === 0 ? 0 : tops.reduce((sum, top) => sum + top, 0) / tops.length;
      const top = Math.max(next, wanted);
      places.set(id, { left, top });
      next = top + NODE_HEIGHT + GAP;
    }
    height = Math.max(height, next - GAP);
  }
  return { height, columnWidth, places };
}
