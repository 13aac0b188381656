// The graph of routes: what it contains, and where its nodes are.
import { expect, test } from "bun:test";
import type { McpServer, Rule, Service, Upstream, VirtualModel } from "../api/types.ts";
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
  models: [],
  servers: [],
  upstreams: [upstream("u1", "openai"), upstream("u2", "groq", "mistral"), upstream("u3", "vllm")],
};
const CANARY = { by: "user", rollback_if: null, rolled_back: null } as const;
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

test("targets lead to the virtual models that they serve, which have a column if there are any", () => {
  const model = (id: string, upstreamId: string, sent: string | null, weight = 1) =>
    ({
      ...{ ...base, id, name: id, aliases: [`${id}-latest`], strategy: "weighted", fallback: [] },
      targets: [{ upstream: upstreamId, model: sent, weight }],
      canary: null,
      mirror: null,
    }) as unknown as VirtualModel;
  const limited = upstream("u2", "groq", "mistral");
  const [groq, mistral] = limited.targets;
  const targets = [
    { ...groq, models: ["llama"] },
    { ...mistral, models: [], default_model: null },
  ] as unknown as Upstream["targets"];
  const models = [
    model("m1", "u2", "llama"),
    model("m2", "u2", "large", 0),
    {
      ...model("m3", "u1", null),
      canary: { ...CANARY, target: { upstream: "u2", model: "llama" }, share: 0.1 },
      mirror: { target: { upstream: "u2", model: "mixtral" }, share: 0.5 },
    },
    model("m4", "gone", null),
  ];
  const upstreams = [upstream("u1", "openai"), { ...limited, targets }];
  const graph = routeGraph({ ...records, upstreams, models }, "", 50);
  expect(graph.kinds.at(-1)).toEqual(["model"]);
  expect(ids(graph.columns.at(-1))).toEqual(["m1", "m3", "m2", "m4"]);
  const edges = graph.edges.filter(({ to }) => to.startsWith("m"));
  expect(edges.map(({ from, to, isOff }) => [from, to, isOff])).toEqual([
    ["u2-groq", "m1", false],
    ["u2-groq", "m3", false],
    ["u2-mistral", "m1", false],
    ["u2-mistral", "m2", true],
    ["u2-mistral", "m3", false],
    ["u1-openai", "m3", false],
  ]);
  const found = routeGraph({ ...records, upstreams, models: models.slice(0, 3) }, "m3-latest", 50);
  expect(found.columns.map(ids).slice(0, 2)).toEqual([
    ["r1", "r3", "r2"],
    ["s2", "s1"],
  ]);
  expect(ids(routeGraph({ ...records, upstreams, models }, "openai", 50).columns.at(-1))).toEqual(["m3"]);
  expect(routeGraph(records, "", 50).kinds).toEqual([["rule"], ["service"], ["upstream"], ["target"]]);
});

test("a service of type mcp leads to its servers, which are below the upstreams, and a search finds their names", () => {
  const server = (id: string, enabled = true) =>
    ({ ...base, id, name: id, url: "https://tools.example.com/mcp", enabled }) as unknown as McpServer;
  const tools = (id: string, ...mcp_server_ids: string[]) =>
    ({ ...service(id, ""), upstream_id: null, type: "mcp", mcp_server_ids }) as Service;
  const mixed = {
    ...records,
    rules: [...records.rules, rule("r4", "s4")],
    services: [tools("s4", "tickets", "wiki"), ...records.services, tools("s5")],
    servers: [server("unused"), server("wiki", false), server("tickets")],
  };
  const graph = routeGraph(mixed, "", 50);
  expect(graph.kinds[2]).toEqual(["upstream", "mcp-server"]);
  expect(ids(graph.columns[0])).toEqual(["r1", "r3", "r2", "r4"]);
  expect(ids(graph.columns[1])).toEqual(["s2", "s1", "s3", "s4", "s5"]);
  expect(ids(graph.columns[2])).toEqual(["u2", "u1", "u3", "tickets", "wiki", "unused"]);
  expect(graph.edges.filter(({ from }) => from === "s4").map(({ to }) => to)).toEqual(["tickets", "wiki"]);
  expect(graph.columns[2]?.slice(3, 5)).toMatchObject([
    { kind: "mcp-server", detail: "tools.example.com", isOff: false },
    { detail: "disabled", isOff: true },
  ]);
  expect(routeGraph(mixed, "WIKI", 50).columns.map(ids)).toEqual([["r4"], ["s4"], ["tickets", "wiki"], []]);
});
