// An OTLP collector for tests: receives traces over HTTP in protobuf and rejects what the protocol does not allow.
import type { Server } from "bun";
import { readMessage, type MessageShape } from "./protobuf-reader.ts";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly traceState: string | null;
  readonly name: string;
  readonly kind: "SERVER" | "CLIENT";
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
}

interface ReceivedBatch {
  readonly headers: Headers;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly spans: readonly ReceivedSpan[];
}

export interface OtlpReceiver {
  readonly url: string;
  readonly batches: readonly ReceivedBatch[];
  readonly spans: () => readonly ReceivedSpan[];
  /** Why requests were rejected. */
  readonly problems: readonly string[];
  /** All received bytes, as text. */
  readonly text: () => string;
  /** Responses to send instead of a success; null restores it. */
  respondWith(make: (() => Response) | null): void;
  stop(): Promise<void>;
}

const VALUE: MessageShape = {
  1: ["stringValue", "text"],
  3: ["intValue", "number"],
  4: ["doubleValue", "double"],
};
const ATTRIBUTE: MessageShape = { 1: ["key", "text"], 2: ["value", VALUE] };
const RESOURCE: MessageShape = { 1: ["attributes", [ATTRIBUTE]] };
const SCOPE: MessageShape = { 1: ["name", "text"], 2: ["version", "text"] };
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

const KINDS: Record<number, ReceivedSpan["kind"]> = { 2: "SERVER", 3: "CLIENT" };

export function startOtlpReceiver(): OtlpReceiver {
  const batches: ReceivedBatch[] = [];
  const problems: string[] = [];
  let text = "";
  let make: (() => Response) | null = null;
  const server: Server<undefined> = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.bytes();
      if (make !== null) return make();
      text += Buffer.from(body).toString("latin1");
      try {
        if (request.method !== "POST" || new URL(request.url).pathname !== "/v1/traces")
          throw new Error(`${request.method} ${request.url}`);
        if (request.headers.get("content-type") !== "application/x-protobuf") throw new Error("not protobuf");
        batches.push(readBatch(readMessage(body, EXPORT), request.headers));
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
    problems,
    text: () => text,
    respondWith: (next) => void (make = next),
    stop: () => server.stop(true),
  };
}

/** Returns the fields of a message. Rejects unknown fields, because a misspelled one would be ignored. */
function fields(value: unknown, ...known: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("not an object");
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`unknown fields ${unknown.join(", ")}`);
  return value as Record<string, unknown>;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error("not a list");
  return value;
}

function text(value: unknown, pattern: RegExp): string {
  if (typeof value !== "string" || !pattern.test(value))
    throw new Error(`${JSON.stringify(value)} is not ${pattern}`);
  return value;
}

function readBatch(body: unknown, headers: Headers): ReceivedBatch {
  const spans: ReceivedSpan[] = [];
  let resource: ReceivedBatch["resource"] = {};
  for (const one of list(fields(body, "resourceSpans")["resourceSpans"])) {
    const { resource: described, scopeSpans } = fields(one, "resource", "scopeSpans", "schemaUrl");
    resource = readAttributes(fields(described, "attributes", "droppedAttributesCount")["attributes"]);
    for (const each of list(scopeSpans)) {
      const { scope, spans: inScope } = fields(each, "scope", "spans", "schemaUrl");
      text(fields(scope, "name", "version", "attributes")["name"], /./);
      for (const span of list(inScope)) spans.push(readSpan(span));
    }
  }
  return { headers, resource, spans };
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

function readAttributes(value: unknown): Record<string, string | number> {
  const read: Record<string, string | number> = {};
  for (const each of list(value)) {
    const { key, value: held } = fields(each, "key", "value");
    const name = text(key, /^[a-z0-9_.]+$/);
    if (name in read) throw new Error(`${name} is given twice`);
    const { stringValue, intValue, doubleValue } = fields(held, "stringValue", "intValue", "doubleValue");
    if (typeof doubleValue === "number") read[name] = doubleValue;
    else read[name] = intValue === undefined ? text(stringValue, /^/) : Number(text(intValue, /^-?\d+$/));
  }
  return read;
}
