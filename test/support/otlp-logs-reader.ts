// Reads an OTLP export of logs, strictly.
import {
  ATTRIBUTE,
  fields,
  readAttributes,
  readExport,
  RESOURCE,
  SCOPE,
  text,
  type Attributes,
} from "./otlp-reader.ts";
import type { MessageShape } from "./protobuf-reader.ts";

interface ReceivedRecord {
  /** Nanoseconds since the epoch. */
  readonly time: bigint;
  readonly severity: string;
  readonly body: string;
  readonly attributes: Attributes;
  readonly traceId: string | null;
  readonly spanId: string | null;
  readonly eventName: string;
}

export interface ReceivedLogs {
  readonly headers: Headers;
  readonly resource: Attributes;
  readonly records: readonly ReceivedRecord[];
}

const RECORD: MessageShape = {
  1: ["timeUnixNano", "fixed64"],
  2: ["severityNumber", "number"],
  3: ["severityText", "text"],
  5: ["body", { 1: ["stringValue", "text"] }],
  6: ["attributes", [ATTRIBUTE]],
  9: ["traceId", "hex"],
  10: ["spanId", "hex"],
  11: ["observedTimeUnixNano", "fixed64"],
  12: ["eventName", "text"],
};
const SCOPE_LOGS: MessageShape = { 1: ["scope", SCOPE], 2: ["logRecords", [RECORD]] };
const RESOURCE_LOGS: MessageShape = { 1: ["resource", RESOURCE], 2: ["scopeLogs", [SCOPE_LOGS]] };
export const LOGS_EXPORT: MessageShape = { 1: ["resourceLogs", [RESOURCE_LOGS]] };

const SEVERITIES: Record<string, string> = { 9: "INFO", 13: "WARN", 17: "ERROR" };

export function readLogsBatch(body: unknown, headers: Headers): ReceivedLogs {
  const { resource, items } = readExport(body, ["resourceLogs", "scopeLogs", "logRecords"], readRecord);
  return { headers, resource, records: items };
}

function readRecord(value: unknown): ReceivedRecord {
  const known = ["timeUnixNano", "severityNumber", "severityText", "body", "attributes", "traceId", "spanId"];
  const record = fields(value, ...known, "observedTimeUnixNano", "eventName");
  const severity = text(record["severityText"], /./);
  if (SEVERITIES[String(record["severityNumber"])] !== severity) throw new Error("severity");
  const { traceId, spanId } = record;
  if ((traceId === undefined) !== (spanId === undefined)) throw new Error("a span without a trace");
  text(record["observedTimeUnixNano"], /^\d{19}$/);
  return {
    time: BigInt(text(record["timeUnixNano"], /^\d{19}$/)),
    severity,
    body: text(fields(record["body"], "stringValue")["stringValue"], /./),
    attributes: readAttributes(record["attributes"]),
    traceId: traceId === undefined ? null : text(traceId, /^(?!0+$)[0-9a-f]{32}$/),
    spanId: spanId === undefined ? null : text(spanId, /^(?!0+$)[0-9a-f]{16}$/),
    eventName: text(record["eventName"], /./),
  };
}
