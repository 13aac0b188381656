// The exporter with a collector over HTTP: batches, bounds, and spans that the collector does not accept.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { startOtlpReceiver, type OtlpReceiver } from "../../../test/support/otlp-receiver.ts";
import { waitUntil } from "../../../test/support/waiting.ts";
import { createLog } from "../log/log.ts";
import { Metrics } from "../metrics/metrics.ts";
import { MAX_BATCH_ITEMS, MAX_QUEUED_ITEMS } from "../otlp/batch-exporter.ts";
import { requestFacts, servedBy } from "../requests/request-facts.fixture.ts";
import { RequestTrace } from "./request-trace.ts";
import { newSpanId, newTraceId } from "./trace-context.ts";
import { TraceExporter } from "./trace-exporter.ts";

const log = createLog({ level: "silent", format: "json" }, { write: () => undefined });
let receiver: OtlpReceiver;
let metrics: Metrics;
let exporter: TraceExporter;
beforeEach(() => {
  receiver = startOtlpReceiver();
  metrics = new Metrics();
  const endpoint = { url: `${receiver.url}/v1/traces`, headers: {} };
  const options = { endpoint, resource: { "service.name": "s" }, version: "1", delayMs: 10 };
  exporter = new TraceExporter(options, metrics, log);
});
afterEach(async () => {
  await exporter.close();
  await receiver.stop();
});

/** A traced request with this number of attempts. */
function traced(attempts: number) {
  return requestFacts({
    trace: new RequestTrace(newTraceId(), null, null),
    attempts: Array.from({ length: attempts }, () => servedBy(0, { status: 200, spanId: newSpanId() })),
  });
}

const spans = (result: "exported" | "dropped") =>
  metrics.number("gatehouse_trace_spans_total", { result }).value;

test("spans are sent in bounded batches, each exactly once", async () => {
  for (let index = 0; index < 700; index++) exporter.add(traced(index % 4));
  const total = 700 + (700 / 4) * 6;
  await waitUntil(() => spans("exported") === total);
  expect(receiver.spans()).toHaveLength(total);
  expect(new Set(receiver.spans().map((span) => span.spanId)).size).toBe(total);
  for (const batch of receiver.batches) expect(batch.spans.length).toBeLessThanOrEqual(MAX_BATCH_ITEMS);
  expect(receiver.batches.length).toBeLessThan(10);
  expect(receiver.problems).toEqual([]);
  expect(spans("dropped")).toBe(0);
});

test("while the collector is unavailable the queue is bounded; further spans are dropped and counted", async () => {
  receiver.respondWith(() => new Response(null, { status: 429 }));
  const offered = MAX_QUEUED_ITEMS + 1000;
  for (let index = 0; index < offered; index++) exporter.add(traced(0));
  expect(spans("dropped")).toBe(1000);
  receiver.respondWith(null);
  await waitUntil(() => spans("exported") + spans("dropped") === offered);
  expect(receiver.spans().length).toBe(spans("exported"));
  expect(spans("exported")).toBeGreaterThan(0);
});

test("a batch that is always rejected is dropped and does not block later batches", async () => {
  receiver.respondWith(() => new Response(null, { status: 503 }));
  exporter.add(traced(0));
  await waitUntil(() => spans("dropped") === 1);
  receiver.respondWith(null);
  exporter.add(traced(1));
  await waitUntil(() => spans("exported") === 2);
});

test("a batch is not sent again before the time that the collector asked for", async () => {
  let requests = 0;
  receiver.respondWith(() => {
    requests++;
    return new Response(null, { status: 503, headers: { "Retry-After": "60" } });
  });
  const other = startOtlpReceiver();
  other.respondWith(() => new Response(null, { status: 503 }));
  const otherMetrics = new Metrics();
  const endpoint = { url: `${other.url}/v1/traces`, headers: {} };
  const options = { endpoint, resource: { "service.name": "s" }, version: "1", delayMs: 10 };
  const otherExporter = new TraceExporter(options, otherMetrics, log);
  exporter.add(traced(0));
  await waitUntil(() => requests === 1);
  // Without the header, all tries of a batch have failed by now.
  otherExporter.add(traced(0));
  const dropped = otherMetrics.number("gatehouse_trace_spans_total", { result: "dropped" });
  await waitUntil(() => dropped.value === 1);
  expect(requests).toBe(1);
  expect(spans("dropped")).toBe(0);
  await otherExporter.close();
  await other.stop();
});

test("the time to the first chunk of an attempt counts from its start, that to the first token from the request's", async () => {
  const [failed, served] = [servedBy(0, { spanId: newSpanId() }), servedBy(1, { spanId: newSpanId() })];
  exporter.add(
    requestFacts({
      trace: new RequestTrace(newTraceId(), null, null),
      attempts: [failed, served],
      finalAttempt: served,
      firstTokenAt: 1125,
    }),
  );
  await waitUntil(() => spans("exported") === 3);
  const times = receiver
    .spans()
    .map(({ attributes }) =>
      [
        "gatehouse.time_to_first_token",
        "gatehouse.time_per_output_token",
        "gen_ai.response.time_to_first_chunk",
      ].map((name) => attributes[name]),
    );
  expect(times).toEqual([
    [0.125, undefined, undefined],
    [undefined, undefined, undefined],
    [undefined, undefined, 0.115],
  ]);
});
