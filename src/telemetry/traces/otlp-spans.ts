// A request as OTLP's spans: one of the request itself, one of each attempt, in OpenTelemetry's HTTP and GenAI words. Never
// a prompt, an answer or a credential.
import { ProtobufWriter } from "./protobuf-writer.ts";
import { redact } from "../log/redact.ts";
import type { AttemptFacts, RequestFacts } from "../requests/request-facts.ts";
import type { RequestTrace } from "./request-trace.ts";

/** The numbers that opentelemetry/proto gives to what is written here. */
const EXPORT = { resourceSpans: 1 };
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2 };
const RESOURCE = { attributes: 1 };
const SCOPE_SPANS = { scope: 1, spans: 2 };
const SCOPE = { name: 1, version: 2 };
const SPAN = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  start: 7,
  end: 8,
  attributes: 9,
  status: 15,
};
const STATUS = { code: 3 };
const ATTRIBUTE = { key: 1, value: 2 };
const VALUE = { text: 1, number: 3 };
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

export function spanCount({ attempts }: RequestFacts): number {
  return 1 + attempts.length;
}

/** Who sends the spans. */
export interface SpanSender {
  readonly version: string;
  /** Attributes of the resource. */
  readonly resource: Readonly<Record<string, string>>;
}

/** Spans of traced requests as they come, as one request to a collector. */
export class SpanBatch {
  readonly #sender: SpanSender;
  readonly #writer = new ProtobufWriter();
  #resourceSpans = 0;
  #scopeSpans = 0;
  count = 0;

  constructor(sender: SpanSender) {
    this.#sender = sender;
    this.#begin();
  }

  add(facts: RequestFacts, trace: RequestTrace): void {
    this.#writeRequest(facts, trace);
    for (const attempt of facts.attempts) this.#writeAttempt(facts, trace, attempt);
    this.count += spanCount(facts);
  }

  /** What has come so far; the next batch begins. */
  take(): Uint8Array {
    this.#writer.end(this.#scopeSpans);
    this.#writer.end(this.#resourceSpans);
    const bytes = this.#writer.take();
    this.#begin();
    return bytes;
  }

  #begin(): void {
    const writer = this.#writer;
    const { version, resource } = this.#sender;
    writer.clear();
    this.count = 0;
    this.#resourceSpans = writer.begin(EXPORT.resourceSpans);
    const own = writer.begin(RESOURCE_SPANS.resource);
    for (const key in resource) writeText(writer, RESOURCE.attributes, key, resource[key]);
    writer.end(own);
    this.#scopeSpans = writer.begin(RESOURCE_SPANS.scopeSpans);
    const scope = writer.begin(SCOPE_SPANS.scope);
    writer.text(SCOPE.name, "gatehouse");
    writer.text(SCOPE.version, version);
    writer.end(scope);
  }

  #writeRequest(facts: RequestFacts, trace: RequestTrace): void {
    const writer = this.#writer;
    const span = writer.begin(SCOPE_SPANS.spans);
    writer.hex(SPAN.traceId, trace.traceId);
    writer.hex(SPAN.spanId, trace.spanId);
    if (trace.parentSpanId !== null) writer.hex(SPAN.parentSpanId, trace.parentSpanId);
    if (trace.state !== null) writer.text(SPAN.traceState, redact(trace.state));
    this.#writeTimes(facts, facts.startedAt, facts.endedAt);
    writeText(writer, SPAN.attributes, "gatehouse.request_id", facts.requestId);
    writer.raw(wordsOfRequest(facts));
    writer.end(span);
  }

  #writeAttempt(facts: RequestFacts, trace: RequestTrace, attempt: AttemptFacts): void {
    const writer = this.#writer;
    const span = writer.begin(SCOPE_SPANS.spans);
    writer.hex(SPAN.traceId, trace.traceId);
    writer.hex(SPAN.spanId, attempt.spanId ?? "");
    writer.hex(SPAN.parentSpanId, trace.spanId);
    this.#writeTimes(facts, attempt.startedAt, attempt.endedAt ?? facts.endedAt);
    const tokens = attempt === facts.answeredBy ? facts.tokens : null;
    if (tokens !== null) {
      writeNumber(writer, SPAN.attributes, "gen_ai.usage.input_tokens", tokens.input);
      writeNumber(writer, SPAN.attributes, "gen_ai.usage.output_tokens", tokens.output);
    }
    writer.raw(wordsOfAttempt(facts, attempt));
    writer.end(span);
  }

  /** Times of the monotonic clock on the wall clock as it stood at the request's end. */
  #writeTimes({ endedAt, endedWallMs }: RequestFacts, from: number, to: number): void {
    const offset = endedWallMs - endedAt;
    this.#writer.nanoseconds(SPAN.start, Math.round((offset + from) * 1000));
    this.#writer.nanoseconds(SPAN.end, Math.round((offset + to) * 1000));
  }
}

/** All of a span that requests of one kind have in common: the last one of each rule and target is kept as it was written. */
interface Words {
  readonly of: readonly unknown[];
  readonly bytes: Uint8Array;
}

const requestWords = new WeakMap<object, Words>();
const attemptWords = new WeakMap<object, Words>();
const wordsWriter = new ProtobufWriter();

function wordsOfRequest(facts: RequestFacts): Uint8Array {
  const { method, path, status, outcome, gatewayName, attempts, revision, errorCode } = facts;
  const error = facts.answeredBy?.fault ?? null;
  const of = [method, path, status, outcome, gatewayName, attempts.length, revision, errorCode, error];
  const owner = facts.rule ?? facts.gateway;
  const known = requestWords.get(owner);
  if (known !== undefined && isSame(known.of, of)) return known.bytes;
  const route = facts.rule?.names.rule.path;
  // A client's mistake is not the server's error.
  const hasFailed = status >= 500 || outcome === "incomplete";
  const name = route === undefined ? method : `${method} ${route}`;
  const bytes = writeWords(name, SERVER, hasFailed, (write) => {
    writeText(write, SPAN.attributes, "http.request.method", method);
    writeText(write, SPAN.attributes, "http.route", route);
    writeNumber(write, SPAN.attributes, "http.response.status_code", status);
    writeText(write, SPAN.attributes, "url.path", path);
    writeText(write, SPAN.attributes, "url.scheme", "http");
    if (hasFailed)
      writeText(write, SPAN.attributes, "error.type", errorCode ?? facts.answeredBy?.fault ?? String(status));
    writeText(write, SPAN.attributes, "gatehouse.gateway", gatewayName);
    writeText(write, SPAN.attributes, "gatehouse.outcome", outcome);
    writeNumber(write, SPAN.attributes, "gatehouse.attempts", attempts.length);
    writeNumber(write, SPAN.attributes, "gatehouse.revision", revision);
  });
  requestWords.set(owner, { of, bytes });
  return bytes;
}

function wordsOfAttempt({ method, operation }: RequestFacts, attempt: AttemptFacts): Uint8Array {
  const { target, model, status, fault, responseModel } = attempt;
  const of = [method, operation, model, status, fault, responseModel];
  const known = attemptWords.get(target);
  if (known !== undefined && isSame(known.of, of)) return known.bytes;
  const hasFailed = fault !== null || (status !== null && status >= 400);
  const name = operation === null ? method : model === null ? operation : `${operation} ${model}`;
  const bytes = writeWords(name, CLIENT, hasFailed, (write) => {
    writeText(write, SPAN.attributes, "gen_ai.operation.name", operation);
    writeText(write, SPAN.attributes, "gen_ai.provider.name", target.semanticName);
    writeText(write, SPAN.attributes, "gen_ai.request.model", model);
    writeText(write, SPAN.attributes, "gen_ai.response.model", responseModel);
    writeText(write, SPAN.attributes, "server.address", target.address.hostname);
    writeNumber(write, SPAN.attributes, "server.port", target.address.port);
    writeText(write, SPAN.attributes, "http.request.method", method);
    writeNumber(write, SPAN.attributes, "http.response.status_code", status);
    if (hasFailed) writeText(write, SPAN.attributes, "error.type", fault ?? String(status));
    writeText(write, SPAN.attributes, "gatehouse.target", target.id);
  });
  attemptWords.set(target, { of, bytes });
  return bytes;
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}

function writeWords(
  name: string,
  kind: number,
  hasFailed: boolean,
  writeAttributes: (write: ProtobufWriter) => void,
): Uint8Array {
  wordsWriter.clear();
  wordsWriter.text(SPAN.name, redact(name));
  wordsWriter.number(SPAN.kind, kind);
  writeAttributes(wordsWriter);
  const status = wordsWriter.begin(SPAN.status);
  if (hasFailed) wordsWriter.number(STATUS.code, ERROR);
  wordsWriter.end(status);
  return wordsWriter.take();
}

function writeText(
  write: ProtobufWriter,
  field: number,
  key: string,
  value: string | null | undefined,
): void {
  if (value === null || value === undefined) return;
  const attribute = write.begin(field);
  write.text(ATTRIBUTE.key, key);
  const held = write.begin(ATTRIBUTE.value);
  write.text(VALUE.text, redact(value));
  write.end(held);
  write.end(attribute);
}

function writeNumber(write: ProtobufWriter, field: number, key: string, value: number | null): void {
  if (value === null) return;
  const attribute = write.begin(field);
  write.text(ATTRIBUTE.key, key);
  const held = write.begin(ATTRIBUTE.value);
  write.number(VALUE.number, Math.round(value));
  write.end(held);
  write.end(attribute);
}
