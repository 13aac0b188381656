// Large prompts with long responses: the prompt is released when the response starts.
import { expect, test } from "bun:test";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { residentBytes } from "../support/balancing-fixtures.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { MB } from "./process-watch.ts";

const STREAMS = 100;
/** If it were kept, each stream would need three times as much: bytes, text, and parsed value. */
const PROMPT_BYTES = MB;
const SILENT = { chunks: 1000, chunkDelayMs: 60_000 };

test("streams do not keep their prompts in memory", async () => {
  const provider = await startFakeProvider({ record: false });
  const gatehouse = await startGatehouseProcess();
  try {
    const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const messages = [{ role: "user", content: "x".repeat(PROMPT_BYTES) }];
    const body = JSON.stringify({ ...CHAT, stream: true, messages });
    const startStream = async () => {
      const response = await fetch(gatehouse.proxyUrl + route.path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "x-fake": JSON.stringify(SILENT) },
        body,
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      expect((await reader.read()).done).toBe(false);
      return reader;
    };
    await startStream();
    const before = residentBytes(gatehouse);
    for (let stream = 1; stream < STREAMS; stream++) await startStream();
    // The prompts of the last streams may not be collected yet.
    expect(residentBytes(gatehouse) - before).toBeLessThan(STREAMS * PROMPT_BYTES);
  } finally {
    await gatehouse.stop();
    await provider.stop();
  }
}, 60_000);
