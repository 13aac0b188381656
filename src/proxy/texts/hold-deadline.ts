// Releases text that plugins hold back when its time is over, while no new bytes arrive.
import { NOT_A_MEMBER } from "../../base/dense-set.ts";
import { toError } from "../../base/to-error.ts";
import type { CoarseDeadlines, Deadline } from "../../http/coarse-deadlines.ts";

interface HoldingPlugins {
  readonly dueAt: number;
  expire(): Promise<Uint8Array>;
}

export class HoldDeadline implements Deadline {
  dueAt = Infinity;
  setPosition = NOT_A_MEMBER;
  /** Why the released text must not be sent; null if it may. */
  error: Error | null = null;
  readonly #plugins: HoldingPlugins;
  readonly #deadlines: CoarseDeadlines;
  readonly #write: (bytes: Uint8Array | null) => void;
  #isWatched = false;
  #hasStopped = false;

  /** `write` gets the bytes to send; null if a plugin failed or rejected them. */
  constructor(
    plugins: HoldingPlugins,
    deadlines: CoarseDeadlines,
    write: (bytes: Uint8Array | null) => void,
  ) {
    this.#plugins = plugins;
    this.#deadlines = deadlines;
    this.#write = write;
  }

  /** Call after every change of what the plugins hold. */
  update(): void {
    this.dueAt = this.#plugins.dueAt;
    if (this.#isWatched || this.dueAt === Infinity || this.#hasStopped) return;
    this.#isWatched = true;
    this.#deadlines.watch(this);
  }

  expire(): void {
    // Until the plugins are done.
    this.dueAt = Infinity;
    this.#plugins.expire().then(
      (bytes) => {
        this.#write(bytes);
        this.update();
      },
      (error: unknown) => {
        this.error = toError(error);
        this.#write(null);
      },
    );
  }

  stop(): void {
    this.#hasStopped = true;
    if (this.#isWatched) this.#deadlines.unwatch(this);
    this.#isWatched = false;
  }
}
