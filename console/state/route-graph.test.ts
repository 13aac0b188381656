// The graph of routes: what it contains, and where its nodes are.
import { expect, test } from "bun:test";
import type { Rule, Service, Upstream } from "../api/types.ts";
import { layOut, NODE_HEIGHT, routeGraph } from "./route-graph.ts";

const base = { created_at: "", updated_at: "", gateway_id: "g" };
const rule = (id: string, service_id: string, fields: Partial<Rule> = {}) =>
  ({
    ...base,
    id,
    service_id,
    path: `/${id}`,
    name: null,
    methods: ["POST"],
    active: true,
    ...fields,
  }) as Rule;
const service = (id: string, upstream_id: string) =>
  ({ ...base, id, upstream_id, name: id, description: null }) as unknown as Service;
const upstream = (id: string, ...providers: string[]) =>
  ({
    ...base,
    id,
    name: id,
    algorithm: "round-robin",
    targets: providers.map((provider) => ({
      id: `${id}-${provider}`,
      provider,
      default_model: null,
      models: [],
      weight: 1,
      priority: 1,
    })),
  }) as unknown as Upstream;

const records = {
  rules: [rule("r1", "s2"), rule("r2", "s1"), rule("r3", "s2", { active: false })],
  services: [service("s1", "u1"), service("s2", "u2"), service("s3", "u1")],
  upstreams: [upstream("u1", "openai"), upstream("u2", "groq", "mistral"), upstream("u3", "vllm")],
};
const ids = (column: readonly { readonly id: string }[] | undefined) => column?.map(({ id }) => id);

test("the columns follow the upstreams, and records without a rule are at the end", () => {
  const { columns, edges } = routeGraph(records, "", 50);
  expect(ids(columns[0])).toEqual(["r1", "r3", "r2"]);
  expect(ids(columns[1])).toEqual(["s2", "s1", "s3"]);
  expect(ids(columns[2])).toEqual(["u2", "u1", "u3"]);
  expect(ids(columns[3])).toEqual(["u2-groq", "u2-mistral", "u1-openai", "u3-vllm"]);
  expect(edges).toContainEqual({ from: "r1", to: "s2" });
  expect(edges).toContainEqual({ from: "u2", to: "u2-mistral" });
  expect(edges).toHaveLength(3 + 3 + 4);
});

test("a search shows the matching rules and what they use, and a limit says how many there are", () => {
  const found = routeGraph(records, "MISTRAL", 50);
  expect(found.columns.map(ids)).toEqual([["r1", "r3"], ["s2"], ["u2"], ["u2-groq", "u2-mistral"]]);
  const limited = routeGraph(records, "", 1);
  expect(limited).toMatchObject({ matchCount: 3, shownCount: 1 });
  expect(limited.columns.map(ids)).toEqual([["r1"], ["s2"], ["u2"], ["u2-groq", "u2-mistral"]]);
});

test("no two nodes of a column overlap, and the last one is within the height", () => {
  const graph = routeGraph(records, "", 50);
  const { places, height } = layOut(graph);
  for (const column of graph.columns) {
    const tops = column.map(({ id }) => places.get(id)?.top ?? -1);
    for (const [index, top] of tops.entries()) {
      if (index > 0) expect(top - (tops[index - 1] ?? 0)).toBeGreaterThanOrEqual(NODE_HEIGHT);
      expect(top + NODE_HEIGHT).toBeLessThanOrEqual(height);
    }
  }
});
