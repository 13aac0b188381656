// Traffic at the nodes and on the edges of a graph of routes.
import type { RequestRecord } from "../api/item-types.ts";
import { modelCountId, type RouteEdge, type RouteGraph } from "./route-graph.ts";

/** Rates are averages over this many seconds. */
export const WINDOW_SECONDS = 10;

export interface Rate {
  /** Per second. */
  readonly requests: number;
  /** Share of the requests that failed, from 0 to 1. */
  readonly errors: number;
}

interface Count {
  requests: number;
  errors: number;
}

/** Counts of the last seconds, by id of a rule, a target or an MCP server, by virtual model, and by both a target and a virtual model. */
export class RateWindow {
  /** One map per second, the newest last. */
  #seconds: Map<string, Count>[] = [new Map<string, Count>()];

  add(record: RequestRecord): void {
    // A copy for a mirror is not the request of a client.
    if (typeof record.mirror_of === "string") return;
    const isFailed = record.status >= 400 || record.outcome === "incomplete";
    if (record.rule !== null) this.#count(record.rule.id, isFailed);
    for (const { server_id, status, fault, error } of record.mcp?.calls ?? [])
      this.#count(server_id, fault !== null || error !== null || status === null || status >= 400);
    const { name = null, fallback = null } = record.virtual_model ?? {};
    if (name !== null) this.#count(modelCountId(name), isFailed);
    if (fallback !== null) this.#count(modelCountId(fallback), isFailed);
    for (const [index, { target_id, status, fault }] of record.attempts.entries()) {
      const isError = fault !== null || status === null || status >= 400;
      this.#count(target_id, isError);
      // The record does not say when the fallback was chosen. Its last attempt was for the fallback in any case.
      const model = index === record.attempts.length - 1 ? (fallback ?? name) : name;
      if (model !== null) this.#count(`${target_id} ${modelCountId(model)}`, isError);
    }
  }

  #count(id: string, isError: boolean): void {
    const newest = this.#seconds.at(-1);
    const count = newest?.get(id) ?? { requests: 0, errors: 0 };
    count.requests++;
    if (isError) count.errors++;
    newest?.set(id, count);
  }

  /** Call once per second. Returns the rates of the window. */
  tick(): ReadonlyMap<string, Rate> {
    const sums = new Map<string, Count>();
    for (const second of this.#seconds) {
      for (const [id, { requests, errors }] of second) {
        const sum = sums.get(id) ?? { requests: 0, errors: 0 };
        sums.set(id, { requests: sum.requests + requests, errors: sum.errors + errors });
      }
    }
    const seconds = this.#seconds.length;
    this.#seconds = [...this.#seconds.slice(1 - WINDOW_SECONDS), new Map<string, Count>()];
    return new Map(
      [...sums].map(([id, { requests, errors }]) => [
        id,
        { requests: requests / seconds, errors: errors / requests },
      ]),
    );
  }
}

const NO_TRAFFIC: Rate = { requests: 0, errors: 0 };

export interface GraphRates {
  ofNode(id: string): Rate;
  ofEdge(edge: RouteEdge): Rate;
}

/** Services and upstreams are not counted: what passes them is the sum of what leads to them. */
export function graphRates({ columns, edges }: RouteGraph, counted: ReadonlyMap<string, Rate>): GraphRates {
  const rates = new Map<string, Rate>();
  const sources = Map.groupBy(edges, ({ to }) => to);
  for (const { id, kind, countId } of columns.flat()) {
    const isCounted = kind !== "service" && kind !== "upstream";
    const leading = (sources.get(id) ?? []).map(({ from }) => rates.get(from) ?? NO_TRAFFIC);
    rates.set(id, isCounted ? (counted.get(countId) ?? NO_TRAFFIC) : sum(leading));
  }
  const last = columns.flat().filter(({ kind }) => kind === "target" || kind === "mcp-server");
  const ends = new Set(last.map(({ id }) => id));
  const ofNode = (id: string) => rates.get(id) ?? NO_TRAFFIC;
  return {
    ofNode,
    ofEdge: ({ from, to, countId }) =>
      countId === undefined ? ofNode(ends.has(to) ? to : from) : (counted.get(countId) ?? NO_TRAFFIC),
  };
}

function sum(rates: readonly Rate[]): Rate {
  const requests = rates.reduce((total, rate) => total + rate.requests, 0);
  const errors = rates.reduce((total, rate) => total + rate.requests * rate.errors, 0);
  return { requests, errors: requests === 0 ? 0 : errors / requests };
}

/** Such as `2.4/s`; empty without traffic. */
export function formatRate({ requests }: Rate): string {
  if (requests === 0) return "";
  return `${requests < 10 ? requests.toFixed(1) : Math.round(requests)}/s`;
}

/** Such as `12% errors`; empty without errors. */
export function formatErrors({ errors }: Rate): string {
  if (errors === 0) return "";
  const percent = errors * 100;
  return `${percent < 1 ? "<1" : Math.round(percent)}% errors`;
}

/** For screen readers. */
export function describeRate(rate: Rate): string {
  if (rate.requests === 0) return "no requests";
  const errors = formatErrors(rate);
  return `${formatRate(rate).replace("/s", " requests per second")}${errors === "" ? "" : `, ${errors}`}`;
}
