// pii_mask and the identifiers of requests of MCP clients: names, versions and tokens of the protocol are not masked, and stay searched.
import { describe, expect, test } from "bun:test";
import { postMcp, seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const { one, two } = useMcpServers({
  one: { generation: "session", tools: { echo: {} } },
  two: { tools: { echo: {} } },
});
const SECRET = ["sk", "ant", "api03-0123456789abcdefghijklmnopqrstuvwxyz0123456789"].join("-");
/** A masked address. */
const IP = expect.stringMatching(/^<IP_\d{20}>$/);

async function seed(action: string, server = one): Promise<string> {
  const plugin = { name: "pii_mask", stage: "pre_request", settings: { action } };
  return (await seedMcp(gatehouse, { work: server.url }, { gateway: { required_plugins: [plugin] } })).url;
}

function initialize(url: string, clientInfo: object) {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  return postMcp(url, { jsonrpc: "2.0", id: 1, method: "initialize", params });
}

const last = (server: typeof one, method: string) =>
  server.received.filter((each) => each.rpcMethod === method).at(-1)?.params;

describe.each(["mask", "block"])("with the action %s,", (action) => {
  test("a version with four parts is no address", async () => {
    const clientInfo = { name: "Agent", version: "1.0.0.0" };
    expect((await initialize(await seed(action), clientInfo)).status).toBe(200);
    expect(last(one, "initialize")).toMatchObject({ clientInfo });
  });

  test("nor is one of a stateless client", async () => {
    const clientInfo = { name: "Agent", version: "10.2.0.17" };
    const meta = { "io.modelcontextprotocol/clientInfo": clientInfo };
    const client = new StatelessClient(await seed(action, two));
    const called = await client.request("tools/call", { name: "echo", arguments: {} }, { meta });
    expect(called.status).toBe(200);
    expect(last(two, "tools/call")).toMatchObject({ _meta: meta });
  });

  test.each([SECRET, "jane@example.org"])("a value in it is found: %s", async (version) => {
    const url = await seed(action);
    const before = one.received.length;
    await initialize(url, { name: "Agent", version });
    expect(JSON.stringify(one.received.slice(before).map(({ body }) => body))).not.toContain(version);
  });

  test("an address in an id of the same value is found", async () => {
    const client = new StatelessClient(await seed(action, two));
    const meta = {
      "io.modelcontextprotocol/clientInfo": { name: "Agent", version: "10.2.0.17" },
      progressToken: "10.2.0.17",
    };
    const called = await client.request("tools/call", { name: "echo", arguments: {} }, { meta });
    expect(called.status).toBe(400);
  });
});

test("a token of progress is not masked", async () => {
  const client = await SessionClient.start(await seed("mask"));
  const _meta = { progressToken: "t-4155552671-10.0.0.1" };
  const called = await client.request("tools/call", { name: "echo", arguments: { to: "10.0.0.1" }, _meta });
  expect(called.status).toBe(200);
  expect(last(one, "tools/call")).toMatchObject({ _meta, arguments: { to: IP } });
});

test("in arguments, the same names mean nothing", async () => {
  const client = await SessionClient.start(await seed("mask"));
  const given = { clientInfo: { version: "10.0.0.1" }, progressToken: "10.0.0.1" };
  await client.request("tools/call", { name: "echo", arguments: given });
  expect(last(one, "tools/call")).toMatchObject({
    arguments: { clientInfo: { version: IP }, progressToken: IP },
  });
});
