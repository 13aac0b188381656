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
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
  }

  loadSpending(writer: string, unixMs: number): Promise<readonly JournalTotal[]> {
    // There may be a row for every user of a gateway.
    return this.#write((query) => loadSpending(query, writer, unixMs), true);
  }

  readSpending(
    writer: string,
    budgets: readonly BudgetTarget[],
    unixMs: number,
  ): Promise<readonly JournalTotal[]> {
    return this.#use(async (database) => {
      // A read is often the only thing that happens to a budget that the reservations of a dead process have used up.
      if (await hasDead(database.query, writer, unixMs))
        await database.writeTransaction((query) => chargeDead(query, writer, unixMs));
      return readSpending(database.query, writer, budgets);
    });
  }

  writeSpending(batch: JournalBatch): Promise<readonly JournalTotal[]> {
    return this.#write((query) => writeSpending(query, batch));
  }

  finishSpending(writer: string, batchAfter: (written: number) => JournalBatch | null): Promise<void> {
    return this.#write((query) => finishSpending(query, writer, batchAfter));
  }

  installationId(): Promise<string> {
    return this.#write(installationId);
  }

  readAccounts(budgets: readonly BudgetTarget[]): Promise<readonly JournalAccount[]> {
    return this.#use(({ query }) => readAccounts(query, budgets));
  }

  changeAccount(
    budget: BudgetTarget,
    sums: ReadonlyMap<string, number>,
    change: AccountChange,
    unixMs: number,
  ): Promise<JournalAccount> {
    return this.#write((query) => changeAccount(query, budget, sums, change, unixMs));
  }

  noteBudgets(budgets: readonly BudgetTarget[]): Promise<void> {
    return this.#write((query) => noteBudgets(query, budgets));
  }

  budgetKeys(prefix: string, period: string, limit: number, after?: string): Promise<string[]> {
    return this.#use(({ query }) => budgetKeys(query, prefix, period, limit, after));
  }

  #write<T>(work: (query: Query) => Promise<T>, isLong = false): Promise<T> {
    return this.#use((database) => database.writeTransaction(work), isLong);
  }
}
