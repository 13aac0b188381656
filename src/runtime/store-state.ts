// What /readyz, metrics and the log report about the database: whether it can be read and written, and since when not.
import type { Clock } from "../base/clock.ts";
import type { Store } from "../store/store.ts";
import type { Health, StoreDependency } from "../telemetry/health.ts";
import type { Log } from "../telemetry/log/log.ts";

/** How often a write is tried. An idle gateway writes nothing else, so a full disk would stay unnoticed until it matters. */
const CHECK_MS = 5000;
/** How often a write is tried while writes fail. */
const FAILING_CHECK_MS = 2000;
/** A single write may fail because a backup or another writer takes long. */
const REPORTED_FAILURES = 2;

export class StoreState {
  readonly #store: Pick<Store, "checkWritable">;
  readonly #health: Health;
  readonly #log: Log;
  readonly #clock: Clock;
  #nextCheckMs = -Infinity;
  #isChecking = false;
  #failures = 0;

  constructor(store: Pick<Store, "checkWritable">, health: Health, log: Log, clock: Clock) {
    this.#store = store;
    this.#health = health;
    this.#log = log;
    this.#clock = clock;
  }

  /** The database could be read. Nothing waits for the check of writes: a database that hangs must not delay reads. */
  readSucceeded(): void {
    if (this.#health.store.state === "away") this.#set({ state: "ok" });
    if (!this.#isChecking && this.#clock.now() >= this.#nextCheckMs) void this.#checkWrites();
  }

  readFailed(error: unknown): void {
    this.#set({ state: "away", detail: detailOf(error) }, error);
  }

  async #checkWrites(): Promise<void> {
    this.#isChecking = true;
    try {
      await this.#store.checkWritable();
      this.#failures = 0;
      if (this.#health.store.state === "read_only") this.#set({ state: "ok" });
      this.#nextCheckMs = this.#clock.now() + CHECK_MS;
    } catch (error) {
      // A database that cannot be read either is reported by the reads.
      if (++this.#failures >= REPORTED_FAILURES && this.#health.store.state !== "away")
        this.#set({ state: "read_only", detail: detailOf(error) }, error);
      this.#nextCheckMs = this.#clock.now() + FAILING_CHECK_MS;
    } finally {
      this.#isChecking = false;
    }
  }

  #set({ state, detail }: StoreDependency, error?: unknown): void {
    const before = this.#health.store;
    if (before.state === state && before.detail === detail) return;
    if (state === "ok") {
      this.#health.store = { state };
      this.#log.info({ revision: this.#health.revision }, "store available");
      return;
    }
    const since =
      before.state === state && before.since !== undefined
        ? before.since
        : new Date(this.#clock.unixNow()).toISOString();
    this.#health.store = { state, detail: detail ?? "", since };
    this.#log.warn({ err: error }, state === "away" ? "store unavailable" : "store rejects writes");
  }
}

function detailOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
