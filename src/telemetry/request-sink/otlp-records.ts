// Encodes records of requests as OTLP log records: the body is the record as JSON, the attributes are those that one searches by.
import { writeNumber, writeResource, writeScope, writeText } from "../otlp/attributes.ts";
import type { OpenBatch } from "../otlp/batch-exporter.ts";
import type { ResourceAttributes } from "../otlp/otlp-settings.ts";
import { ProtobufWriter } from "../otlp/protobuf-writer.ts";
import type { RequestFacts } from "../requests/request-facts.ts";
import { genAiOperationOf, translationOf, translationText } from "../requests/request-operation.ts";

/** Field numbers from opentelemetry/proto. */
const EXPORT = { resourceLogs: 1 };
const RESOURCE_LOGS = { resource: 1, scopeLogs: 2 };
const SCOPE_LOGS = { scope: 1, logRecords: 2 };
const RECORD = {
  time: 1,
  severityNumber: 2,
  severityText: 3,
  body: 5,
  attributes: 6,
  traceId: 9,
  spanId: 10,
  observedTime: 11,
  eventName: 12,
};
const VALUE = { text: 1 };
const EVENT_NAME = "gatehouse.request";

interface RecordSender {
  readonly version: string;
  readonly resource: ResourceAttributes;
}

export class RecordBatch implements OpenBatch {
  readonly #sender: RecordSender;
  readonly #writer = new ProtobufWriter();
  #resourceLogs = 0;
  #scopeLogs = 0;
  count = 0;

  constructor(sender: RecordSender) {
    this.#sender = sender;
    this.#begin();
  }

  get byteLength(): number {
    return this.#writer.length;
  }

  /** `line` is the redacted record. */
  add(line: string, facts: RequestFacts): void {
    const writer = this.#writer;
    const [severity, severityText] = severityOf(facts);
    const record = writer.begin(SCOPE_LOGS.logRecords);
    writer.nanoseconds(RECORD.time, Math.round(facts.endedWallMs * 1000));
    writer.nanoseconds(RECORD.observedTime, Math.round(facts.endedWallMs * 1000));
    writer.number(RECORD.severityNumber, severity);
    writer.text(RECORD.severityText, severityText);
    const body = writer.begin(RECORD.body);
    writer.text(VALUE.text, line);
    writer.end(body);
    this.#writeAttributes(facts);
    if (facts.trace !== null) {
      writer.hex(RECORD.traceId, facts.trace.traceId);
      writer.hex(RECORD.spanId, facts.trace.spanId);
    }
    writer.text(RECORD.eventName, EVENT_NAME);
    writer.end(record);
    this.count++;
  }

  take(): Uint8Array {
    this.#writer.end(this.#scopeLogs);
    this.#writer.end(this.#resourceLogs);
    const bytes = this.#writer.take();
    this.#begin();
    return bytes;
  }

  #begin(): void {
    const writer = this.#writer;
    writer.clear();
    this.count = 0;
    this.#resourceLogs = writer.begin(EXPORT.resourceLogs);
    writeResource(writer, RESOURCE_LOGS.resource, this.#sender.resource);
    this.#scopeLogs = writer.begin(RESOURCE_LOGS.scopeLogs);
    writeScope(writer, SCOPE_LOGS.scope, this.#sender.version);
  }

  #writeAttributes(facts: RequestFacts): void {
    const text = (key: string, value: string | null | undefined) =>
      writeText(this.#writer, RECORD.attributes, key, value);
    text("gatehouse.request_id", facts.requestId);
    text("gatehouse.gateway", facts.gatewayName);
    text("gatehouse.outcome", facts.outcome);
    text("http.request.method", facts.method);
    text("http.route", facts.rule?.names.rule.path);
    text("url.path", facts.path);
    writeNumber(this.#writer, RECORD.attributes, "http.response.status_code", facts.status);
    text("error.type", facts.errorCode ?? facts.finalAttempt?.fault);
    text("mcp.method.name", facts.mcp?.method);
    text("gen_ai.tool.name", facts.mcp?.tool);
    text("gen_ai.operation.name", genAiOperationOf(facts));
    text("gen_ai.provider.name", facts.finalAttempt?.target.semanticName);
    text("gen_ai.request.model", facts.finalAttempt?.model ?? facts.requestedModel);
    text("gatehouse.translation", translationText(translationOf(facts)));
  }
}

/** The severity numbers and names of the log data model of OpenTelemetry. */
function severityOf({ status, outcome }: RequestFacts): readonly [number, string] {
  if (status >= 500 || outcome === "incomplete") return [17, "ERROR"];
  return status >= 400 ? [13, "WARN"] : [9, "INFO"];
}
