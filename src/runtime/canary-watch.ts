// Watches the canaries of virtual models, and switches those off that are too much worse than the other targets: with a revision that
// says why. Nodes add up their counts in the store.
import {
  CanaryWindow,
  rollbackReason,
  sumCounts,
  type Arm,
  type ArmCounts,
} from "../balance/canary-window.ts";
import type { Clock } from "../base/clock.ts";
import { newId } from "../base/ids.ts";
import type { Actor } from "../model/administrator.ts";
import { timeOfChange } from "../model/record.ts";
import type { VirtualModel } from "../model/virtual-model.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";

/** The counts of nodes are exchanged this long after a result, so that a canary is switched off within a second on all of them. */
const EXCHANGE_MS = 300;
/** Virtual models that are watched at the same time. */
const MAX_WATCHED = 1000;
const GATEHOUSE: Actor = { type: "gatehouse", id: null, name: "gatehouse" };

/** The canary of one version of a virtual model: every change of the record begins to count again. */
interface Watched {
  readonly version: string;
  readonly window: CanaryWindow;
  /** As they were last read. */
  others: readonly ArmCounts[];
  /** The counts are being exchanged, or will be soon. */
  isBusy: boolean;
}

export class CanaryWatch {
  readonly #current: Pick<CurrentConfiguration, "store" | "write" | "snapshot">;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #node = newId();
  readonly #watched = new Map<string, Watched>();
  /** Only the first failure of an outage is logged. */
  #isFailing = false;

  constructor(
    current: Pick<CurrentConfiguration, "store" | "write" | "snapshot">,
    metrics: Metrics,
    log: Log,
    clock: Clock,
  ) {
    this.#current = current;
    this.#metrics = metrics;
    this.#log = log;
    this.#clock = clock;
  }

  /** Counts a result of the canary or of another target. `firstByteMs` is null without a successful response. */
  record(model: VirtualModel, arm: Arm, isError: boolean, firstByteMs: number | null): void {
    const condition = model.canary?.rollback_if ?? null;
    if (condition === null) return;
    const watched = this.#watch(model, condition.min_requests);
    if (watched === null) return;
    watched.window.record(arm, isError, firstByteMs);
    if (watched.isBusy) return;
    watched.isBusy = true;
    // Before a decision the counts of the other nodes are read again: they may say that all targets fail as often.
    const delay = reasonFor(model, watched) === null ? EXCHANGE_MS : 0;
    this.#clock.setTimeout(() => void this.#exchange(model, watched), delay).unref();
  }

  /** Returns null for the result of a request that began with an older version. */
  #watch({ id, updated_at: version }: VirtualModel, minRequests: number): Watched | null {
    const known = this.#watched.get(id);
    if (known?.version === version) return known;
    if (known !== undefined && known.version > version) return null;
    const watched = {
      version,
      window: new CanaryWindow(minRequests),
      others: [],
      isBusy: false,
    };
    this.#watched.delete(id);
    this.#watched.set(id, watched);
    const [oldest] = this.#watched.keys();
    if (this.#watched.size > MAX_WATCHED && oldest !== undefined) this.#watched.delete(oldest);
    return watched;
  }

  /** Does not reject: after a failure of the store, the next result leads to another attempt. */
  async #exchange(model: VirtualModel, watched: Watched): Promise<void> {
    const about = { modelId: model.id, version: watched.version, node: this.#node };
    const counts = JSON.stringify(watched.window.counts);
    try {
      const others = await this.#current.store.canaries.exchangeCounts(about, counts, this.#clock.unixNow());
      // Only this class writes counts, so they are not validated again.
      watched.others = others.map((text) => JSON.parse(text) as ArmCounts);
      const reason = reasonFor(model, watched);
      if (reason !== null) await this.#switchOff(model, reason);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#log.warn({ virtual_model: model.name, err: error }, "canary counts not exchanged");
      this.#isFailing = true;
    }
    watched.isBusy = false;
  }

  /** Several nodes may decide at the same time: only the first one writes, because then the record has another version. */
  async #switchOff({ id, gateway_id, name, updated_at }: VirtualModel, reason: string): Promise<void> {
    const options = {
      subject: GATEHOUSE.name,
      reason,
      audit: { actor: GATEHOUSE, role: null, address: null, request_id: null },
    };
    const isWritten = await this.#current.write(async (transaction) => {
      const stored = await transaction.get("models", id);
      if (stored === null || stored.canary === null || stored.updated_at !== updated_at) return false;
      const at = timeOfChange(stored, this.#clock.unixNow());
      const { share } = stored.canary;
      const canary = { ...stored.canary, share: 0, rolled_back: { at, share, reason } };
      await transaction.update("models", { ...stored, canary, updated_at: at });
      return true;
    }, options);
    if (!isWritten) return;
    const gateway = this.#current.snapshot.gateways.get(gateway_id)?.gateway.name ?? "";
    this.#log.warn({ gateway, virtual_model: name, reason }, "canary switched off");
    this.#metrics.number("gatehouse_canary_rollbacks_total", { gateway, virtual_model: name }).add();
  }
}

function reasonFor({ canary }: VirtualModel, { window, others }: Watched): string | null {
  const condition = canary?.rollback_if ?? null;
  return condition === null ? null : rollbackReason(sumCounts([window.counts, ...others]), condition);
}
