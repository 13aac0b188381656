// Encodes a request as OTLP spans: one for the request and one per upstream attempt, with the attributes of OpenTelemetry's HTTP
// and GenAI conventions. Spans never contain a prompt, a response or a credential.
import {
  writeDouble,
  writeNumber,
  writeResource,
  writeScope,
  writeText,
  writeTexts,
} from "../otlp/attributes.ts";
import type { OpenBatch } from "../otlp/batch-exporter.ts";
import type { ResourceAttributes } from "../otlp/otlp-settings.ts";
import { ProtobufWriter } from "../otlp/protobuf-writer.ts";
import type { ResponseDetails } from "../../formats/response-details.ts";
import { redact } from "../log/redact.ts";
import {
  msPerOutputToken,
  type AttemptFacts,
  type RequestFacts,
  type TokenFacts,
} from "../requests/request-facts.ts";
import { genAiOperationOf, translationText } from "../requests/request-operation.ts";
import { truncateText } from "../truncate-text.ts";
import { mcpErrorOf, mcpSpanName, writeMcpAttributes, writeMcpCall } from "./mcp-spans.ts";
import type { RequestTrace } from "./request-trace.ts";
import { CLIENT, encodeCommonPart, INTERNAL, SERVER, SPAN, writeSpanTimes } from "./span-parts.ts";

/** Field numbers from opentelemetry/proto. */
const EXPORT = { resourceSpans: 1 };
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2 };
const SCOPE_SPANS = { scope: 1, spans: 2 };
export function spanCount({ attempts, mcp }: RequestFacts): number {
  return 1 + attempts.length + (mcp === null ? 0 : mcp.calls.length);
}

/** The process that sends the spans. */
interface SpanSender {
  readonly version: string;
  readonly resource: ResourceAttributes;
}

/** For an attempt whose response was not sent to the client. */
const NO_RESPONSE = { tokens: null, firstTokenAt: null };

/** Collects the spans of traced requests into one export request. */
export class SpanBatch implements OpenBatch {
  readonly #sender: SpanSender;
  readonly #writer = new ProtobufWriter();
  #resourceSpans = 0;
  #scopeSpans = 0;
  count = 0;

  constructor(sender: SpanSender) {
    this.#sender = sender;
    this.#begin();
  }

  get byteLength(): number {
    return this.#writer.length;
  }

  add(facts: RequestFacts, trace: RequestTrace): void {
    this.#writeRequest(facts, trace);
    for (const attempt of facts.attempts) this.#writeAttempt(facts, trace, attempt);
    for (const call of facts.mcp?.calls ?? []) {
      const span = this.#writer.begin(SCOPE_SPANS.spans);
      writeMcpCall(this.#writer, facts, trace, call);
      this.#writer.end(span);
    }
    this.count += spanCount(facts);
  }

  /** Returns the collected spans and starts the next batch. */
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
    writeResource(writer, RESOURCE_SPANS.resource, resource);
    this.#scopeSpans = writer.begin(RESOURCE_SPANS.scopeSpans);
    writeScope(writer, SCOPE_SPANS.scope, version);
  }

  #writeRequest(facts: RequestFacts, trace: RequestTrace): void {
    const writer = this.#writer;
    const span = writer.begin(SCOPE_SPANS.spans);
    writer.hex(SPAN.traceId, trace.traceId);
    writer.hex(SPAN.spanId, trace.spanId);
    if (trace.parentSpanId !== null) writer.hex(SPAN.parentSpanId, trace.parentSpanId);
    if (trace.state !== null) writer.text(SPAN.traceState, redact(trace.state));
    writeSpanTimes(writer, facts, facts.startedAt, facts.endedAt);
    writeText(writer, SPAN.attributes, "gatehouse.request_id", facts.requestId);
    if (facts.mirrorOf !== null) writeText(writer, SPAN.attributes, "gatehouse.mirror_of", facts.mirrorOf);
    if (facts.isDrained) writeText(writer, SPAN.attributes, "gatehouse.drained", "true");
    if (facts.firstTokenAt !== null) {
      writeSeconds(writer, "gatehouse.time_to_first_token", facts.firstTokenAt - facts.startedAt);
      writeSeconds(writer, "gatehouse.time_per_output_token", msPerOutputToken(facts));
    }
    if (facts.mcp !== null) writeMcpAttributes(writer, facts.mcp);
    writer.raw(commonPartOfRequest(facts));
    writer.end(span);
  }

  #writeAttempt(facts: RequestFacts, trace: RequestTrace, attempt: AttemptFacts): void {
    const writer = this.#writer;
    const span = writer.begin(SCOPE_SPANS.spans);
    writer.hex(SPAN.traceId, trace.traceId);
    writer.hex(SPAN.spanId, attempt.spanId ?? "");
    writer.hex(SPAN.parentSpanId, trace.spanId);
    writeSpanTimes(writer, facts, attempt.startedAt, attempt.endedAt ?? facts.endedAt);
    const { tokens, firstTokenAt } = attempt === facts.finalAttempt ? facts : NO_RESPONSE;
    if (firstTokenAt !== null)
      writeSeconds(writer, "gen_ai.response.time_to_first_chunk", firstTokenAt - attempt.startedAt);
    if (tokens !== null) this.#writeTokens(tokens);
    if (facts.sampling !== null) {
      writeNumber(writer, SPAN.attributes, "gen_ai.request.max_tokens", facts.sampling.maxTokens);
      writeDouble(writer, SPAN.attributes, "gen_ai.request.temperature", facts.sampling.temperature);
    }
    if (attempt.details !== null) this.#writeDetails(attempt.details);
    writer.raw(commonPartOfAttempt(facts, attempt));
    writer.end(span);
  }

  #writeTokens({ input, output, cachedInput, cacheWrite, reasoning }: TokenFacts): void {
    const writer = this.#writer;
    writeNumber(writer, SPAN.attributes, "gen_ai.usage.input_tokens", input);
    writeNumber(writer, SPAN.attributes, "gen_ai.usage.output_tokens", output);
    // Most responses have none of these parts.
    const parts = {
      "cache_read.input": cachedInput,
      "cache_creation.input": cacheWrite,
      "reasoning.output": reasoning,
    };
    for (const [name, count] of Object.entries(parts))
      if (count > 0) writeNumber(writer, SPAN.attributes, `gen_ai.usage.${name}_tokens`, count);
  }

  #writeDetails({ id, finishReasons }: ResponseDetails): void {
    const writer = this.#writer;
    const reasons = finishReasons.map(truncateText);
    writeText(writer, SPAN.attributes, "gen_ai.response.id", truncateText(id));
    writeTexts(writer, SPAN.attributes, "gen_ai.response.finish_reasons", reasons);
  }
}

/**
 * The encoded part of a span that similar requests have in common. The last one per rule and per target is kept, because most
 * requests repeat it.
 */
interface CommonPart {
  /** The values that the bytes were encoded from. */
  readonly values: readonly unknown[];
  readonly bytes: Uint8Array;
}

const requestParts = new WeakMap<object, CommonPart>();
const attemptParts = new WeakMap<object, CommonPart>();

function commonPartOfRequest(facts: RequestFacts): Uint8Array {
  const { method, path, status, outcome, gatewayName, attempts, revision, errorCode } = facts;
  const injected = facts.fault;
  const isCopy = facts.mirrorOf !== null;
  const error = facts.finalAttempt?.fault ?? null;
  const mcpName = facts.mcp === null ? null : mcpSpanName(facts.mcp);
  const mcpError = facts.mcp === null ? null : mcpErrorOf(facts.mcp, facts);
  const values = [
    method,
    path,
    status,
    outcome,
    gatewayName,
    attempts.length,
    revision,
    errorCode,
    error,
    injected,
    isCopy,
    mcpName,
    mcpError,
  ];
  const owner = facts.rule ?? facts.gateway;
  const known = requestParts.get(owner);
  if (known !== undefined && isSame(known.values, values)) return known.bytes;
  const route = facts.rule?.names.rule.path;
  // A 4xx status is an error of the client, which a server span does not report as its own (HTTP conventions).
  const hasFailed = status >= 500 || outcome === "incomplete" || mcpError !== null;
  const served = route === undefined ? method : `${method} ${route}`;
  const name = isCopy ? `mirror ${served}` : (mcpName ?? served);
  const bytes = encodeCommonPart(name, isCopy ? INTERNAL : SERVER, hasFailed, (write) => {
    writeText(write, SPAN.attributes, "http.request.method", method);
    writeText(write, SPAN.attributes, "http.route", route);
    writeNumber(write, SPAN.attributes, "http.response.status_code", status);
    writeText(write, SPAN.attributes, "url.path", path);
    writeText(write, SPAN.attributes, "url.scheme", "http");
    if (hasFailed)
      writeText(
        write,
        SPAN.attributes,
        "error.type",
        mcpError ?? errorCode ?? facts.finalAttempt?.fault ?? String(status),
      );
    writeText(write, SPAN.attributes, "gatehouse.gateway", gatewayName);
    writeText(write, SPAN.attributes, "gatehouse.outcome", outcome);
    writeNumber(write, SPAN.attributes, "gatehouse.attempts", attempts.length);
    writeNumber(write, SPAN.attributes, "gatehouse.revision", revision);
    writeText(write, SPAN.attributes, "gatehouse.fault", injected);
  });
  requestParts.set(owner, { values, bytes });
  return bytes;
}

function commonPartOfAttempt(facts: RequestFacts, attempt: AttemptFacts): Uint8Array {
  const { method } = facts;
  const { target, model, status, fault, purpose } = attempt;
  const operation = genAiOperationOf(facts);
  const responseModel = attempt.responseModel ?? truncateText(attempt.details?.model ?? null);
  const translation = translationText(attempt.translation);
  const values = [method, operation, model, status, fault, responseModel, translation, purpose];
  const known = attemptParts.get(target);
  if (known !== undefined && isSame(known.values, values)) return known.bytes;
  const hasFailed = fault !== null || (status !== null && status >= 400);
  const name = operation === null ? method : model === null ? operation : `${operation} ${model}`;
  const bytes = encodeCommonPart(name, CLIENT, hasFailed, (write) => {
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
    writeText(write, SPAN.attributes, "gatehouse.translation", translation);
    if (purpose !== "request") writeText(write, SPAN.attributes, "gatehouse.purpose", purpose);
  });
  attemptParts.set(target, { values, bytes });
  return bytes;
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}

function writeSeconds(write: ProtobufWriter, key: string, milliseconds: number | null): void {
  writeDouble(write, SPAN.attributes, key, milliseconds === null ? null : milliseconds / 1000);
}
