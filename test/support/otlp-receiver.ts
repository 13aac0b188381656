// An OTLP collector for tests: receives traces, metrics and logs over HTTP in protobuf and rejects what the protocol does not allow.
import type { Server } from "bun";
import { LOGS_EXPORT, readLogsBatch, type ReceivedLogs } from "./otlp-logs-reader.ts";
import { METRICS_EXPORT, readMetricsBatch, type ReceivedMetrics } from "./otlp-metrics-reader.ts";
import {
  fields,
  readAttributes,
  readExport,
  RESOURCE,
  SCOPE,
  ATTRIBUTE,
  text,
  type Attributes,
} from "./otlp-reader.ts";
import { readMessage, type MessageShape } from "./protobuf-reader.ts";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly traceState: string | null;
  readonly name: string;
  readonly kind: "INTERNAL" | "SERVER" | "CLIENT";
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

interface ReceivedBatch {
  readonly headers: Headers;
  readonly resource: Attributes;
  readonly spans: readonly ReceivedSpan[];
}

export interface OtlpReceiver {
  readonly url: string;
  readonly batches: readonly ReceivedBatch[];
  readonly spans: () => readonly ReceivedSpan[];
  /** One entry per export of metrics. */
  readonly metrics: readonly ReceivedMetrics[];
  /** One entry per export of logs. */
  readonly logs: readonly ReceivedLogs[];
  /** Why requests were rejected. */
  readonly problems: readonly string[];
  /** All received bytes, as text. */
  readonly text: () => string;
  /** Responses to send instead of a success; null restores it. */
  respondWith(make: (() => Response) | null): void;
  stop(): Promise<void>;
}

const SPAN: MessageShape = {
  1: ["traceId", "hex"],
  2: ["spanId", "hex"],
  3: ["traceState", "text"],
  4: ["parentSpanId", "hex"],
  5: ["name", "text"],
  6: ["kind", "number"],
  7: ["startTimeUnixNano", "fixed64"],
  8: ["endTimeUnixNano", "fixed64"],
  9: ["attributes", [ATTRIBUTE]],
  15: ["status", { 2: ["message", "text"], 3: ["code", "number"] }],
};
const SCOPE_SPANS: MessageShape = { 1: ["scope", SCOPE], 2: ["spans", [SPAN]] };
const RESOURCE_SPANS: MessageShape = { 1: ["resource", RESOURCE], 2: ["scopeSpans", [SCOPE_SPANS]] };
const EXPORT: MessageShape = { 1: ["resourceSpans", [RESOURCE_SPANS]] };

const KINDS: Record<number, ReceivedSpan["kind"]> = { 1: "INTERNAL", 2: "SERVER", 3: "CLIENT" };

/** `paths` are the paths of the signals, if they are not the default ones. */
export function startOtlpReceiver({
  traces = "/v1/traces",
  metrics = "/v1/metrics",
  logs = "/v1/logs",
} = {}): OtlpReceiver {
  const receivedLogs: ReceivedLogs[] = [];
  const batches: ReceivedBatch[] = [];
  const received: ReceivedMetrics[] = [];
  const problems: string[] = [];
  let text = "";
  let make: (() => Response) | null = null;
  const server: Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.bytes();
      const path = new URL(request.url).pathname;
      if (make !== null) return make();
      text += Buffer.from(body).toString("latin1");
      try {
        if (request.method !== "POST" || ![traces, metrics, logs].includes(path))
          throw new Error(`${request.method} ${request.url}`);
        if (request.headers.get("content-type") !== "application/x-protobuf") throw new Error("not protobuf");
        if (path === metrics)
          received.push(readMetricsBatch(readMessage(body, METRICS_EXPORT), request.headers));
        else if (path === logs)
          receivedLogs.push(readLogsBatch(readMessage(body, LOGS_EXPORT), request.headers));
        else batches.push(readBatch(readMessage(body, EXPORT), request.headers));
      } catch (error) {
        problems.push(String(error));
        return Response.json({ code: 3, message: String(error) }, { status: 400 });
      }
      return new Response(null, { headers: { "Content-Type": "application/x-protobuf" } });
    },
  });
  return {
    url: server.url.origin,
    batches,
    spans: () => batches.flatMap((batch) => batch.spans),
    metrics: received,
    logs: receivedLogs,
    problems,
    text: () => text,
    respondWith: (next) => void (make = next),
    stop: () => server.stop(true),
  };
}

function readBatch(body: unknown, headers: Headers): ReceivedBatch {
  const { resource, items } = readExport(body, ["resourceSpans", "scopeSpans", "spans"], readSpan);
  return { headers, resource, spans: items };
}

function readSpan(value: unknown): ReceivedSpan {
  const span = fields(
    value,
    ...["traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind", "startTimeUnixNano"],
    ...["endTimeUnixNano", "attributes", "events", "links", "status"],
  );
  const kind = KINDS[Number(span["kind"])];
  if (kind === undefined) throw new Error(`kind ${JSON.stringify(span["kind"])}`);
  const start = BigInt(text(span["startTimeUnixNano"], /^\d{19}$/));
  const end = BigInt(text(span["endTimeUnixNano"], /^\d{19}$/));
  if (end < start) throw new Error("ends before it starts");
  const { code = "0" } = fields(span["status"], "code", "message");
  return {
    traceId: text(span["traceId"], /^(?!0+$)[0-9a-f]{32}$/),
    spanId: text(span["spanId"], /^(?!0+$)[0-9a-f]{16}$/),
    parentSpanId:
      span["parentSpanId"] === undefined ? null : text(span["parentSpanId"], /^(?!0+$)[0-9a-f]{16}$/),
    traceState: span["traceState"] === undefined ? null : text(span["traceState"], /./),
    name: text(span["name"], /./),
    kind,
    start,
    end,
    attributes: readAttributes(span["attributes"]),
    isError: code === "2",
  };
}
