// What budgets have spent, in the database.
import type { BudgetTarget } from "../ledger/ledger.ts";
import type {
  AccountChange,
  AccountJournal,
  JournalAccount,
  JournalBatch,
  JournalTotal,
} from "../ledger/spent-journal.ts";
import type { Database, Query } from "./database.ts";
import {
  budgetKeys,
  chargeDead,
  finishSpending,
  hasDead,
  loadSpending,
  noteBudgets,
  readSpending,
  writeSpending,
} from "./spending.ts";
import { changeAccount, installationId, readAccounts } from "./spending-sums.ts";

export interface SpendingStore extends AccountJournal {
  /** Remembers that these budgets exist, with nothing spent if they are new. */
  noteBudgets(budgets: readonly BudgetTarget[]): Promise<void>;
  /** Resolves to the keys with this prefix that were written in a period, in order: at most `limit` of those after `after`. */
  budgetKeys(prefix: string, period: string, limit: number, after?: string): Promise<string[]>;
}

type Use = <T>(work: (database: Database) => Promise<T>, isLong?: boolean) => Promise<T>;

export class SqlSpending implements SpendingStore {
  clockAheadMs = 0;
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  loadSpending(writer: string, unixMs: number): Promise<readonly JournalTotal[]> {
    // There may be a row for every user of a gateway.
    return this.#write(unixMs, (query, now) => loadSpending(query, writer, now), true);
  }

  readSpending(
    writer: string,
    budgets: readonly BudgetTarget[],
    unixMs: number,
  ): Promise<readonly JournalTotal[]> {
    return this.#use(async (database) => {
      await this.#chargeDead(database, writer, unixMs);
      return readSpending(database.query, writer, budgets);
    });
  }

  writeSpending(batch: JournalBatch): Promise<readonly JournalTotal[]> {
    return this.#write(batch.writtenAt, (query, now) => writeSpending(query, batch, now));
  }

  finishSpending(
    writer: string,
    batchAfter: (written: number) => JournalBatch | null,
    unixMs: number,
  ): Promise<void> {
    return this.#write(unixMs, (query, now) => finishSpending(query, writer, batchAfter, now));
  }

  installationId(): Promise<string> {
    return this.#use((database) => database.writeTransaction(installationId));
  }

  readAccounts(
    writer: string,
    budgets: readonly BudgetTarget[],
    unixMs: number,
  ): Promise<readonly JournalAccount[]> {
    return this.#use(async (database) => {
      await this.#chargeDead(database, writer, unixMs);
      return readAccounts(database.query, budgets);
    });
  }

  changeAccount(
    budget: BudgetTarget,
    sums: ReadonlyMap<string, number>,
    change: AccountChange,
    unixMs: number,
  ): Promise<JournalAccount> {
    return this.#write(unixMs, (query, now) => changeAccount(query, budget, sums, change, now));
  }

  noteBudgets(budgets: readonly BudgetTarget[]): Promise<void> {
    return this.#use((database) => database.writeTransaction((query) => noteBudgets(query, budgets)));
  }

  budgetKeys(prefix: string, period: string, limit: number, after?: string): Promise<string[]> {
    return this.#use(({ query }) => budgetKeys(query, prefix, period, limit, after));
  }

  /** A read is often the only thing that happens to a budget that the reservations of a dead process have used up. */
  async #chargeDead(database: Database, writer: string, unixMs: number): Promise<void> {
    const now = await database.time(database.query, unixMs);
    if (await hasDead(database.query, writer, now))
      await database.writeTransaction((query) => chargeDead(query, writer, now));
  }

  /** `now` is `unixMs` by the clock of the database: those of other processes may be wrong, and so may the one of this process. */
  #write<T>(unixMs: number, work: (query: Query, now: number) => Promise<T>, isLong = false): Promise<T> {
    return this.#use(
      (database) =>
        database.writeTransaction(async (query) => {
          const now = await database.time(query, unixMs);
          this.clockAheadMs = unixMs - now;
          return work(query, now);
        }),
      isLong,
    );
  }
}
