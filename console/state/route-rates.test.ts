// Rates on the graph of routes: counted at rules and targets, summed in between.
import { expect, test } from "bun:test";
import type { RequestRecord } from "../api/item-types.ts";
import type { RouteGraph, RouteNode } from "./route-graph.ts";
import {
  describeRate,
  formatErrors,
  formatRate,
  graphRates,
  RateWindow,
  WINDOW_SECONDS,
} from "./route-rates.ts";

const node = (id: string, kind: RouteNode["kind"]): RouteNode => ({
  ...{ id, kind, title: id, detail: "", recordId: id, isOff: false, countId: id },
});
const GRAPH: RouteGraph = {
  kinds: [["rule"], ["service"], ["upstream"], ["target"]],
  columns: [
    [node("r1", "rule"), node("r2", "rule")],
    [node("s", "service")],
    [node("u", "upstream")],
    [node("t", "target")],
  ],
  edges: [
    { from: "r1", to: "s" },
    { from: "r2", to: "s" },
    { from: "s", to: "u" },
    { from: "u", to: "t" },
  ],
  matchCount: 2,
  shownCount: 2,
};

const request = (rule: string, status: number, targets: readonly (number | null)[]) =>
  ({
    rule: { id: rule },
    status,
    outcome: "complete",
    attempts: targets.map((each) => ({
      target_id: "t",
      status: each,
      fault: each === null ? "broken" : null,
    })),
  }) as unknown as RequestRecord;

test("requests are counted at their rule and their targets, and leave the window", () => {
  const counts = new RateWindow();
  for (let times = 0; times < 3; times++) counts.add(request("r1", 200, [null, 200]));
  counts.add(request("r2", 429, []));
  counts.add({ ...request("r1", 500, [500]), mirror_of: "another" });
  const rates = graphRates(GRAPH, counts.tick());
  expect(rates.ofEdge({ from: "r1", to: "s" })).toEqual({ requests: 3, errors: 0 });
  expect(rates.ofNode("s")).toEqual({ requests: 4, errors: 0.25 });
  expect(rates.ofEdge({ from: "s", to: "u" })).toEqual({ requests: 4, errors: 0.25 });
  expect(rates.ofEdge({ from: "u", to: "t" })).toEqual({ requests: 6, errors: 0.5 });
  // An average over the seconds so far, then over the window.
  expect(counts.tick().get("r1")?.requests).toBe(1.5);
  for (let seconds = 2; seconds < WINDOW_SECONDS; seconds++) counts.tick();
  expect(counts.tick().get("r1")).toBeUndefined();
});

test("requests for a virtual model are counted at it and on the edges to it, the last attempt at its fallback", () => {
  const counts = new RateWindow();
  counts.add({
    ...request("r1", 200, [200]),
    virtual_model: { name: "a", fallback: null, reason: null, canary: null },
  });
  const fallback = { name: "a", fallback: "b", reason: "unavailable", canary: null } as const;
  counts.add({ ...request("r1", 200, [500, 200]), virtual_model: fallback });
  const model = (id: string) => ({ ...node(id, "model"), countId: `model ${id}` });
  const rates = graphRates(
    { ...GRAPH, columns: [...GRAPH.columns, [model("a"), model("b")]] },
    counts.tick(),
  );
  expect(rates.ofNode("a")).toEqual({ requests: 2, errors: 0 });
  expect(rates.ofNode("b")).toEqual({ requests: 1, errors: 0 });
  expect(rates.ofEdge({ from: "t", to: "a", countId: "t model a" })).toEqual({ requests: 2, errors: 0.5 });
  expect(rates.ofEdge({ from: "t", to: "b", countId: "t model b" })).toEqual({ requests: 1, errors: 0 });
});

test("rates are short, and complete for screen readers", () => {
  const rate = { requests: 2.44, errors: 0.125 };
  expect([formatRate(rate), formatErrors(rate)]).toEqual(["2.4/s", "13% errors"]);
  expect(describeRate(rate)).toBe("2.4 requests per second, 13% errors");
  expect(describeRate({ requests: 0, errors: 0 })).toBe("no requests");
  expect(formatErrors({ requests: 1, errors: 0.001 })).toBe("<1% errors");
});

test("requests to MCP servers are counted at each server that got one", () => {
  const call = (server_id: string, error: number | null) => ({ server_id, status: 200, fault: null, error });
  const calls = [call("m1", null), call("m2", -32603)];
  const counts = new RateWindow();
  counts.add({ ...request("r1", 200, []), mcp: { calls } } as unknown as RequestRecord);
  counts.add({ ...request("r1", 200, []), mcp: { calls: calls.slice(0, 1) } } as unknown as RequestRecord);
  const graph: RouteGraph = {
    ...GRAPH,
    columns: [
      [node("r1", "rule")],
      [node("s", "service")],
      [node("m1", "mcp-server"), node("m2", "mcp-server")],
      [],
    ],
    edges: [
      { from: "r1", to: "s" },
      { from: "s", to: "m1" },
      { from: "s", to: "m2" },
    ],
  };
  const rates = graphRates(graph, counts.tick());
  expect(rates.ofEdge({ from: "s", to: "m1" })).toEqual({ requests: 2, errors: 0 });
  expect(rates.ofNode("m2")).toEqual({ requests: 1, errors: 1 });
});
