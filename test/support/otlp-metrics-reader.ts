// Reads an OTLP export of metrics, strictly.
import {
  ATTRIBUTE,
  fields,
  list,
  readAttributes,
  readExport,
  RESOURCE,
  SCOPE,
  text,
  type Attributes,
} from "./otlp-reader.ts";
import type { MessageShape } from "./protobuf-reader.ts";

export interface ReceivedPoint {
  readonly attributes: Attributes;
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly time: bigint;
  /** The value of a sum or a gauge, or the sum of a histogram. */
  readonly value: number;
  /** Not cumulative; null if the point is not a histogram. */
  readonly buckets: readonly number[] | null;
  readonly bounds: readonly number[] | null;
  readonly count: number | null;
}

interface ReceivedMetric {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly type: "sum" | "gauge" | "histogram";
  readonly points: readonly ReceivedPoint[];
}

export interface ReceivedMetrics {
  readonly headers: Headers;
  readonly resource: Attributes;
  readonly metrics: readonly ReceivedMetric[];
}

const NUMBER_POINT: MessageShape = {
  2: ["startTimeUnixNano", "fixed64"],
  3: ["timeUnixNano", "fixed64"],
  4: ["asDouble", "double"],
  7: ["attributes", [ATTRIBUTE]],
};
const HISTOGRAM_POINT: MessageShape = {
  2: ["startTimeUnixNano", "fixed64"],
  3: ["timeUnixNano", "fixed64"],
  4: ["count", "fixed64"],
  5: ["sum", "double"],
  6: ["bucketCounts", "packed fixed64"],
  7: ["explicitBounds", "packed double"],
  9: ["attributes", [ATTRIBUTE]],
};
const TEMPORALITY = "aggregationTemporality";
const METRIC: MessageShape = {
  1: ["name", "text"],
  2: ["description", "text"],
  3: ["unit", "text"],
  5: ["gauge", { 1: ["dataPoints", [NUMBER_POINT]] }],
  7: ["sum", { 1: ["dataPoints", [NUMBER_POINT]], 2: [TEMPORALITY, "number"], 3: ["isMonotonic", "number"] }],
  9: ["histogram", { 1: ["dataPoints", [HISTOGRAM_POINT]], 2: [TEMPORALITY, "number"] }],
};
const SCOPE_METRICS: MessageShape = { 1: ["scope", SCOPE], 2: ["metrics", [METRIC]] };
const RESOURCE_METRICS: MessageShape = { 1: ["resource", RESOURCE], 2: ["scopeMetrics", [SCOPE_METRICS]] };
export const METRICS_EXPORT: MessageShape = { 1: ["resourceMetrics", [RESOURCE_METRICS]] };

export function readMetricsBatch(body: unknown, headers: Headers): ReceivedMetrics {
  const { resource, items } = readExport(body, ["resourceMetrics", "scopeMetrics", "metrics"], readMetric);
  return { headers, resource, metrics: items };
}

function readMetric(value: unknown): ReceivedMetric {
  const known = ["name", "description", "unit", "gauge", "sum", "histogram"];
  const { name, description, unit = "", gauge, sum, histogram } = fields(value, ...known);
  const described = { name: text(name, /./), description: text(description, /./), unit: text(unit, /^/) };
  if (gauge !== undefined) {
    const { dataPoints } = fields(gauge, "dataPoints");
    return { ...described, type: "gauge", points: list(dataPoints).map(readNumberPoint) };
  }
  const {
    dataPoints,
    isMonotonic,
    [TEMPORALITY]: temporality,
  } = fields(sum ?? histogram, ...["dataPoints", TEMPORALITY, "isMonotonic"]);
  if (temporality !== "2") throw new Error(`${described.name} is not cumulative`);
  if (sum === undefined)
    return { ...described, type: "histogram", points: list(dataPoints).map(readHistogram) };
  if (isMonotonic !== "1") throw new Error(`${described.name} is not monotonic`);
  return { ...described, type: "sum", points: list(dataPoints).map(readNumberPoint) };
}

function readNumberPoint(value: unknown): ReceivedPoint {
  const { asDouble = 0, ...rest } = fields(
    value,
    ...["startTimeUnixNano", "timeUnixNano", "asDouble", "attributes"],
  );
  return { ...readCommon(rest), value: Number(asDouble), buckets: null, bounds: null, count: null };
}

function readHistogram(value: unknown): ReceivedPoint {
  const { sum, count, bucketCounts, explicitBounds, ...rest } = fields(
    value,
    ...["startTimeUnixNano", "timeUnixNano", "count", "sum", "bucketCounts", "explicitBounds", "attributes"],
  );
  const buckets = list(bucketCounts).map(Number);
  const bounds = list(explicitBounds).map(Number);
  if (buckets.length !== bounds.length + 1) throw new Error("a histogram needs one more bucket than bounds");
  if (buckets.reduce((total, each) => total + each, 0) !== Number(count))
    throw new Error("the buckets of a histogram do not add up to its count");
  return { ...readCommon(rest), value: Number(sum), buckets, bounds, count: Number(count) };
}

function readCommon(point: Record<string, unknown>): Pick<ReceivedPoint, "attributes" | "start" | "time"> {
  const start = BigInt(text(point["startTimeUnixNano"], /^\d{19}$/));
  const time = BigInt(text(point["timeUnixNano"], /^\d{19}$/));
  if (time < start) throw new Error("a point precedes its start time");
  return { attributes: readAttributes(point["attributes"]), start, time };
}
