// Explains what each plugin of a gateway would do with a request: runs the real hooks on a host without side effects.
import { GatehouseError } from "../base/errors.ts";
import type { ExplainedLimit, ExplainedPlugin } from "../model/explanation.ts";
import { PLUGIN_STAGES } from "../model/plugin-stage.ts";
import { whyUnsupported } from "../sdk/hook-table.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import type { PluginChain } from "../snapshot/plugin-chain.ts";
import { redact } from "../telemetry/log/redact.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { continuesAfter } from "../proxy/call-hook.ts";
import type { Exchange } from "../proxy/exchange.ts";
import type { LimiterCall } from "../proxy/limits/limiter-call.ts";
import { reserveLimits, type ClaimParts } from "../proxy/limits/reserve-claims.ts";
import type { PluginParts } from "../proxy/plugin-call.ts";
import { changesSince, stateOf } from "../proxy/request-changes.ts";
import { runOnePreRequest } from "../proxy/run-plugins.ts";
import { explainShadows, isolationOf, type ShadowParts } from "./explain-shadows.ts";
import { explainLimits } from "./explain-claims.ts";

const NOT_EXPLAINABLE =
  "not marked as explainable, so it was not run; the explanation continues as if it had passed";

type ExplainParts = PluginParts & ClaimParts & ShadowParts;
type End = OutgoingResponse | GatehouseError | null;

export interface ExplainedChain {
  readonly plugins: ExplainedPlugin[];
  /** The limits that plugins have checked by themselves. */
  readonly limits: ExplainedLimit[];
  /** The response or the failure of a plugin that ends the request; null if the request continues. */
  readonly end: End;
}

/** `isReached` is false if the request ends before its plugins would run. */
export async function explainPlugins(
  exchange: Exchange,
  chain: PluginChain | null,
  parts: ExplainParts,
  isReached: boolean,
): Promise<ExplainedChain> {
  const plugins: ExplainedPlugin[] = [];
  const limits: ExplainedLimit[] = [];
  const limiters = isReached ? (chain?.limiters ?? []) : [];
  let limiting: ReadonlyMap<ChainLink, ExplainedPlugin> = new Map();
  let end: End = null;
  const shadows = isReached ? (chain?.shadows?.pre_request ?? []) : [];
  const links = chain?.pre_request ?? [];
  for (const [position, link] of links.entries()) {
    if (end === null) plugins.push(...(await explainShadows(exchange, shadows, position, parts)));
    if (link === limiters[0] && end === null)
      ({ limiting, end } = await explainClaims(exchange, limiters, parts));
    const limiter = limiting.get(link);
    if (limiter !== undefined && (end !== null || link.hooks.pre_request === undefined))
      plugins.push(limiter);
    else if (end !== null || !isReached)
      plugins.push(explainedAs(link, "not_run", "the request ends before this plugin"));
    else {
      const explained = await explainOne(exchange, link, parts, limits);
      plugins.push(explained.plugin);
      end = explained.end;
    }
  }
  if (end === null) plugins.push(...(await explainShadows(exchange, shadows, links.length, parts)));
  for (const stage of PLUGIN_STAGES) {
    if (stage === "pre_request") continue;
    for (const link of [...(chain?.[stage] ?? []), ...(chain?.shadows?.[stage] ?? [])]) {
      const detail = whyUnsupported(stage, "explain");
      plugins.push({ name: link.name, stage, verdict: "not_run", detail, ...isolationOf(link) });
    }
  }
  return { plugins, limits, end };
}

/** Explains all plugins with claims, which are decided in one step. Throws if a budget rejects the request. */
async function explainClaims(
  exchange: Exchange,
  limiters: readonly ChainLink[],
  parts: ExplainParts,
): Promise<{ limiting: Map<ChainLink, ExplainedPlugin>; end: End }> {
  const limiting = new Map<ChainLink, ExplainedPlugin>();
  const explaining: ChainLink[] = [];
  const originals: ChainLink[] = [];
  for (const link of limiters) {
    if (link.createForExplanation === null) {
      limiting.set(link, explainedAs(link, "not_run", NOT_EXPLAINABLE));
      continue;
    }
    originals.push(link);
    explaining.push({ ...link, hooks: link.createForExplanation(() => undefined) });
  }
  const calls: LimiterCall[] = [];
  let end: End = null;
  try {
    end = await reserveLimits(exchange, explaining, parts, calls);
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    end = error;
  }
  for (const [index, { call }] of calls.entries()) {
    const link = originals[index];
    if (link === undefined) continue;
    const { verdict, detail } = call.run;
    const reported = detail === null ? null : redact(detail);
    const status = end === null ? null : `with status ${end.status}`;
    const consequence = link.continuesOnError ? "the request continues" : null;
    limiting.set(
      link,
      explainedAs(
        link,
        verdict,
        joinDetails(verdict === "answered" ? status : verdict === "failed" ? consequence : null, reported),
      ),
    );
  }
  return { limiting, end };
}

async function explainOne(
  exchange: Exchange,
  link: ChainLink,
  parts: PluginParts,
  limits: ExplainedLimit[],
): Promise<{ plugin: ExplainedPlugin; end: ExplainedChain["end"] }> {
  if (link.createForExplanation === null) {
    return { plugin: explainedAs(link, "not_run", NOT_EXPLAINABLE), end: null };
  }
  const before = stateOf(exchange, parts);
  try {
    const hooks = link.createForExplanation((checked, decision) =>
      limits.push(...explainLimits(checked, decision.states)),
    );
    // A failure must reach the catch below, which reports it, even if the request would continue.
    const explaining = { ...link, hooks, continuesOnError: false };
    const response = await runOnePreRequest(exchange, explaining, parts);
    const reported = exchange.pluginRuns?.at(-1)?.detail ?? null;
    if (response !== null) {
      const detail = joinDetails(`with status ${response.status}`, reported);
      return { plugin: explainedAs(link, "answered", detail), end: response };
    }
    const changes = changesSince(before, stateOf(exchange, parts));
    const [verdict, detail] =
      changes.length === 0 ? (["passed", null] as const) : (["changed", changes.join(", ")] as const);
    return { plugin: explainedAs(link, verdict, joinDetails(detail, reported)), end: null };
  } catch (error) {
    const failed =
      error instanceof GatehouseError
        ? error
        : new GatehouseError("plugin_failed", `The plugin ${link.name} failed.`, { cause: error });
    const reason = failed.cause instanceof Error ? failed.cause.message : failed.message;
    const continues = continuesAfter(failed.code === "plugin_failed" ? failed.cause : failed, link);
    return {
      plugin: explainedAs(link, "failed", redact(reason) + (continues ? "; the request continues" : "")),
      end: continues ? null : failed,
    };
  }
}

/** Joins what the explanation observed and what the plugin itself reported. */
function joinDetails(observed: string | null, reported: string | null): string | null {
  const redacted = reported === null ? null : redact(reported);
  return observed === null || redacted === null ? (observed ?? redacted) : `${observed}: ${redacted}`;
}

function explainedAs(
  link: ChainLink,
  verdict: ExplainedPlugin["verdict"],
  detail: string | null,
): ExplainedPlugin {
  return { name: link.name, stage: "pre_request", verdict, detail, ...isolationOf(link) };
}
