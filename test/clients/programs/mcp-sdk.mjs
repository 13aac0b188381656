// The official TypeScript SDK of MCP, 1.x: lists and calls the tools of all servers in a session.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { useServers } from "./mcp-use-servers.mjs";

const { GATEHOUSE_URL, GATEHOUSE_KEY } = process.env;
const transport = new StreamableHTTPClientTransport(new URL(GATEHOUSE_URL), {
  requestInit: { headers: { Authorization: `Bearer ${GATEHOUSE_KEY}` } },
});
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const used = await useServers(client, (params, options) => client.callTool(params, undefined, options));
console.log(JSON.stringify({ ...used, version: transport.protocolVersion }));
await transport.terminateSession();
await client.close();
