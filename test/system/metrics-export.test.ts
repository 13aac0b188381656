// OTEL_METRICS_EXPORTER=otlp: an OTLP collector receives the metrics of /metrics, of all worker processes at once.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startGatehouseProcess, untilPrinted } from "../support/gatehouse-process.ts";
import type { ReceivedMetrics, ReceivedPoint } from "../support/otlp-metrics-reader.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor, waitUntil } from "../support/waiting.ts";

const receiver = startOtlpReceiver({ metrics: "/own/metrics" });
const env = {
  OTEL_METRICS_EXPORTER: "otlp",
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/own/metrics`,
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: "api-key=measured",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  OTEL_METRIC_EXPORT_INTERVAL: "100",
};
const startedBefore = BigInt(Date.now()) * 1_000_000n;
const [gatehouse, provider] = await Promise.all([useGatehouseProcess({ env }), useFakeProvider()]);
afterAll(() => receiver.stop());
beforeEach(() => receiver.respondWith(null));

function pointsOf(batch: ReceivedMetrics | undefined, name: string): readonly ReceivedPoint[] {
  return batch?.metrics.find((metric) => metric.name === name)?.points ?? [];
}

function total(batch: ReceivedMetrics | undefined, name: string, labels: Record<string, string>): number {
  return pointsOf(batch, name)
    .filter(({ attributes }) => Object.entries(labels).every(([label, value]) => attributes[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

/** Waits for an export that has counted this many requests to the gateway. */
function exportWith(requests: number, gateway: string): Promise<ReceivedMetrics> {
  return waitFor(() => {
    const last = receiver.metrics.at(-1);
    return total(last, "gatehouse_requests_total", { gateway }) === requests ? (last ?? null) : null;
  });
}

describe("an export", () => {
  test("has the values of /metrics, with labels, bounds, start time, resource and headers", async () => {
    const name = 'quoted "gateway" \\ {x="1"}';
    const route = await seedRoute(gatehouse, {
      gateway: { name },
      upstream: { targets: [targetAt(provider)] },
    });
    provider.behave({ usage: { input: 7, output: 9 } });
    for (let sent = 0; sent < 3; sent++) await (await postChat(gatehouse, route)).text();
    const { metrics, resource, headers } = await exportWith(3, name);
    const batch = { metrics, resource, headers };
    expect(receiver.problems).toEqual([]);
    expect(headers.get("api-key")).toBe("measured");
    expect(resource).toMatchObject({
      "service.name": "gatehouse",
      "service.instance.id": expect.any(String),
      "deployment.environment.name": "test",
    });
    const [requests] = pointsOf(batch, "gatehouse_requests_total").filter(
      ({ attributes }) => attributes["gateway"] === name,
    );
    expect(requests?.attributes).toMatchObject({ gateway: name, status: "200", model: "gpt-fake" });
    expect(total(batch, "gatehouse_tokens_total", { gateway: name, direction: "output" })).toBe(27);

    const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
    const duration = metrics.find((metric) => metric.name === "gatehouse_request_duration_seconds");
    expect(duration).toMatchObject({ type: "histogram", unit: "s" });
    const histogram = duration?.points.find(({ attributes }) => attributes["gateway"] === name);
    expect(histogram?.count).toBe(3);
    expect(histogram?.bounds?.at(-1)).toBe(300);
    expect(histogram?.value).toBeCloseTo(
      page.sum("gatehouse_request_duration_seconds_sum", { gateway: name }),
    );
    expect(metrics.find((metric) => metric.name === "gatehouse_store_up")).toMatchObject({
      type: "gauge",
      points: [{ value: 1 }],
    });
    expect(metrics.find((metric) => metric.name === "process_resident_memory_bytes")?.unit).toBe("By");
    for (const { points } of metrics)
      for (const { start } of points) expect(start >= startedBefore).toBe(true);
  });

  test("that fails is logged once per outage; the next one has all values", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "outage" },
      upstream: { targets: [targetAt(provider)] },
    });
    let rejected = 0;
    receiver.respondWith(() => {
      rejected++;
      return new Response(null, { status: 503 });
    });
    await (await postChat(gatehouse, route)).text();
    await waitUntil(() => rejected >= 3);
    receiver.respondWith(null);
    await exportWith(1, "outage");
    await untilPrinted(gatehouse, "metrics export recovered");
    expect(gatehouse.output().split("metrics export failed")).toHaveLength(2);
    // partial_success { rejected_data_points: 3 }
    receiver.respondWith(() => new Response(new Uint8Array([0x0a, 2, 0x08, 3])));
    await untilPrinted(gatehouse, "the collector rejected 3 data points");
  });
});

/** A new connection may reach another worker. */
async function callNowhere(url: string): Promise<void> {
  await (await fetch(`${url}/nowhere`, { headers: { Connection: "close" } })).text();
}

function firstChildOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")[0]);
}

test("several workers export once, with merged values and one identity, also after a worker was replaced", async () => {
  const own = startOtlpReceiver();
  const several = await startGatehouseProcess({
    env: {
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
      OTEL_METRIC_EXPORT_INTERVAL: "200",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      WORKERS: "2",
    },
  });
  const counted = () => total(own.metrics.at(-1), "gatehouse_request_outcomes_total", { outcome: "refused" });
  try {
    await untilPrinted(several, '"worker":2');
    for (let sent = 0; sent < 20; sent++) await callNowhere(several.proxyUrl);
    await waitUntil(() => counted() === 20);
    const exports = own.metrics.length;
    // The first worker exports.
    process.kill(firstChildOf(several.pid), "SIGKILL");
    await untilPrinted(several, "starting a replacement");
    await waitUntil(() => own.metrics.length > exports + 1 && counted() === 20);
    await callNowhere(several.proxyUrl);
    await waitUntil(() => counted() === 21);
    const identities = [
      ...own.metrics.map(({ resource }) => resource["service.instance.id"]),
      ...own.batches.map(({ resource }) => resource["service.instance.id"]),
    ];
    expect(new Set(identities).size).toBe(1);
    const starts = own.metrics.flatMap(({ metrics }) => metrics.flatMap(({ points }) => points));
    expect(new Set(starts.map(({ start }) => start)).size).toBe(1);
    expect(own.problems).toEqual([]);
  } finally {
    await Promise.all([several.stop(), own.stop()]);
  }
}, 60_000);

test("a failure of either signal is logged without the query and the user of its URL", async () => {
  const endpoint = "http://collector-user:collector-pass@127.0.0.1:9/in?token=hidden";
  const failing = await startGatehouseProcess({
    env: {
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint,
      OTEL_METRIC_EXPORT_INTERVAL: "100",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  try {
    await callNowhere(failing.proxyUrl);
    await untilPrinted(failing, "metrics export failed");
    await untilPrinted(failing, "trace export failed");
    expect(failing.output()).toContain('"url":"http://127.0.0.1:9/in"');
    for (const secret of ["hidden", "collector-user", "collector-pass"])
      expect(failing.output()).not.toContain(secret);
  } finally {
    await failing.stop();
  }
}, 60_000);

test("the last values are sent at shutdown", async () => {
  const own = startOtlpReceiver();
  const ending = await startGatehouseProcess({
    env: { OTEL_METRICS_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_ENDPOINT: own.url },
  });
  try {
    await (await fetch(`${ending.proxyUrl}/last`)).text();
    ending.signal("SIGTERM");
    expect(await ending.exited).toBe(0);
    expect(own.metrics).toHaveLength(1);
    expect(total(own.metrics[0], "gatehouse_request_outcomes_total", { outcome: "refused" })).toBe(1);
  } finally {
    await Promise.all([ending.stop(), own.stop()]);
  }
}, 60_000);
