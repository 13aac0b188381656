// The official TypeScript SDK of MCP, 2.x: lists and calls the tools of all servers in the protocol version MCP_VERSION.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { useServers } from "./mcp-use-servers.mjs";

const { GATEHOUSE_URL, GATEHOUSE_KEY, MCP_VERSION } = process.env;
const isStateless = MCP_VERSION >= "2026";
const transport = new StreamableHTTPClientTransport(new URL(GATEHOUSE_URL), {
  requestInit: { headers: { Authorization: `Bearer ${GATEHOUSE_KEY}` } },
});
const client = new Client(
  { name: "test", version: "1" },
  {
    supportedProtocolVersions: [MCP_VERSION],
    versionNegotiation: { mode: isStateless ? { pin: MCP_VERSION } : "legacy" },
  },
);
await client.connect(transport);
const used = await useServers(client, (params, options) => client.callTool(params, options));
console.log(JSON.stringify({ ...used, version: client.getNegotiatedProtocolVersion() }));
if (!isStateless) await transport.terminateSession();
await client.close();
