// Why a key may not call a tool: each condition alone.
import { expect, test } from "bun:test";
import type { McpServer, Rule, Service } from "../api/types.ts";
import { reasonAgainstTool, rulesTo, type KnownTool } from "./tool-access.ts";

const server = (fields: Partial<McpServer> = {}) =>
  ({ id: "m", name: "wiki", enabled: true, tools: { allow: null, deny: [] }, ...fields }) as McpServer;
const tool = (fields: Partial<McpServer> = {}, status: KnownTool["status"] = "approved"): KnownTool => ({
  server: server(fields),
  name: "search_pages",
  qualifiedName: "wiki__search_pages",
  status,
});
const routes = {
  services: [
    { id: "s1", mcp_server_ids: ["m"] },
    { id: "s2", mcp_server_ids: [] },
  ] as unknown as Service[],
  rules: [
    { id: "r1", active: true, service_id: "s1" },
    { id: "r2", active: true, service_id: "s2" },
    { id: "r3", active: false, service_id: "s1" },
  ] as Rule[],
};
const ALL = { tools: null, policies: [] };

test.each([
  [ALL, tool(), null],
  [ALL, tool({}, "changed"), null],
  [{ tools: ["wiki__*"], policies: ["r2", "r1"] }, tool(), null],
  [ALL, tool({ tools: { allow: ["search_*"], deny: ["delete_*"] } }), null],
  [ALL, tool({ enabled: false }), "The server is disabled"],
  [ALL, tool({ tools: { allow: ["get_*"], deny: [] } }), "The server's tool list"],
  [ALL, tool({ tools: { allow: ["search_*"], deny: ["*_pages"] } }), "The server's tool list"],
  [ALL, tool({}, "withheld"), "Withheld until approved"],
  [ALL, tool({ id: "other" }), "No active rule leads to the server"],
  [{ tools: null, policies: ["r2"] }, tool(), "The key's rules"],
  [{ tools: null, policies: ["r3"] }, tool(), "The key's rules"],
  [{ tools: ["search_pages"], policies: [] }, tool(), "The key's tool list"],
  [{ tools: [], policies: [] }, tool(), "The key's tool list"],
] as const)("%j, %j: %j", (key, known, expected) => {
  expect(
    reasonAgainstTool(
      { tools: key.tools === null ? null : [...key.tools], policies: [...key.policies] },
      known,
      routes,
    ),
  ).toBe(expected);
});

test("only active rules lead to a server", () => {
  expect(rulesTo("m", routes).map(({ id }) => id)).toEqual(["r1"]);
});
