// Calls whose client has left and whose provider is read to its usage (`on_cancel: drain` of an upstream), so that they are settled exactly.
import type { Clock, ClockTimer } from "../base/clock.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";

const MAX_CALLS = 100;
const MAX_DRAIN_MS = 30_000;

/** The parts of an exchange that decide whether it is read on. */
interface LeftExchange {
  readonly gateway: CompiledGateway | null;
  readonly rule: CompiledRule | null;
  readonly attempts: number;
  readonly handshake: object | null;
  readonly upload: { readonly endedAt: number | null } | null;
  readonly isOver: boolean;
  readonly finished: boolean;
  readonly usage: { readonly isPartial: boolean } | null;
  abort(error: UpstreamError): void;
}

type DrainResult = "settled" | "unsettled" | "refused";

export class DrainedCalls {
  readonly #open = new Map<LeftExchange, ClockTimer>();
  readonly #clock: Clock;
  readonly #metrics: Metrics;
  readonly #isStopping: () => boolean;
  #onFinished: (() => void) | null = null;

  /** `isStopping`: the process takes no further requests. */
  constructor(clock: Clock, metrics: Metrics, isStopping: () => boolean) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#isStopping = isStopping;
  }

  /**
   * Call when the client of a request has left. Returns true if the provider is read on: the request then ends with its response, or is aborted
   * after 30 seconds.
   */
  begin(exchange: LeftExchange): boolean {
    const { rule, attempts, handshake, upload, isOver, finished } = exchange;
    if (rule === null || rule.upstream.onCancel !== "drain" || finished || isOver) return false;
    // An upload needs its client, and the messages of a WebSocket are settled one by one.
    if (attempts === 0 || handshake !== null || (upload !== null && upload.endedAt === null)) return false;
    if (this.#open.size >= MAX_CALLS || this.#isStopping()) {
      this.#count(exchange, "refused");
      return false;
    }
    const abort = () => exchange.abort(new UpstreamError("client_left"));
    this.#open.set(exchange, this.#clock.setTimeout(abort, MAX_DRAIN_MS));
    this.#updateGauge();
    return true;
  }

  /** Call when a request has ended that was read on. */
  ended(exchange: LeftExchange): void {
    const timer = this.#open.get(exchange);
    if (timer === undefined) return;
    timer.close();
    this.#open.delete(exchange);
    this.#updateGauge();
    this.#count(exchange, exchange.usage?.isPartial === false ? "settled" : "unsettled");
    if (this.#open.size === 0) this.#onFinished?.();
  }

  /** Resolves when none is open. */
  async finished(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => (this.#onFinished = resolve));
  }

  /** Call when the time for running requests is over. Resolves when all are settled. */
  async stop(): Promise<void> {
    for (const exchange of [...this.#open.keys()]) exchange.abort(new UpstreamError("client_left"));
    await this.finished();
  }

  #updateGauge(): void {
    this.#metrics.number("gatehouse_draining_responses", {}).value = this.#open.size;
  }

  #count({ gateway, rule }: LeftExchange, result: DrainResult): void {
    const labels = { gateway: gateway?.gateway.name ?? "", upstream: rule?.upstream.name ?? "", result };
    this.#metrics.number("gatehouse_drained_responses_total", labels).add();
  }
}
