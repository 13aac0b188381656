// The export requests of a page: every point exactly once, in requests of bounded size.
import { expect, test } from "bun:test";
import { METRICS_EXPORT, readMetricsBatch } from "../../../test/support/otlp-metrics-reader.ts";
import { readMessage } from "../../../test/support/protobuf-reader.ts";
import { Metrics } from "./metrics.ts";
import { encodeMetrics } from "./otlp-metrics.ts";

const SENDER = { version: "1", resource: { "service.name": "s" }, startedAt: 1_700_000_000_000 };
const NOW = 1_700_000_060_000.5;

function exported(metrics: Metrics, maxBytes?: number) {
  const requests = [...encodeMetrics(metrics.render(), SENDER, NOW, maxBytes)];
  const batches = requests.map((bytes) =>
    readMetricsBatch(readMessage(bytes, METRICS_EXPORT), new Headers()),
  );
  return { requests, batches };
}

test("a large page is sent in several requests, each with the resource, and each point once", () => {
  const metrics = new Metrics();
  for (let series = 0; series < 200; series++) {
    const labels = { gateway: "g", upstream: `u${series}` };
    metrics.number("gatehouse_retries_total", labels).add(series);
    metrics
      .histogram("gatehouse_plugin_duration_seconds", { gateway: "g", plugin: `p${series}`, stage: "s" })
      .observe(series);
  }
  const { requests, batches } = exported(metrics, 4096);
  expect(requests.length).toBeGreaterThan(5);
  for (const bytes of requests) expect(bytes.byteLength).toBeLessThan(4096 + 1024);
  for (const { resource } of batches) expect(resource).toEqual({ "service.name": "s" });
  const points = (name: string) =>
    batches.flatMap((batch) =>
      batch.metrics.filter((metric) => metric.name === name).flatMap((each) => each.points),
    );
  expect(points("gatehouse_retries_total").map(({ value }) => value)).toEqual(
    Array.from({ length: 200 }, (_, series) => series),
  );
  const durations = points("gatehouse_plugin_duration_seconds");
  expect(durations.map(({ attributes }) => attributes["plugin"])).toEqual(
    Array.from({ length: 200 }, (_, series) => `p${series}`),
  );
  expect(durations[200 - 1]).toMatchObject({ count: 1, value: 199 });
});

test("times, large values, fractions and labels without a value", () => {
  const metrics = new Metrics();
  metrics.number("gatehouse_retries_total", { gateway: "", upstream: "ü" }).add(2 ** 40 + 0.5);
  const lag = metrics.histogram("gatehouse_event_loop_lag_seconds", {});
  for (const seconds of [0, 0.001, 0.02, 7]) lag.observe(seconds);
  const [batch] = exported(metrics).batches;
  const retries = batch?.metrics.find(({ name }) => name === "gatehouse_retries_total");
  expect(retries).toMatchObject({ type: "sum", unit: "" });
  expect(retries?.points).toEqual([
    {
      attributes: { upstream: "ü" },
      start: 1_700_000_000_000_000_000n,
      time: 1_700_000_060_000_500_000n,
      value: 2 ** 40 + 0.5,
      buckets: null,
      bounds: null,
      count: null,
    },
  ]);
  expect(batch?.metrics.find(({ name }) => name === "gatehouse_event_loop_lag_seconds")).toMatchObject({
    points: [{ buckets: [2, 0, 0, 1, 0, 0, 0, 0, 1], value: 7.021, count: 4 }],
  });
});
