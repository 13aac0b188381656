// Large prompts whose answers take their time: once an answer has begun, nobody needs the prompt any more, and it goes.
import { expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { residentBytes } from "../support/balancing-fixtures.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { MB } from "./process-watch.ts";

const STREAMS = 100;
/** Its bytes, its text and what was parsed of it: three times that for each stream, where it is kept. */
const PROMPT_BYTES = MB;
const SILENT = { chunks: 1000, chunkDelayMs: 60_000 };

test("streams under way do not keep their prompts in memory", async () => {
  const provider = await startFakeProvider({ record: false });
  const gatehouse = await startGatehouseProcess();
  try {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const messages = [{ role: "user", content: "x".repeat(PROMPT_BYTES) }];
    const body = JSON.stringify({ ...CHAT, stream: true, messages });
    const ask = async () => {
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "x-fake": JSON.stringify(SILENT) },
        body,
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      expect((await reader.read()).done).toBe(false);
      return reader;
    };
    await ask();
    const before = residentBytes(gatehouse);
    for (let stream = 1; stream < STREAMS; stream++) await ask();
    // What the last ones used may not be collected yet.
    expect(residentBytes(gatehouse) - before).toBeLessThan(STREAMS * PROMPT_BYTES);
  } finally {
    await gatehouse.stop();
    await provider.stop();
  }
}, 60_000);
