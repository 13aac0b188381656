// Runs the plugins of a gateway, stage by stage: in order, under a deadline, each failing alone.
import { GatehouseError } from "../base/errors.ts";
import type { ChainLink, PluginChain } from "../snapshot/plugin-chain.ts";
import type { PluginStage } from "../model/plugin-config.ts";
import type { Log } from "../telemetry/log.ts";
import type { Observation } from "../telemetry/observation.ts";
import { PluginRun } from "../telemetry/observed-plugin.ts";
import type { Answer } from "./answer.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import {
  ExchangeAnswerContext,
  ExchangeBodyContext,
  ExchangeEndContext,
  ExchangeRequestContext,
  type ContextParts,
} from "./plugin-contexts.ts";

export const PLUGIN_DEADLINE_MS = 5000;

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
    if (end instanceof Promise)
      return end.then((answered) => answered ?? runPreRequestFrom(index + 1, exchange, links, parts));
    if (end !== null) return end;
  }
  return null;
}

export function runOnePreRequest(exchange: Exchange, link: ChainLink, parts: PluginParts): PreRequestEnd {
  const observed = beginRun(exchange, link, "pre_request", parts);
  const context = new ExchangeRequestContext(exchange, link.notesKey, observed, parts);
  const call = () => link.hooks.pre_request?.(context);
  // An answer that cannot be sent is a fault of the plugin like any other.
  const answered = () => {
    const response = context.response();
    if (response !== null) observed.verdict = "answered";
    return response;
  };
  return run(link, exchange, observed, parts, call, answered, null);
}

/** Changes `headers` in place and resolves to the status. */
export async function runPostRequest(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  answer: Answer,
  headers: Headers,
): Promise<number> {
  let { status } = answer.response;
  for (const link of chain.post_request ?? []) {
    const observed = beginRun(exchange, link, "post_request", parts);
    const { notesKey } = link;
    const context = new ExchangeAnswerContext(exchange, notesKey, observed, parts, answer, status, headers);
    const call = () => link.hooks.post_request?.(context);
    await run(link, exchange, observed, parts, call, nothing, undefined);
    ({ status } = context);
  }
  return status;
}

export async function runPreResponse(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
  answer: Answer,
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
    const call = () => link.hooks.pre_response?.(context);
    await run(link, exchange, observed, parts, call, nothing, undefined);
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
    const call = () => link.hooks.post_response?.(context);
    void run({ ...link, continuesOnError: true }, exchange, observed, parts, call, nothing, undefined);
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

/** Calls a hook, then `then`. Most hooks are done when they return: only those that are not cost a promise and a timer. */
function run<T>(
  link: ChainLink,
  exchange: Exchange,
  observed: PluginRun,
  parts: PluginParts,
  call: () => unknown,
  then: () => T,
  /** What it comes to where the plugin failed and the request goes on without it. */
  otherwise: T,
): T | Promise<T> {
  const startedAt = performance.now();
  const failed = (fault: unknown): T => {
    observed.failed();
    observed.ended(performance.now() - startedAt);
    const { requestId } = exchange;
    parts.log.error({ request_id: requestId, plugin: link.name, err: fault }, "a plugin failed");
    if (link.continuesOnError) return otherwise;
    throw new GatehouseError("plugin_failed", `The plugin ${link.name} failed.`, { cause: fault });
  };
  const ended = (): T => {
    const result = then();
    observed.ended(performance.now() - startedAt);
    return result;
  };
  try {
    const done = call();
    if (isThenable(done)) return withinDeadline(Promise.resolve(done)).then(ended).catch(failed);
    return ended();
  } catch (fault) {
    return failed(fault);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

async function withinDeadline(work: Promise<unknown>): Promise<void> {
  let timer: Timer | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`took longer than ${PLUGIN_DEADLINE_MS} ms`)),
      PLUGIN_DEADLINE_MS,
    );
  });
  try {
    await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
