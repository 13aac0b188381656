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

/** Where subjects are noted: the table in which a ledger in memory keeps what was spent. */
export interface SubjectRegistry {
  noteBudgets(budgets: readonly BudgetTarget[]): Promise<void>;
  budgetKeys(prefix: string, period: string, limit: number): Promise<string[]>;
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

  /** Resolves to the subjects that any process has admitted in the period. Without the store, to those of this process. */
  async list(budgetId: string, period: string): Promise<string[]> {
    const seen = this.#seen.get(budgetId);
    const subjects = new Set(seen?.period === period ? seen.subjects : []);
    const prefix = `${budgetId}:`;
    try {
      for (const key of await this.#registry.budgetKeys(prefix, period, MAX_SUBJECTS))
        subjects.add(key.slice(prefix.length));
    } catch (error) {
      this.#log.warn({ err: error }, "subjects of a budget not read from the store");
    }
    return [...subjects];
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
