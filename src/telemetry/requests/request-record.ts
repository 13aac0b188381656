// A request as the request log of the Admin API shows it.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { BodyTexts } from "./body-capture.ts";
import type { Operation } from "../../formats/operations.ts";
import {
  msPerOutputToken,
  type AttemptFacts,
  type HedgeResult,
  type RequestFacts,
  type TranslationFacts,
} from "./request-facts.ts";
import { mcpOutcomeOf, type McpCallFacts, type McpOutcome } from "./mcp-facts.ts";
import { operationOf, translationOf } from "./request-operation.ts";
import type { ShadowRun } from "./shadow-report.ts";
import type { PluginVerdict } from "../metrics/observed-plugin.ts";

interface AttemptRecord {
  readonly target_id: string;
  readonly provider: string;
  readonly model: string | null;
  readonly status: number | null;
  readonly fault: string | null;
  readonly purpose: AttemptFacts["purpose"];
  readonly retry_refused_by: string | null;
  /** Since the request's start. */
  readonly start_ms: number;
  /** Since the attempt's start. */
  readonly first_byte_ms: number | null;
  readonly ms: number;
}

interface McpCallRecord {
  readonly server_id: string;
  readonly server: string;
  readonly method: string;
  readonly status: number | null;
  readonly fault: string | null;
  readonly error: number | null;
  /** Since the request's start. */
  readonly start_ms: number;
  readonly ms: number;
}

interface McpRefusalRecord {
  readonly server_id: string;
  readonly server: string;
  readonly method: string;
  readonly code: string;
  readonly count: number;
}

export interface RequestRecord {
  readonly request_id: string;
  /** The request that this one is a copy of; null for requests of clients. */
  readonly mirror_of: string | null;
  /** The node that served the request; present if nodes share Redis. */
  readonly node?: string;
  readonly time: string;
  readonly revision: number;
  readonly gateway_id: string | null;
  readonly gateway: string | null;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation | null;
  readonly rule: { readonly id: string; readonly name: string | null; readonly path: string } | null;
  readonly api_key: { readonly id: string; readonly name: string } | null;
  readonly status: number;
  readonly outcome: RequestFacts["outcome"];
  readonly error_code: string | null;
  readonly provider: string | null;
  readonly target_id: string | null;
  readonly model: string | null;
  readonly requested_model: string | null;
  readonly virtual_model: {
    readonly name: string;
    readonly fallback: string | null;
    readonly reason: string | null;
    readonly canary: "canary" | "stable" | null;
  } | null;
  readonly mcp: {
    readonly method: string | null;
    readonly tool: string | null;
    readonly server: { readonly id: string; readonly name: string } | null;
    readonly protocol_version: string | null;
    readonly outcome: McpOutcome;
    readonly error: number | null;
    readonly calls: readonly McpCallRecord[];
    readonly refusals: readonly McpRefusalRecord[];
  } | null;
  readonly fault: string | null;
  readonly translation: TranslationFacts | null;
  readonly stream: boolean;
  readonly drained: boolean;
  readonly attempts: readonly AttemptRecord[];
  readonly hedge: {
    readonly result: HedgeResult;
    readonly after_ms: number;
    readonly cost: number | null;
  } | null;
  readonly tokens: {
    readonly input: number;
    readonly output: number;
    readonly cached_input: number;
    readonly cache_write: number;
    readonly reasoning: number;
    readonly partial: boolean;
  } | null;
  readonly cost: number | null;
  readonly timings: {
    readonly total_ms: number;
    readonly first_byte_ms: number | null;
    readonly first_token_ms: number | null;
    readonly ms_per_output_token: number | null;
    readonly body_ms: number;
    readonly plugins_ms: number;
    readonly upstream_ms: number;
  };
  readonly plugins: readonly {
    readonly name: string;
    readonly stage: string;
    readonly ms: number;
    readonly verdict: PluginVerdict;
    readonly detail: string | null;
  }[];
  readonly shadow: readonly ShadowRun[];
  readonly bodies?: BodyTexts;
}

/** Returns a promise if a captured body must be decoded first. */
export function recordOf(facts: RequestFacts): ValueOrPromise<RequestRecord> {
  const bodies = facts.bodies?.texts() ?? null;
  return isPromise(bodies) ? bodies.then((texts) => record(facts, texts)) : record(facts, bodies);
}

function virtualModelOf({ virtualModel }: RequestFacts): RequestRecord["virtual_model"] {
  if (virtualModel === null) return null;
  const { name, fallback, reason, canary } = virtualModel;
  return { name, fallback, reason, canary };
}

function record(facts: RequestFacts, bodies: BodyTexts | null): RequestRecord {
  const { startedAt, finalAttempt, firstTokenAt, tokens } = facts;
  const plugins = facts.plugins ?? [];
  // If no response was sent to the client, the last attempt.
  const attempt = finalAttempt ?? facts.attempts.at(-1) ?? null;
  const firstByteAt = finalAttempt?.firstByteAt ?? null;
  const msPerToken = msPerOutputToken(facts);
  return {
    request_id: facts.requestId,
    mirror_of: facts.mirrorOf,
    time: new Date(startOf(facts)).toISOString(),
    revision: facts.revision,
    gateway_id: facts.gatewayId,
    gateway: facts.gatewayName,
    method: facts.method,
    path: facts.path,
    operation: operationOf(facts),
    rule: facts.rule?.names.rule ?? null,
    api_key: facts.apiKeyId === null ? null : { id: facts.apiKeyId, name: facts.apiKeyName ?? "" },
    status: facts.status,
    outcome: facts.outcome,
    error_code: facts.errorCode,
    provider: attempt?.target.provider ?? null,
    target_id: attempt?.target.id ?? null,
    model: attempt?.model ?? null,
    requested_model: facts.requestedModel,
    virtual_model: virtualModelOf(facts),
    mcp: mcpRecord(facts),
    fault: facts.fault,
    translation: translationOf(facts),
    stream: facts.isStream,
    drained: facts.isDrained,
    attempts: facts.attempts.map((each) => attemptRecord(each, facts)),
    hedge: hedgeRecord(facts.hedge),
    tokens: tokens === null ? null : tokenRecord(tokens),
    cost: facts.cost,
    timings: {
      total_ms: round(facts.endedAt - startedAt),
      first_byte_ms: firstByteAt === null ? null : round(firstByteAt - startedAt),
      first_token_ms: firstTokenAt === null ? null : round(firstTokenAt - startedAt),
      ms_per_output_token: msPerToken === null ? null : round(msPerToken),
      body_ms: round(facts.bodyMs),
      plugins_ms: round(plugins.reduce((total, { ms }) => total + ms, 0)),
      upstream_ms: round(upstreamMs(facts)),
    },
    plugins: plugins.map(({ name, stage, ms, verdict, detail }) => ({
      name,
      stage,
      ms: round(ms),
      verdict,
      detail,
    })),
    shadow: (facts.shadow ?? []).map((run) => ({ ...run, ms: round(run.ms) })),
    ...(bodies !== null && { bodies }),
  };
}

function mcpRecord(facts: RequestFacts): RequestRecord["mcp"] {
  const { mcp } = facts;
  if (mcp === null) return null;
  const { method, tool, server, protocolVersion, errorCode, calls, refusals } = mcp;
  return {
    method,
    tool,
    server: server === null ? null : { id: server.id, name: server.name },
    protocol_version: protocolVersion,
    outcome: mcpOutcomeOf(mcp, facts),
    error: errorCode,
    calls: calls.map((call) => mcpCallRecord(call, facts)),
    refusals: refusals.map(({ server: { id, name }, ...refusal }) => ({
      server_id: id,
      server: name,
      ...refusal,
    })),
  };
}

function mcpCallRecord(call: McpCallFacts, facts: RequestFacts): McpCallRecord {
  return {
    server_id: call.server.id,
    server: call.server.name,
    method: call.method,
    status: call.status,
    fault: call.fault,
    error: call.errorCode,
    start_ms: round(call.startedAt - facts.startedAt),
    ms: round(durationOf(call, facts)),
  };
}

function upstreamMs(facts: RequestFacts): number {
  const sent = [...facts.attempts, ...(facts.mcp?.calls ?? [])];
  return sent.reduce((total, each) => total + durationOf(each, facts), 0);
}

function hedgeRecord(hedge: RequestFacts["hedge"]): RequestRecord["hedge"] {
  return hedge === null ? null : { result: hedge.result, after_ms: hedge.afterMs, cost: hedge.cost };
}

/** Milliseconds since the epoch. */
export function startOf({ startedAt, endedAt, endedWallMs }: RequestFacts): number {
  return endedWallMs - (endedAt - startedAt);
}

function tokenRecord(tokens: NonNullable<RequestFacts["tokens"]>): RequestRecord["tokens"] {
  const { input, output, cachedInput, cacheWrite, reasoning, isPartial } = tokens;
  return { input, output, cached_input: cachedInput, cache_write: cacheWrite, reasoning, partial: isPartial };
}

function attemptRecord(attempt: AttemptFacts, facts: RequestFacts): AttemptRecord {
  const { target, model, status, fault, purpose, retryRefusedBy, startedAt, firstByteAt } = attempt;
  return {
    target_id: target.id,
    provider: target.provider,
    model,
    status,
    fault,
    purpose,
    retry_refused_by: retryRefusedBy,
    start_ms: round(startedAt - facts.startedAt),
    first_byte_ms: firstByteAt === null ? null : round(firstByteAt - startedAt),
    ms: round(durationOf(attempt, facts)),
  };
}

function durationOf(
  { startedAt, endedAt }: Pick<AttemptFacts, "startedAt" | "endedAt">,
  facts: RequestFacts,
): number {
  return (endedAt ?? facts.endedAt) - startedAt;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100;
}
