// How soon an MCP server learns that a client has canceled a call: by a notification, or by closing its connection.
import { expect, test } from "bun:test";
import { isLong } from "../support/long-form.ts";
import { seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** Contract part 2: a cancellation reaches the server within this time. The long form checks it, where nothing else runs. */
const LIMIT_MS = 250;
const CALLS = 20;

const gatehouse = await useGatehouseProcess();
let abortedAt = 0;
let started = 0;

const hang = {
  run: async ({ signal }: { signal: AbortSignal }) => {
    started++;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    abortedAt = performance.now();
    return { content: [] };
  },
};
const servers = useMcpServers({
  session: { generation: "session", tools: { hang } },
  stateless: { generation: "stateless", tools: { hang } },
});

test.each([
  ["session", "notification"],
  ["session", "disconnect"],
  ["stateless", "notification"],
  ["stateless", "disconnect"],
] as const)("a %s server learns of a %s in time", async (generation, how) => {
  const { url } = await seedMcp(gatehouse, { [generation]: servers[generation].url });
  const client = await SessionClient.start(url);
  const delays: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const before = started;
    abortedAt = 0;
    const abort = new AbortController();
    const headers = {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...client.allHeaders,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: call, method: "tools/call", params: { name: "hang" } });
    const response = fetch(url, { method: "POST", headers, body, signal: abort.signal }).then(
      (each) => each.text(),
      () => "",
    );
    await waitUntil(() => started > before);
    const canceledAt = performance.now();
    if (how === "disconnect") abort.abort();
    else
      await client.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: call } });
    await waitUntil(() => abortedAt > 0);
    delays.push(abortedAt - canceledAt);
    await response;
  }
  delays.sort((one, other) => one - other);
  const [median = 0, slowest = 0] = [delays[CALLS / 2], delays.at(-1)];
  const measured = `median ${median.toFixed(1)} ms, slowest ${slowest.toFixed(1)} ms`;
  process.stdout.write(`${generation} ${how}: ${measured}\n`);
  // The slowest one may have waited for another process of the machine.
  if (isLong) expect(delays[Math.floor(CALLS * 0.9) - 1]).toBeLessThan(LIMIT_MS);
});
