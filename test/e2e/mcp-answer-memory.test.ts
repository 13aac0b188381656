// Answers of MCP servers that are never finished: together with the bodies of clients they take at most MAX_BUFFERED_BYTES.
import { afterAll, expect, test } from "bun:test";
import { bufferedBodyBytes } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, useMcpServers } from "../support/mcp-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const BUDGET = 8_000_000;
const SENT = 2_500_000;
/** A quarter of the budget is reserved for small bodies. */
const FITTING = 2;
const CALLS = 6;

const gatehouse = await startGatehouseInProcess({ env: { MAX_BUFFERED_BYTES: String(BUDGET) } });
afterAll(() => gatehouse.stop());
const servers = useMcpServers({
  alpha: { generation: "stateless", tools: { run: {} } },
  beta: { generation: "stateless", tools: { run: {} } },
  gamma: { generation: "stateless", tools: { run: {} } },
});

/** Sends the beginning of a response, and nothing more. */
function unfinished(beginning: string, type: string, status: number): Response {
  const bytes = new TextEncoder().encode(beginning + "x".repeat(SENT - beginning.length));
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(bytes) });
  return new Response(body, { status, headers: { "Content-Type": type } });
}

test.each([
  ["alpha", "an event", "data: ", "text/event-stream", 200],
  ["beta", "a JSON body", '{"', "application/json", 200],
  ["gamma", "an error", "", "text/plain", 500],
] as const)(
  "of %s, unfinished answers with %s fail where there is no room",
  async (name, _, beginning, type, status) => {
    const server = servers[name];
    const calls = () => server.received.filter(({ rpcMethod }) => rpcMethod === "tools/call");
    server.respond = ({ rpcMethod }) =>
      rpcMethod === "tools/call" ? unfinished(beginning, type, status) : null;
    const { url } = await seedMcp(gatehouse, { [name]: server.url });
    const aborted = new AbortController();
    const failed: { readonly status: number; readonly text: string }[] = [];
    const version = "2026-07-28";
    const meta = {
      protocolVersion: version,
      clientCapabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    const _meta = Object.fromEntries(
      Object.entries(meta).map(([key, value]) => [`io.modelcontextprotocol/${key}`, value]),
    );
    const call = async (id: number) => {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          "MCP-Protocol-Version": version,
          "Mcp-Method": "tools/call",
          "Mcp-Name": "run",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "run", _meta } }),
        signal: aborted.signal,
      });
      failed.push({ status: response.status, text: await response.text() });
    };
    const sent = Array.from({ length: CALLS }, (_unused, id) => call(id).catch(() => undefined));
    await waitUntil(() => failed.length === CALLS - FITTING);
    for (const each of failed) {
      if (status === 200) expect(each.text).toContain("MAX_BUFFERED_BYTES");
      expect(each.text).toContain('"error"');
    }
    // The connections of the others are closed.
    await waitUntil(() => calls().filter(({ signal }) => signal.aborted).length === CALLS - FITTING);
    await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) >= FITTING * SENT);
    expect(await bufferedBodyBytes(gatehouse)).toBeLessThan(BUDGET);
    aborted.abort();
    await Promise.all(sent);
    await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) === 0);
  },
);
