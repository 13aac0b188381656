// Events of MCP servers that are no messages, such as those that keep a connection open: clients ignore them, and so does the gateway.
import { expect, test } from "bun:test";
import { seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const { one } = useMcpServers({ one: { generation: "session", tools: { echo: {} } } });

test.each([
  ["an object", "event: ping\ndata: {}\n\n"],
  ["a time", "event: ping\ndata: 2026-11-19T10:00:00Z\n\n"],
  ["a message", `event: other\ndata: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n`],
  ["spaces", "data:  \n\n"],
])("an event with %s does not end a call", async (_, ping) => {
  one.respond = ({ rpcMethod, id }) => {
    if (rpcMethod !== "tools/call") return null;
    const result = { content: [{ type: "text", text: "done" }] };
    const message = `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`;
    return new Response(ping + message, { headers: { "Content-Type": "text/event-stream" } });
  };
  const { url } = await seedMcp(gatehouse, { work: one.url });
  const client = await SessionClient.start(url);
  const called = await client.request("tools/call", { name: "echo", arguments: {} });
  expect(called.result).toMatchObject({ content: [{ text: "done" }] });
  expect(called.messages).toHaveLength(1);
});
