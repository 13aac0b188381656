// What plugins do while a request is sent to a provider: calls to services of the gateway, and decisions that the response waits for.
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import { ServiceCallError } from "../sdk/index.ts";

/** Calls of one request at the same time. */
const MAX_CALLS = 8;

/** A plugin has rejected the request while its response was held. */
export class WithheldResponse extends Error {
  override readonly name = "WithheldResponse";
  readonly response: OutgoingResponse;

  constructor(response: OutgoingResponse) {
    super("a plugin has replaced the response");
    this.response = response;
  }
}

export class PluginWork {
  readonly #calls = new Set<AbortController>();
  /** In the order of the plugins. */
  readonly #decisions: Promise<OutgoingResponse | null>[] = [];
  #isAborted = false;

  static of(exchange: { pluginWork: PluginWork | null }): PluginWork {
    return (exchange.pluginWork ??= new PluginWork());
  }

  /** Begins a call to a service. Throws if there are too many. Call `endCall` when it has ended. */
  beginCall(): AbortController {
    if (this.#calls.size >= MAX_CALLS)
      throw new ServiceCallError("limit", `the request has ${MAX_CALLS} calls to services in progress`);
    const controller = new AbortController();
    this.#calls.add(controller);
    if (this.#isAborted) controller.abort();
    return controller;
  }

  endCall(controller: AbortController): void {
    this.#calls.delete(controller);
  }

  /** Aborts all calls: nothing needs their responses any more. */
  abort(): void {
    this.#isAborted = true;
    for (const controller of this.#calls) controller.abort();
  }

  /** The response waits for the decision. */
  hold(decision: Promise<OutgoingResponse | null>): void {
    // The request may end before its response is waited for.
    decision.catch(() => undefined);
    this.#decisions.push(decision);
  }

  /** Resolves to the response of the first plugin that rejects the request, or to null. Rejects if a plugin failed. */
  async decided(): Promise<OutgoingResponse | null> {
    for (const decision of this.#decisions) {
      const response = await decision;
      if (response !== null) return response;
    }
    return null;
  }
}
