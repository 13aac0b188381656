// gatehouse mcp: servers, their tools, approvals, and calls; and the fake MCP server that they are tried with.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { FakeMcpServer } from "../../src/fake-provider/mcp-server.ts";
import { temporarySqliteUrl, withSql } from "../contract/store-records.ts";
import { create } from "../support/admin-fixtures.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);

const DATABASE_URL = temporarySqliteUrl();
const gatehouse = await useGatehouseProcess({ env: { DATABASE_URL } });
const run = (...args: readonly string[]) => runCommand(args, settingsOf(gatehouse));
let fake: FakeMcpServer;

beforeAll(async () => {
  fake = new FakeMcpServer({ generation: "stateless" });
  const gateway = await create(gatehouse, "/gateways", { name: "tools" });
  const { id } = await create(gatehouse, `/gateways/${gateway.id}/mcp-servers`, {
    name: "docs",
    url: fake.url,
  });
  await withSql(
    DATABASE_URL,
    (
      sql,
    ) => sql`INSERT INTO mcp_tools (server_id, name, gateway_id, hash, definition, approved_hash, approved_definition, first_seen_at)
      VALUES (${id}, ${"search"}, ${gateway.id}, ${"2"}, ${'{"description":"finds\\u0007 pages"}'}, ${"1"}, ${"{}"}, ${"2030-01-01T00:00:00.000Z"})`,
  );
});
afterAll(() => fake.stop());

test("servers and tools are listed, and tools approved", async () => {
  const listed = await run("mcp", "list");
  expect(listed.stdout).toMatch(/docs +docs +warn +yes +http:\/\//);
  expect((await run("mcp", "tools", "docs")).stdout).toMatch(/search +changed +finds/);
  expect((await run("mcp", "approve", "docs", "search")).stdout).toBe("approved search of MCP server docs\n");
  expect((await run("mcp", "approve", "docs")).stdout).toBe("no tool of MCP server docs has changed\n");
  const [tool] = JSON.parse((await run("mcp", "tools", "docs", "--json")).stdout);
  expect(tool).toMatchObject({ name: "search", status: "approved" });
});

test("a tool is called, with a response in JSON or as a stream", async () => {
  const call = (...args: readonly string[]) => run("mcp", "call", ...args, "--endpoint", fake.url);
  expect(await call("add", "--arguments", '{"a":2,"b":3}')).toMatchObject({ code: 0, stdout: "5\n" });
  expect((await call("slow", "--arguments", '{"ms":1}')).stdout).toBe("done after 1 ms\n");
  const json = await call("add", "--arguments", '{"a":2,"b":3}', "--json");
  expect(JSON.parse(json.stdout)).toMatchObject({ structuredContent: { sum: 5 }, resultType: "complete" });
  expect(await call("fail")).toMatchObject({ code: 1, stdout: "The tool has failed.\n" });
});

test.each([
  [["mcp"], 2],
  [["mcp", "destroy"], 2],
  [["mcp", "tools"], 2],
  [["mcp", "list", "extra"], 2],
  [["mcp", "tools", "unknown"], 1],
  [["mcp", "call"], 2],
  [["mcp", "call", "echo"], 2],
  [["mcp", "call", "echo", "--endpoint", "localhost"], 2],
  [["mcp", "call", "echo", "--endpoint", "http://127.0.0.1:1/mcp", "--arguments", "[]"], 2],
  [["mcp", "call", "echo", "--endpoint", "http://127.0.0.1:1/mcp"], 1],
] as const)("%j fails with one line", async (args, code) => {
  expectOneLine(await run(...args), code);
});

test("the fake server has sessions, notifications and misbehavior", async () => {
  const server = new FakeMcpServer({ generation: "session" });
  const send = (message: object, headers: Record<string, string> = {}) =>
    fetch(server.url, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", ...message }), headers });
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  const begun = await send({ id: 1, method: "initialize", params });
  const session = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
  expect(await begun.json()).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  expect((await send({ method: "notifications/initialized" }, session)).status).toBe(202);
  expect((await send({ id: 2, method: "tools/list" })).status).toBe(404);
  const listed = await (await send({ id: 2, method: "tools/list" }, session)).text();
  expect(JSON.parse(listed).result.tools).toHaveLength(5);
  const events = await fetch(server.url, { headers: session });
  const reader = events.body!.getReader();
  await reader.read();
  server.describeTool("echo", "Deletes the text.");
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("tools/list_changed");
  await reader.cancel();
  server.behave({ status: 503 });
  expect((await send({ id: 3, method: "ping" }, session)).status).toBe(503);
  server.behave({});
  expect((await fetch(server.url, { method: "DELETE", headers: session })).status).toBe(200);
  expect((await send({ id: 4, method: "ping" }, session)).status).toBe(404);
  await server.stop();
});
