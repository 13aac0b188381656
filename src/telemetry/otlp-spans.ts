// A request as spans in OTLP's JSON: one of the request itself, one of each attempt, in OpenTelemetry's HTTP and GenAI
// words. Never a prompt, an answer or a credential.
import { redact } from "./redact.ts";
import type { AttemptFacts, RequestFacts } from "./request-facts.ts";
import type { RequestTrace } from "./request-trace.ts";

export interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code?: number };
}

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

export function spanCount({ attempts }: RequestFacts): number {
  return 1 + attempts.length;
}

export function spansOf(facts: RequestFacts): OtlpSpan[] {
  const { trace } = facts;
  if (trace === null) return [];
  return [requestSpan(facts, trace), ...facts.attempts.map((attempt) => attemptSpan(facts, trace, attempt))];
}

function requestSpan(facts: RequestFacts, trace: RequestTrace): OtlpSpan {
  const { method, status, outcome, rule } = facts;
  const route = rule?.names.rule.path;
  // A client's mistake is not the server's error.
  const hasFailed = status >= 500 || outcome === "incomplete";
  const error = facts.errorCode ?? facts.answeredBy?.fault ?? String(status);
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    ...(trace.parentSpanId !== null && { parentSpanId: trace.parentSpanId }),
    ...(trace.state !== null && { traceState: trace.state }),
    name: route === undefined ? method : `${method} ${route}`,
    kind: SERVER,
    ...times(facts, facts.startedAt, facts.endedAt),
    attributes: attributes({
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": status,
      "url.path": redact(facts.path),
      "url.scheme": "http",
      "error.type": hasFailed ? error : undefined,
      "gatehouse.request_id": facts.requestId,
      "gatehouse.gateway": facts.gatewayName ?? undefined,
      "gatehouse.outcome": outcome,
      "gatehouse.attempts": facts.attempts.length,
      "gatehouse.revision": facts.revision,
    }),
    status: hasFailed ? { code: ERROR } : {},
  };
}

function attemptSpan(facts: RequestFacts, trace: RequestTrace, attempt: AttemptFacts): OtlpSpan {
  const { target, model, status, fault } = attempt;
  const { operation } = facts;
  const hasFailed = fault !== null || (status !== null && status >= 400);
  const tokens = attempt === facts.answeredBy ? facts.tokens : null;
  const named = model === null ? null : redact(model);
  return {
    traceId: trace.traceId,
    spanId: attempt.spanId ?? "",
    parentSpanId: trace.spanId,
    name: [operation ?? facts.method, operation === null ? null : named]
      .filter((word) => word !== null)
      .join(" "),
    kind: CLIENT,
    ...times(facts, attempt.startedAt, attempt.endedAt ?? facts.endedAt),
    attributes: attributes({
      "gen_ai.operation.name": operation ?? undefined,
      "gen_ai.provider.name": target.semanticName,
      "gen_ai.request.model": named ?? undefined,
      "gen_ai.response.model": attempt.responseModel === null ? undefined : redact(attempt.responseModel),
      "gen_ai.usage.input_tokens": tokens?.input,
      "gen_ai.usage.output_tokens": tokens?.output,
      "server.address": target.address.hostname,
      "server.port": target.address.port,
      "http.request.method": facts.method,
      "http.response.status_code": status ?? undefined,
      "error.type": hasFailed ? (fault ?? String(status)) : undefined,
      "gatehouse.target": target.id,
    }),
    status: hasFailed ? { code: ERROR } : {},
  };
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return [];
    // 64-bit numbers are texts in JSON.
    return {
      key,
      value: typeof value === "number" ? { intValue: String(Math.round(value)) } : { stringValue: value },
    };
  });
}

/** Times of the monotonic clock on the wall clock as it stood at the request's end. */
function times(
  { endedAt, endedWallMs }: RequestFacts,
  from: number,
  to: number,
): Pick<OtlpSpan, "startTimeUnixNano" | "endTimeUnixNano"> {
  // Whole microseconds: nanoseconds since the epoch are more than a number can hold.
  const nanoseconds = (time: number) => `${Math.round((endedWallMs + time - endedAt) * 1000)}000`;
  return { startTimeUnixNano: nanoseconds(from), endTimeUnixNano: nanoseconds(to) };
}
