// The game days that run on this node. Without any, requests do not get here.
import { newId } from "../../base/ids.ts";
import type { Clock } from "../../base/clock.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledGameDay } from "../../snapshot/compiled-game-day.ts";
import type { GameDayStore } from "../../store/sql-game-days.ts";
import type { Log } from "../../telemetry/log/log.ts";
import { GameDayRun } from "./game-day-run.ts";

export class GameDays {
  readonly #store: GameDayStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #node = newId();
  /** By id and version of the record. */
  readonly #runs = new Map<string, GameDayRun>();

  constructor(store: GameDayStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns the run of the gateway's game day; null if none runs now. */
  runOf({ gameDays }: CompiledGateway): GameDayRun | null {
    const now = this.#clock.unixNow();
    for (const gameDay of gameDays ?? []) {
      if (now < gameDay.startsAt || now >= gameDay.endsAt) continue;
      return this.#run(gameDay);
    }
    return null;
  }

  /** Writes what this process has counted of a game day. */
  async flush(id: string): Promise<void> {
    await Promise.all(
      [...this.#runs.values()].filter(({ gameDay }) => gameDay.record.id === id).map((run) => run.flush()),
    );
  }

  /** Ends faults in progress and writes all counts. */
  async close(): Promise<void> {
    await Promise.all([...this.#runs.values()].map((run) => run.close()));
  }

  #run(gameDay: CompiledGameDay): GameDayRun {
    const { id, updated_at } = gameDay.record;
    const key = `${id}/${updated_at}`;
    let run = this.#runs.get(key);
    if (run === undefined) {
      const onEnd = () => void this.#runs.delete(key);
      // Each version counts on its own.
      const node = `${this.#node}/${updated_at}`;
      run = new GameDayRun(gameDay, {
        store: this.#store,
        clock: this.#clock,
        log: this.#log,
        node,
        onEnd,
      });
      this.#runs.set(key, run);
    }
    return run;
  }
}
