// The OTLP sink with a collector over HTTP: batches, the bound of its queue, and its end.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { startOtlpReceiver, type OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { waitUntil } from "../../../test/support/waiting.ts";
import { NO_LOG } from "../log/log.ts";
import { Metrics } from "../metrics/metrics.ts";
import { MAX_BATCH_ITEMS, MAX_QUEUED_BYTES } from "../otlp/batch-exporter.ts";
import { requestFacts } from "../requests/request-facts.fixture.ts";
import { OtlpSink } from "./otlp-sink.ts";
import { sinkCounts } from "./request-sink.ts";

let receiver: OtlpReceiver;
let metrics: Metrics;
let sink: OtlpSink;
beforeEach(() => {
  receiver = startOtlpReceiver();
  metrics = new Metrics();
  const endpoint = { url: `${receiver.url}/v1/logs`, headers: {} };
  const options = { endpoint, delayMs: 10, resource: { "service.name": "s" }, version: "1" };
  sink = new OtlpSink(options, sinkCounts(metrics), NO_LOG);
});
afterEach(async () => {
  await sink.close();
  await receiver.stop();
});

const records = (result: "written" | "dropped") =>
  metrics.number("gatehouse_request_log_records_total", { result }).value;
const bodies = () => receiver.logs.flatMap((batch) => batch.records.map(({ body }) => body));

test("records are sent in bounded batches, each exactly once", async () => {
  const lines = Array.from({ length: 1200 }, (_, index) => `{"index":${index}}`);
  for (const line of lines) sink.write(line, requestFacts());
  await waitUntil(() => records("written") === lines.length);
  expect(bodies()).toEqual(lines);
  for (const batch of receiver.logs) expect(batch.records.length).toBeLessThanOrEqual(MAX_BATCH_ITEMS);
  expect(receiver.logs.length).toBeLessThan(10);
  expect([receiver.problems, records("dropped")]).toEqual([[], 0]);
});

test("batches and the queue are bounded in bytes, because records may have bodies", async () => {
  receiver.respondWith(() => new Response(null, { status: 503 }));
  const line = JSON.stringify("x".repeat(100_000));
  const offered = 300;
  for (let index = 0; index < offered; index++) sink.write(line, requestFacts());
  expect(records("dropped")).toBeWithin(offered - MAX_QUEUED_BYTES / 100_000 - 2, offered);
  receiver.respondWith(null);
  await waitUntil(() => records("written") + records("dropped") === offered);
  expect(records("written")).toBeGreaterThan(0);
  for (const batch of receiver.logs) expect(batch.records.length).toBeLessThan(13);
});

test("close sends what is queued", async () => {
  sink.write("{}", requestFacts({ status: 429, errorCode: "rate_limit_exceeded" }));
  await sink.close();
  expect(receiver.logs.flatMap((batch) => batch.records)).toMatchObject([
    { body: "{}", severity: "WARN", attributes: { "error.type": "rate_limit_exceeded" }, traceId: null },
  ]);
});
