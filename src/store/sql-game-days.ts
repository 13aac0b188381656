// What nodes write and read about game days that run. It creates no revisions.
import type { Database, Query } from "./database.ts";
import {
  abortGameDayRun,
  claimGameDayRequests,
  readGameDayCounts,
  readGameDayRun,
  writeGameDayCounts,
  type GameDayCounts,
  type GameDayRunRow,
} from "./game-days.ts";

export interface GameDayStore {
  /** Resolves to null for a game day that was deleted. */
  readRun(id: string): Promise<GameDayRunRow | null>;
  /** Claims up to `wanted` of `max` requests, over all nodes. Resolves to how many were left. */
  claim(id: string, wanted: number, max: number): Promise<number>;
  /** Resolves to whether this call aborted it. */
  abort(id: string, reason: string, at: string): Promise<boolean>;
  writeCounts(id: string, counts: GameDayCounts): Promise<void>;
  readCounts(id: string): Promise<GameDayCounts[]>;
}

type Use = <T>(work: (database: Database) => Promise<T>) => Promise<T>;

export class SqlGameDays implements GameDayStore {
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  readRun(id: string): Promise<GameDayRunRow | null> {
    return this.#use(({ query }) => readGameDayRun(query, id));
  }

  claim(id: string, wanted: number, max: number): Promise<number> {
    return this.#write((query) => claimGameDayRequests(query, id, wanted, max));
  }

  abort(id: string, reason: string, at: string): Promise<boolean> {
    return this.#write((query) => abortGameDayRun(query, id, reason, at));
  }

  writeCounts(id: string, counts: GameDayCounts): Promise<void> {
    return this.#write((query) => writeGameDayCounts(query, id, counts));
  }

  readCounts(id: string): Promise<GameDayCounts[]> {
    return this.#use(({ query }) => readGameDayCounts(query, id));
  }

  #write<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#use((database) => database.writeTransaction(work));
  }
}
