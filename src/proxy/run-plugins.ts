// Runs the plugins of a gateway, stage by stage: in order, under a deadline, each failing alone.
import { GatehouseError } from "../base/errors.ts";
import type { ChainLink, PluginChain } from "../snapshot/plugin-chain.ts";
import type { Log } from "../telemetry/log.ts";
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
}

/** Null: the request goes on; otherwise what a plugin answered instead. */
export async function runPreRequest(
  exchange: Exchange,
  chain: PluginChain,
  parts: PluginParts,
): Promise<Response | null> {
  for (const link of chain.pre_request ?? []) {
    const context = new ExchangeRequestContext(exchange, link.notesKey, parts);
    let response: Response | null = null;
    // An answer that cannot be sent is a fault of the plugin like any other.
    const answered = () => (response = context.response());
    await run(link, exchange, parts, () => link.hooks.pre_request?.(context), answered);
    if (response !== null) return response;
  }
  return null;
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
    const context = new ExchangeAnswerContext(exchange, link.notesKey, parts, answer, status, headers);
    await run(link, exchange, parts, () => link.hooks.post_request?.(context));
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
    const context = new ExchangeBodyContext(exchange, link.notesKey, parts, answer, status, current, isLast);
    await run(link, exchange, parts, () => link.hooks.pre_response?.(context));
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
    const context = new ExchangeEndContext(exchange, link.notesKey, parts, outcome, status);
    run({ ...link, continuesOnError: true }, exchange, parts, () =>
      link.hooks.post_response?.(context),
    ).catch(() => undefined);
  }
}

async function run(
  link: ChainLink,
  { requestId }: Exchange,
  { log }: PluginParts,
  call: () => unknown,
  then?: () => unknown,
): Promise<void> {
  try {
    const done = call();
    // Most hooks are done when they return: only those that are not cost a timer.
    if (isThenable(done)) await withinDeadline(Promise.resolve(done));
    then?.();
  } catch (fault) {
    log.error({ request_id: requestId, plugin: link.name, err: fault }, "a plugin failed");
    if (!link.continuesOnError)
      throw new GatehouseError("plugin_failed", `The plugin ${link.name} failed.`, { cause: fault });
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
