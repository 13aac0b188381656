// Encodes a page of metrics as OTLP export requests: counters as cumulative monotonic sums, gauges, and histograms with explicit
// bounds. The page is the one of /metrics, which has the values of all worker processes.
import { writeResource, writeScope, writeText } from "../otlp/attributes.ts";
import type { ResourceAttributes } from "../otlp/otlp-settings.ts";
import { ProtobufWriter } from "../otlp/protobuf-writer.ts";
import type { MetricDeclaration } from "./metric-declaration.ts";
import { METRICS } from "./metric-table.ts";
import { readPoints, type Labels, type Point } from "./metrics-page.ts";

/** Collectors reject requests above 20 MiB by default. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

/** Field numbers from opentelemetry/proto. */
const EXPORT = { resourceMetrics: 1 };
const RESOURCE_METRICS = { resource: 1, scopeMetrics: 2 };
const SCOPE_METRICS = { scope: 1, metrics: 2 };
const METRIC = { name: 1, description: 2, unit: 3, gauge: 5, counter: 7, histogram: 9 };
const DATA = { points: 1, temporality: 2, isMonotonic: 3 };
const POINT = { start: 2, time: 3, value: 4, attributes: 7 };
const HISTOGRAM_POINT = { count: 4, sum: 5, bucketCounts: 6, bounds: 7, attributes: 9 };
const CUMULATIVE = 2;

export interface MetricsSender {
  readonly version: string;
  readonly resource: ResourceAttributes;
  /** When all counters were 0, in Unix milliseconds. */
  readonly startedAt: number;
}

/** Yields the export requests one by one. `now` is in Unix milliseconds. */
export function* encodeMetrics(
  page: string,
  sender: MetricsSender,
  now: number,
  maxBytes = MAX_REQUEST_BYTES,
): Generator<Uint8Array> {
  const request = new MetricsRequest(sender, now);
  for (const point of readPoints(page)) {
    request.add(point);
    if (request.length >= maxBytes) yield request.take();
  }
  if (!request.isEmpty) yield request.take();
}

class MetricsRequest {
  readonly #sender: MetricsSender;
  readonly #now: number;
  readonly #write = new ProtobufWriter();
  #resourceMetrics = 0;
  #scopeMetrics = 0;
  /** The metric of the last point; null before the first one of the request. */
  #open: OpenMetric | null = null;

  constructor(sender: MetricsSender, now: number) {
    this.#sender = sender;
    this.#now = now;
    this.#begin();
  }

  get isEmpty(): boolean {
    return this.#open === null;
  }

  get length(): number {
    return this.#write.length;
  }

  add(point: Point): void {
    const declaration = (METRICS as Record<string, MetricDeclaration | undefined>)[point.metric];
    if (declaration === undefined) return;
    if (this.#open?.name !== point.metric) {
      this.#endMetric();
      this.#beginMetric(point.metric, declaration);
    }
    const write = this.#write;
    const message = write.begin(DATA.points);
    write.nanoseconds(POINT.start, Math.round(this.#sender.startedAt * 1000));
    write.nanoseconds(POINT.time, Math.round(this.#now * 1000));
    if (point.buckets === null) {
      write.double(POINT.value, point.value);
      this.#writeLabels(POINT.attributes, point.labels);
    } else {
      write.fixed64(
        HISTOGRAM_POINT.count,
        point.buckets.reduce((total, count) => total + count, 0),
      );
      write.double(HISTOGRAM_POINT.sum, point.value);
      write.fixed64s(HISTOGRAM_POINT.bucketCounts, point.buckets);
      write.doubles(HISTOGRAM_POINT.bounds, declaration.buckets ?? []);
      this.#writeLabels(HISTOGRAM_POINT.attributes, point.labels);
    }
    write.end(message);
  }

  /** Returns the request and starts the next one. */
  take(): Uint8Array {
    this.#endMetric();
    this.#write.end(this.#scopeMetrics);
    this.#write.end(this.#resourceMetrics);
    const bytes = this.#write.take();
    this.#begin();
    return bytes;
  }

  #begin(): void {
    const write = this.#write;
    write.clear();
    this.#resourceMetrics = write.begin(EXPORT.resourceMetrics);
    writeResource(write, RESOURCE_METRICS.resource, this.#sender.resource);
    this.#scopeMetrics = write.begin(RESOURCE_METRICS.scopeMetrics);
    writeScope(write, SCOPE_METRICS.scope, this.#sender.version);
  }

  #beginMetric(name: string, { type, help }: MetricDeclaration): void {
    const write = this.#write;
    const message = write.begin(SCOPE_METRICS.metrics);
    write.text(METRIC.name, name);
    write.text(METRIC.description, help);
    write.text(METRIC.unit, unitOf(name));
    const data = write.begin(METRIC[type]);
    if (type !== "gauge") write.number(DATA.temporality, CUMULATIVE);
    if (type === "counter") write.number(DATA.isMonotonic, 1);
    this.#open = { name, message, data };
  }

  #endMetric(): void {
    if (this.#open === null) return;
    this.#write.end(this.#open.data);
    this.#write.end(this.#open.message);
    this.#open = null;
  }

  /** An empty label is the same as none in Prometheus. */
  #writeLabels(field: number, labels: Labels): void {
    for (const [name, value] of labels) if (value !== "") writeText(this.#write, field, name, value);
  }
}

interface OpenMetric {
  readonly name: string;
  readonly message: number;
  readonly data: number;
}

/** Returns the unit in the code of UCUM that OpenTelemetry uses; empty for counts. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  return name.endsWith("_bytes") ? "By" : "";
}
