// A request as spans in OTLP's JSON: one of the request itself, one of each attempt, in OpenTelemetry's HTTP and GenAI
// words. Never a prompt, an answer or a credential. Written as text at once: the objects that it would be written from
// cost three times as much.
import { redact } from "./redact.ts";
import type { AttemptFacts, RequestFacts } from "./request-facts.ts";
import type { RequestTrace } from "./request-trace.ts";

const SERVER = 2;
const CLIENT = 3;
const NO_STATUS = "{}";
const ERROR_STATUS = '{"code":2}';

export function spanCount({ attempts }: RequestFacts): number {
  return 1 + attempts.length;
}

/** The spans of a request that is traced, between commas. */
export function spansOf(facts: RequestFacts, trace: RequestTrace): string {
  let spans = requestSpan(facts, trace);
  for (const attempt of facts.attempts) spans += `,${attemptSpan(facts, trace, attempt)}`;
  return spans;
}

function requestSpan(facts: RequestFacts, trace: RequestTrace): string {
  const { method, status, outcome, rule } = facts;
  const route = rule?.names.rule.path;
  // A client's mistake is not the server's error.
  const hasFailed = status >= 500 || outcome === "incomplete";
  const error = facts.errorCode ?? facts.answeredBy?.fault ?? String(status);
  const { parentSpanId, state } = trace;
  const above =
    (parentSpanId === null ? "" : `"parentSpanId":"${parentSpanId}",`) +
    (state === null ? "" : `"traceState":${quoted(state)},`);
  const attributes =
    text("http.request.method", known(method)) +
    (route === undefined ? "" : text("http.route", known(route))) +
    number("http.response.status_code", status) +
    text("url.path", known(facts.path)) +
    text("url.scheme", '"http"') +
    (hasFailed ? text("error.type", quoted(error)) : "") +
    text("gatehouse.request_id", quoted(facts.requestId)) +
    (facts.gatewayName === null ? "" : text("gatehouse.gateway", known(facts.gatewayName))) +
    text("gatehouse.outcome", known(outcome)) +
    number("gatehouse.attempts", facts.attempts.length) +
    number("gatehouse.revision", facts.revision);
  const name = known(route === undefined ? method : `${method} ${route}`);
  const ids = `"traceId":"${trace.traceId}","spanId":"${trace.spanId}",${above}`;
  return span(ids, name, SERVER, times(facts, facts.startedAt, facts.endedAt), attributes, hasFailed);
}

function attemptSpan(facts: RequestFacts, trace: RequestTrace, attempt: AttemptFacts): string {
  const { target, model, status, fault, responseModel } = attempt;
  const { operation, method } = facts;
  const hasFailed = fault !== null || (status !== null && status >= 400);
  const tokens = attempt === facts.answeredBy ? facts.tokens : null;
  const attributes =
    (operation === null ? "" : text("gen_ai.operation.name", known(operation))) +
    text("gen_ai.provider.name", known(target.semanticName)) +
    (model === null ? "" : text("gen_ai.request.model", known(model))) +
    (responseModel === null ? "" : text("gen_ai.response.model", known(responseModel))) +
    (tokens === null
      ? ""
      : number("gen_ai.usage.input_tokens", tokens.input) +
        number("gen_ai.usage.output_tokens", tokens.output)) +
    text("server.address", known(target.address.hostname)) +
    number("server.port", target.address.port) +
    text("http.request.method", known(method)) +
    (status === null ? "" : number("http.response.status_code", status)) +
    (hasFailed ? text("error.type", quoted(fault ?? String(status))) : "") +
    text("gatehouse.target", known(target.id));
  const name = operation === null ? method : model === null ? operation : `${operation} ${model}`;
  const ids = `"traceId":"${trace.traceId}","spanId":"${attempt.spanId ?? ""}","parentSpanId":"${trace.spanId}",`;
  const when = times(facts, attempt.startedAt, attempt.endedAt ?? facts.endedAt);
  return span(ids, known(name), CLIENT, when, attributes, hasFailed);
}

/** Every attribute ends with a comma, the last one's is left off. */
function span(
  ids: string,
  name: string,
  kind: number,
  when: string,
  attributes: string,
  hasFailed: boolean,
): string {
  const status = hasFailed ? ERROR_STATUS : NO_STATUS;
  return `{${ids}"name":${name},"kind":${kind},${when},"attributes":[${attributes.slice(0, -1)}],"status":${status}}`;
}

function text(key: string, value: string): string {
  return `{"key":"${key}","value":{"stringValue":${value}}},`;
}

/** 64-bit numbers are texts in JSON. */
function number(key: string, value: number): string {
  return `{"key":"${key}","value":{"intValue":"${Math.round(value)}"}},`;
}

function quoted(value: string): string {
  return JSON.stringify(redact(value));
}

/** Names come again and again: most have been written before. */
const written = new Map<string, string>();
const MAX_WRITTEN = 2000;

function known(value: string): string {
  let json = written.get(value);
  if (json === undefined) {
    json = quoted(value);
    if (written.size >= MAX_WRITTEN) written.clear();
    written.set(value, json);
  }
  return json;
}

/** Times of the monotonic clock on the wall clock as it stood at the request's end. */
function times({ endedAt, endedWallMs }: RequestFacts, from: number, to: number): string {
  const offset = endedWallMs - endedAt;
  return `"startTimeUnixNano":"${nanoseconds(offset + from)}","endTimeUnixNano":"${nanoseconds(offset + to)}"`;
}

/** Whole microseconds: nanoseconds since the epoch are more than a number can hold. */
function nanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1000)}000`;
}
