// The copies of requests that are being sent to mirrors. They are limited per gateway, and aborted when the process stops.
import type { Clock } from "../../base/clock.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { Exchange } from "../exchange.ts";

/** Copies of one gateway at the same time. Further ones are not sent. */
const MAX_COPIES_PER_GATEWAY = 64;
/** The time that aborted copies get to record what they have cost. */
const STOP_TIMEOUT_MS = 2000;

export class OpenMirrors {
  readonly #clock: Clock;
  readonly #isDraining: () => boolean;
  readonly #copies = new Set<Exchange>();
  readonly #sending = new Set<Promise<void>>();
  readonly #byGateway = new Map<string, number>();

  constructor(clock: Clock, isDraining: () => boolean) {
    this.#clock = clock;
    this.#isDraining = isDraining;
  }

  /** Whether a copy of a request may be taken now. */
  mayEnter(gatewayId: string): boolean {
    return !this.#isDraining() && (this.#byGateway.get(gatewayId) ?? 0) < MAX_COPIES_PER_GATEWAY;
  }

  enter(copy: Exchange): void {
    this.#copies.add(copy);
    this.#count(copy, 1);
  }

  /** Only the first call counts. */
  leave(copy: Exchange): void {
    if (this.#copies.delete(copy)) this.#count(copy, -1);
  }

  /** `sending` must not reject. */
  track(sending: Promise<void>): void {
    this.#sending.add(sending);
    void sending.then(() => this.#sending.delete(sending));
  }

  /** Aborts all copies. Resolves when they have recorded what they have cost, or after STOP_TIMEOUT_MS. */
  async stop(): Promise<void> {
    for (const copy of this.#copies) copy.abort(new UpstreamError("stopped"));
    if (this.#sending.size === 0) return;
    const late = Promise.withResolvers<undefined>();
    const timer = this.#clock.setTimeout(() => late.resolve(undefined), STOP_TIMEOUT_MS);
    await Promise.race([Promise.all(this.#sending), late.promise]);
    timer.close();
  }

  #count({ gateway }: Exchange, change: number): void {
    const id = gateway?.id ?? "";
    const count = (this.#byGateway.get(id) ?? 0) + change;
    if (count === 0) this.#byGateway.delete(id);
    else this.#byGateway.set(id, count);
  }
}
