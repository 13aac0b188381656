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

/** Null: the request goes on; otherwise what a plugin answered instead. */
export async function runPreRequest(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
): Promise<Response | null> {
  for (const link of chain.pre_request ?? []) {
    const response = await runOnePreRequest(exchange, link, parts);
    if (response !== null) return response;
  }
  return null;
}

export async function runOnePreRequest(
  exchange: Exchange,
  link: ChainLink,
  parts: PluginParts,
): Promise<Response | null> {
  const observed = beginRun(exchange, link, "pre_request", parts);
  const context = new ExchangeRequestContext(exchange, link.notesKey, observed, parts);
  let response: Response | null = null;
  // An answer that cannot be sent is a fault of the plugin like any other.
  const answered = () => (response = context.response());
  await run(link, exchange, observed, parts, () => link.hooks.pre_request?.(context), answered);
  if (response !== null) observed.verdict = "answered";
  return response;
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
    await run(link, exchange, observed, parts, () => link.hooks.post_request?.(context));
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
    await run(link, exchange, observed, parts, () => link.hooks.pre_response?.(context));
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
    run({ ...link, continuesOnError: true }, exchange, observed, parts, () =>
      link.hooks.post_response?.(context),
    ).catch(() => undefined);
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

async function run(
  link: ChainLink,
  { requestId }: Exchange,
  observed: PluginRun,
  { log }: PluginParts,
  call: () => unknown,
  then?: () => unknown,
): Promise<void> {
  const startedAt = performance.now();
  try {
    const done = call();
    // Most hooks are done when they return: only those that are not cost a timer.
    if (isThenable(done)) await withinDeadline(Promise.resolve(done));
    then?.();
  } catch (fault) {
    observed.failed();
    log.error({ request_id: requestId, plugin: link.name, err: fault }, "a plugin failed");
    if (!link.continuesOnError)
      throw new GatehouseError("plugin_failed", `The plugin ${link.name} failed.`, { cause: fault });
  } finally {
    observed.ended(performance.now() - startedAt);
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
