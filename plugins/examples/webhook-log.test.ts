// Tests of the example, with the plugin test harness and a real HTTP service.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { testPlugin } from "gatehouse/sdk/testing";
import webhookLog from "./webhook-log.ts";

interface Line {
  readonly status: number;
  readonly model: string | null;
  readonly input_tokens: number | null;
}

const batches: Line[][] = [];
let status = 200;
let onBatch = () => {};
const webhook = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    batches.push((await request.json()) as Line[]);
    onBatch();
    return new Response(null, { status });
  },
});
afterAll(() => webhook.stop(true));
beforeEach(() => {
  batches.length = 0;
  status = 200;
});

/** Resolves when this many batches have arrived. */
function received(count: number): Promise<void> {
  return new Promise((resolve) => {
    onBatch = () => {
      if (batches.length >= count) resolve();
    };
    onBatch();
  });
}

const url = webhook.url.href;
const never = { interval_ms: 60_000 };
const statuses = () => batches.map((batch) => batch.map((line) => line.status));

test("sends a batch when it is full, and the rest when the process stops", async () => {
  const plugin = testPlugin(webhookLog, { url, batch_size: 2, ...never });
  for (const status of [201, 202, 203, 204, 205]) await plugin.postResponse({ status, model: "m" });
  await plugin.stop();
  expect(statuses()).toEqual([[201, 202], [203, 204], [205]]);
  expect(batches[0]?.[0]).toMatchObject({ request_id: "test-request", model: "m", input_tokens: null });
});

test("sends a batch that is not full after the interval", async () => {
  const plugin = testPlugin(webhookLog, { url, interval_ms: 10 });
  await plugin.postResponse({ status: 200 });
  await received(1);
  expect(statuses()).toEqual([[200]]);
  await plugin.stop();
});

test("sends a batch that failed again, and drops lines that do not fit into the queue", async () => {
  status = 500;
  const plugin = testPlugin(webhookLog, { url, batch_size: 2, max_queued: 3, interval_ms: 10 });
  for (const status of [201, 202, 203, 204]) await plugin.postResponse({ status });
  expect(plugin.counted).toEqual({ dropped: 1 });
  await received(2);
  status = 200;
  await received(batches.length + 1);
  await plugin.stop();
  expect(statuses().slice(0, 2)).toEqual([
    [201, 202],
    [201, 202],
  ]);
  expect(statuses().at(-1)).toEqual([203]);
});

test("a webhook that is down does not prevent the process from stopping", async () => {
  status = 500;
  const plugin = testPlugin(webhookLog, { url, ...never });
  await plugin.postResponse();
  await plugin.stop();
  expect(batches).toHaveLength(1);
});
