// The context of post_response hooks: what is known when the request has ended.
import type { EndContext } from "../sdk/index.ts";
import type { Outcome } from "../telemetry/requests/request-facts.ts";
import type { Exchange } from "./exchange.ts";
import type { PluginCall } from "./plugin-call.ts";
import { CallContext } from "./plugin-context.ts";

export class PostResponseContext extends CallContext implements EndContext {
  readonly status: number;
  readonly outcome: Outcome;
  readonly durationMs: number;
  readonly #exchange: Exchange;
  readonly #clientAddress: string;

  constructor(call: PluginCall, outcome: Outcome, status: number) {
    super(call);
    const { exchange, parts } = call;
    this.#exchange = exchange;
    // Looked up now: the connection may be closed when the hook reads the address.
    this.#clientAddress = parts.clientAddress(exchange);
    this.status = status;
    this.outcome = outcome;
    this.durationMs = exchange.clock.now() - exchange.startedAt;
  }

  override get clientAddress(): string {
    return this.#clientAddress;
  }
  get provider(): string | null {
    return this.#exchange.response?.target.provider ?? null;
  }
  get model(): string | null {
    return this.#exchange.response?.model ?? null;
  }
  get attempts(): number {
    return this.#exchange.attempts;
  }
  get usage(): EndContext["usage"] {
    return this.#exchange.usage;
  }
  get firstByteMs(): number | null {
    return this.#exchange.response?.firstByteMs ?? null;
  }
}
