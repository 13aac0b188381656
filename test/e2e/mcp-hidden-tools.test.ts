// A tool that a client may not use looks to it exactly as one that does not exist: the same bytes, headers, and requests to the server.
import { expect, test } from "bun:test";
import { seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const servers = useMcpServers({ one: { tools: { tool_key: {}, tool_srv: {}, tool_pin: {}, tool_yes: {} } } });

/** The names are equally long. */
const HIDDEN = {
  tool_non: "does not exist",
  tool_key: "is not among the tools of the key",
  tool_srv: "is denied by the server record",
  tool_pin: "is withheld until it is approved",
} as const;

/** Differ in every response. */
const OWN_HEADERS = new Set(["x-request-id", "date"]);

interface Seen {
  readonly responses: readonly object[];
  /** What the server received: how long a response takes depends on it. */
  readonly sent: readonly (string | null)[];
}

/** Calls a tool from a fresh gateway, as both kinds of clients, twice each. */
async function callHidden(name: keyof typeof HIDDEN): Promise<Seen> {
  const tools = { deny: ["tool_srv"] };
  const { url, gateway } = await seedMcp(gatehouse, { work: { url: servers.one.url, pin: "hold", tools } });
  const all = await seedKey(gatehouse, gateway, {});
  const some = await seedKey(gatehouse, gateway, {
    tools: ["work__tool_yes", "work__tool_non", "work__tool_srv", "work__tool_pin"],
  });
  await new StatelessClient(url, { "X-GW-API-Key": all.key }).request("tools/list");
  servers.one.tools["tool_pin"] = { definition: { description: "Changed." } };
  try {
    const headers = { "X-GW-API-Key": some.key };
    const stateless = new StatelessClient(url, headers);
    const session = await SessionClient.start(url, { headers });
    const before = servers.one.received.length;
    const responses: object[] = [];
    for (const client of [stateless, session, stateless, session]) {
      const response = await client.request("tools/call", { name, arguments: { a: 1 } });
      responses.push({
        status: response.status,
        text: response.text.replaceAll(name, "NAME"),
        headers: [...response.headers].filter(([header]) => !OWN_HEADERS.has(header)),
      });
    }
    const sent = servers.one.received.slice(before).map(({ rpcMethod }) => rpcMethod);
    const allowed = await stateless.request("tools/call", { name: "tool_yes", arguments: {} });
    expect(allowed.error).toBeUndefined();
    return { responses, sent };
  } finally {
    servers.one.tools["tool_pin"] = {};
  }
}

const missing = await callHidden("tool_non");

test("a tool that does not exist is an error of the protocol, after the list was fetched", () => {
  expect(missing.responses[0]).toMatchObject({
    status: 200,
    text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: NAME"}}',
  });
  expect(missing.sent).toContain("tools/list");
  expect(missing.sent).not.toContain("tools/call");
});

test.each(Object.entries(HIDDEN))("%s, which %s, is indistinguishable", async (name) => {
  expect(await callHidden(name as keyof typeof HIDDEN)).toEqual(missing);
});
