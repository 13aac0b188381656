// Runs the plugins of a gateway, stage by stage: in order, under a deadline, each failing alone.
import { GatehouseError } from "../base/errors.ts";
import { withTimeout } from "../base/with-timeout.ts";
import type { ChainLink, PluginChain } from "../snapshot/plugin-chain.ts";
import type { PluginStage } from "../model/plugin-stage.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Observation } from "../telemetry/observation.ts";
import { PluginRun } from "../telemetry/metrics/observed-plugin.ts";
import type { TargetResponse } from "./target-response.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import {
  ExchangeResponseContext,
  ExchangeBodyContext,
  ExchangeEndContext,
  ExchangeRequestContext,
  type ContextParts,
} from "./plugin-contexts.ts";

export const PLUGIN_DEADLINE_MS = 5000;

/** What the hook of each stage is given. */
interface Contexts {
  pre_request: ExchangeRequestContext;
  post_request: ExchangeResponseContext;
  pre_response: ExchangeBodyContext;
  post_response: ExchangeEndContext;
}
type ContextOf<Stage extends PluginStage> = Contexts[Stage];

export interface PluginParts extends ContextParts {
  readonly log: Log;
  readonly observation: Observation;
}

/** What plugins answered instead of a provider; null: the request goes on. Only a plugin that waits is waited for. */
type PreRequestEnd = Response | null | Promise<Response | null>;

export function runPreRequest(exchange: Exchange, chain: PluginChain, parts: PluginParts): PreRequestEnd {
  return runPreRequestFrom(0, exchange, chain.pre_request ?? [], parts);
}

function runPreRequestFrom(
  first: number,
  exchange: Exchange,
  links: readonly ChainLink[],
  parts: PluginParts,
): PreRequestEnd {
  for (let index = first; index < links.length; index++) {
    const end = runOnePreRequest(exchange, links[index] as ChainLink, parts);
    if (end instanceof Promise) return goOnAfter(end, index + 1, exchange, links, parts);
    if (end !== null) return end;
  }
  return null;
}

async function goOnAfter(
  waited: Promise<Response | null>,
  next: number,
  exchange: Exchange,
  links: readonly ChainLink[],
  parts: PluginParts,
): Promise<Response | null> {
  return (await waited) ?? runPreRequestFrom(next, exchange, links, parts);
}

export function runOnePreRequest(exchange: Exchange, link: ChainLink, parts: PluginParts): PreRequestEnd {
  const observed = beginRun(exchange, link, "pre_request", parts);
  const context = new ExchangeRequestContext(exchange, link.notesKey, observed, parts);
  // An answer that cannot be sent is a fault of the plugin like any other.
  return run(link, "pre_request", context, answerOf, null, exchange, observed, parts);
}

function answerOf(context: ExchangeRequestContext): Response | null {
  return context.response();
}

/** Changes `headers` in place and resolves to the status. */
export async function runPostRequest(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  answer: TargetResponse,
  headers: Headers,
): Promise<number> {
  let { status } = answer.response;
  for (const link of chain.post_request ?? []) {
    const observed = beginRun(exchange, link, "post_request", parts);
    const { notesKey } = link;
    const context = new ExchangeResponseContext(exchange, notesKey, observed, parts, answer, status, headers);
    await run(link, "post_request", context, nothing, undefined, exchange, observed, parts);
    ({ status } = context);
  }
  return status;
}

export async function runPreResponse(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  answer: TargetResponse,
  status: number,
  chunk: Uint8Array,
  isLast: boolean,
): Promise<Uint8Array> {
  let current = chunk;
  for (const link of chain.pre_response ?? []) {
    const observed = beginRun(exchange, link, "pre_response", parts);
    const { notesKey } = link;
    const context = new ExchangeBodyContext(
      exchange,
      notesKey,
      observed,
      parts,
      answer,
      status,
      current,
      isLast,
    );
    await run(link, "pre_response", context, nothing, undefined, exchange, observed, parts);
    current = context.chunk;
  }
  return current;
}

/** Nobody waits for these; what they throw is told in the log only. */
export function runPostResponse(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  outcome: Outcome,
  status: number,
): void {
  for (const link of chain.post_response ?? []) {
    const observed = beginRun(exchange, link, "post_response", parts);
    const context = new ExchangeEndContext(exchange, link.notesKey, observed, parts, outcome, status);
    const lenient = { ...link, continuesOnError: true };
    void run(lenient, "post_response", context, nothing, undefined, exchange, observed, parts);
  }
}

/** A plugin that gets an answer chunk by chunk runs once for all of them. */
function beginRun(
  exchange: Exchange,
  link: ChainLink,
  stage: PluginStage,
  { observation }: PluginParts,
): PluginRun {
  const gateway = exchange.gateway?.gateway.name ?? "";
  const plugin = observation.routes.plugin(link, gateway, link.name, stage);
  const runs = (exchange.pluginRuns ??= []);
  const known = stage === "pre_response" ? runs.find((each) => each.isOf(plugin)) : undefined;
  if (known !== undefined) return known;
  const begun = new PluginRun(plugin);
  runs.push(begun);
  return begun;
}

function nothing(): undefined {
  return undefined;
}

/**
 * Calls a hook with its context, then `then`. Most hooks are done when they return: only those that are not cost a promise
 * and a timer, and this function makes no closure on the way. `otherwise` is what it comes to where the plugin failed and
 * the request goes on without it.
 */
function run<Stage extends PluginStage, T>(
  link: ChainLink,
  stage: Stage,
  context: ContextOf<Stage>,
  then: (context: ContextOf<Stage>) => T,
  otherwise: T,
  exchange: Exchange,
  observed: PluginRun,
  parts: PluginParts,
): T | Promise<T> {
  const startedAt = performance.now();
  try {
    const hooks = link.hooks as { [S in Stage]?: (context: ContextOf<S>) => unknown };
    const done = hooks[stage]?.(context);
    if (isThenable(done))
      return runOn(done, link, context, then, otherwise, startedAt, exchange, observed, parts);
    const result = then(context);
    observed.ended(performance.now() - startedAt);
    return result;
  } catch (error) {
    return failed(error, link, otherwise, startedAt, exchange, observed, parts);
  }
}

/** The rest of `run` for a hook that is not done yet. */
async function runOn<Context, T>(
  done: PromiseLike<unknown>,
  link: ChainLink,
  context: Context,
  then: (context: Context) => T,
  otherwise: T,
  startedAt: number,
  exchange: Exchange,
  observed: PluginRun,
  parts: PluginParts,
): Promise<T> {
  try {
    await withTimeout(PLUGIN_DEADLINE_MS, Promise.resolve(done), tooLong);
    const result = then(context);
    observed.ended(performance.now() - startedAt);
    return result;
  } catch (error) {
    return failed(error, link, otherwise, startedAt, exchange, observed, parts);
  }
}

function failed<T>(
  error: unknown,
  link: ChainLink,
  otherwise: T,
  startedAt: number,
  { requestId }: Exchange,
  observed: PluginRun,
  { log }: PluginParts,
): T {
  observed.failed();
  observed.ended(performance.now() - startedAt);
  log.error({ request_id: requestId, plugin: link.name, err: error }, "a plugin failed");
  if (link.continuesOnError) return otherwise;
  throw new GatehouseError("plugin_failed", `The plugin ${link.name} failed.`, { cause: error });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

const tooLong = () => new Error(`took longer than ${PLUGIN_DEADLINE_MS} ms`);
