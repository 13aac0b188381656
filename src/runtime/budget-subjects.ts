// The subjects of budgets with `each`: bounded per budget, period and process, and noted in the store so that every process can
// list them, also after a restart.
import { createHash } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import type { BudgetTarget } from "../ledger/ledger.ts";
import type { Log } from "../telemetry/log/log.ts";

/** How many subjects of a budget have an amount of their own, per process and period. Others share one. */
export const MAX_SUBJECTS = 10_000;
/** The subject that newcomers share when there are too many. */
export const SHARED_SUBJECT = "*";
/** Other subjects are hashed: databases do not store all characters, and keys have a limited length. */
const PLAIN_SUBJECT = /^[\x20-\x7e]{0,256}$/;
const NOTE_DELAY_MS = 500;
const MAX_NOTED = 1000;
/** How many subjects are read from the store and the ledger at a time. */
const PAGE_SIZE = 500;

/** Where subjects are noted: the table in which a ledger in memory keeps what was spent. */
export interface SubjectRegistry {
  noteBudgets(budgets: readonly BudgetTarget[]): Promise<void>;
  budgetKeys(prefix: string, period: string, limit: number, after?: string): Promise<string[]>;
}

interface SeenSubjects {
  readonly period: string;
  readonly subjects: Set<string>;
}

/** Returns the subject as it is part of a key. A client must not control the length of a key, and two long names must stay distinct. */
export function boundedSubject(subject: string): string {
  if (PLAIN_SUBJECT.test(subject)) return subject;
  return `sha256:${createHash("sha256").update(subject).digest("base64url")}`;
}

export class BudgetSubjects {
  readonly #registry: SubjectRegistry;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #seen = new Map<string, SeenSubjects>();
  #unnoted: BudgetTarget[] = [];

  constructor(registry: SubjectRegistry, clock: Clock, log: Log) {
    this.#registry = registry;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns the subject, or the shared one if too many others were admitted in the period. */
  accountOf(budgetId: string, subject: string, period: string): string {
    const seen = this.#seen.get(budgetId);
    const isFull = seen !== undefined && seen.period === period && seen.subjects.size >= MAX_SUBJECTS;
    return isFull && !seen.subjects.has(subject) ? SHARED_SUBJECT : subject;
  }

  /** Call when a request of the subject has been admitted: subjects that are only rejected need no place. */
  admit(budgetId: string, subject: string, target: BudgetTarget): void {
    let seen = this.#seen.get(budgetId);
    if (seen?.period !== target.period)
      this.#seen.set(budgetId, (seen = { period: target.period, subjects: new Set() }));
    if (seen.subjects.has(subject) || seen.subjects.size >= MAX_SUBJECTS) return;
    seen.subjects.add(subject);
    if (this.#unnoted.length === 0) this.#noteLater();
    const { key, period, endsAt } = target;
    this.#unnoted.push({ kind: "budget", key, period, endsAt });
  }

  /**
   * Yields `others` and the subjects that any process has admitted in the period, each once, a page at a time: their number has no bound,
   * because every process has places of its own. Without the store, those of this process.
   */
  async *pages(budgetId: string, period: string, others: Iterable<string>): AsyncGenerator<string[]> {
    const seen = this.#seen.get(budgetId);
    const known = new Set(others);
    if (seen?.period === period) for (const subject of seen.subjects) known.add(subject);
    const first = [...known];
    for (let at = 0; at < first.length; at += PAGE_SIZE) yield first.slice(at, at + PAGE_SIZE);
    const prefix = `${budgetId}:`;
    let keys = await this.#keysAfter(undefined, prefix, period);
    for (let last = keys.at(-1); last !== undefined; last = keys.at(-1)) {
      yield keys.map((key) => key.slice(prefix.length)).filter((subject) => !known.has(subject));
      keys = keys.length < PAGE_SIZE ? [] : await this.#keysAfter(last, prefix, period);
    }
  }

  async #keysAfter(last: string | undefined, prefix: string, period: string): Promise<string[]> {
    try {
      return await this.#registry.budgetKeys(prefix, period, PAGE_SIZE, last);
    } catch (error) {
      this.#log.warn({ err: error }, "subjects of a budget not read from the store");
      return [];
    }
  }

  #noteLater(): void {
    this.#clock.setTimeout(() => void this.#note(), NOTE_DELAY_MS).unref();
  }

  async #note(): Promise<void> {
    const noted = this.#unnoted.splice(0, MAX_NOTED);
    try {
      await this.#registry.noteBudgets(noted);
    } catch (error) {
      this.#log.debug({ err: error }, "subjects of budgets not written; retrying");
      // The bound of subjects per budget bounds this list, too.
      this.#unnoted.unshift(...noted);
    }
    if (this.#unnoted.length > 0) this.#noteLater();
  }
}
