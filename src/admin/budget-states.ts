// The state of budgets: what is spent and reserved in the current period, and by whom. Also resets and adjusts it.
import { z } from "zod";
import type { Period } from "../base/calendar-period.ts";
import type { Clock } from "../base/clock.ts";
import { dollarsOf, nanosOf } from "../base/decimal.ts";
import { GatehouseError, validationError } from "../base/errors.ts";
import { LedgerUnavailable, MAX_AMOUNT, type BudgetAmounts, type BudgetTarget } from "../ledger/ledger.ts";
import { BUDGET_PERIODS, BUDGET_UNITS } from "../model/budget.ts";
import type { BudgetBook } from "../runtime/budget-book.ts";
import { boundedSubject, SHARED_SUBJECT } from "../runtime/budget-subjects.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { CompiledBudget } from "../snapshot/compiled-budget.ts";
import type { LossPlan } from "./confirmation.ts";
import type { SpenderNames } from "./spender-names.ts";
import { namedSubject } from "./budget-subject.ts";

const MAX_SPENDERS = 10;
/** Of the amount of a budget: less is not a material loss. */
const MATERIAL_SHARE = 0.01;

const amount = z.union([z.string(), z.int()]);
const spenderSchema = z.object({
  subject: z.string().meta({ description: "Id of the API key, value of the label, user or model." }),
  name: z.string().nullable().meta({ description: "Name of the API key; of a deleted one, its last name." }),
  spent: amount,
  reserved: amount,
});

export const budgetStateSchema = z.object({
  period: z.object({
    name: z.enum(BUDGET_PERIODS),
    starts_at: z.iso.datetime().nullable(),
    ends_at: z.iso.datetime().nullable(),
  }),
  unit: z.enum(BUDGET_UNITS),
  amount,
  spent: amount.meta({ description: "With `each` or the scope `user`: of all subjects together." }),
  reserved: amount.meta({ description: "By requests in progress." }),
  remaining: amount
    .nullable()
    .meta({ description: "Null with `each` or the scope `user`: every subject has its own." }),
  top_spenders: z
    .array(spenderSchema)
    .meta({ description: "With `each` or the scope `user`: who has used most. At most 10." }),
});

export const budgetStateListSchema = z.object({
  states: z.array(
    budgetStateSchema.extend({ budget_id: z.string().meta({ description: "Id of the budget." }) }),
  ),
});

export const subjectInput = z.strictObject({
  subject: z.string().max(512).optional().meta({
    description:
      "With `each` or the scope `user`: the subject, as in `top_spenders`, or the name of an API key. Absent: all subjects.",
  }),
});

export const adjustInput = z.strictObject({
  subject: z.string().max(512).optional().meta({
    description:
      "With `each` or the scope `user`: the subject, as in `top_spenders`, or the name of an API key. Required there.",
  }),
  amount: z
    .union([z.string().regex(/^-?\d{1,7}(?:\.\d{1,9})?$|^-?\d{1,15}$/, "must be a decimal"), z.int()])
    .meta({ description: "Is added to what is spent; negative to subtract. Dollars as a decimal string." }),
});

type BudgetState = z.output<typeof budgetStateSchema>;

/** The account of a subject. */
interface SubjectTarget {
  readonly subject: string;
  readonly target: BudgetTarget;
}

interface Spender extends BudgetAmounts {
  readonly subject: string;
  /** Spent and reserved. */
  readonly used: number;
}

export class BudgetStates {
  readonly #current: CurrentConfiguration;
  readonly #book: BudgetBook;
  /** That of requests, so that both have the same periods. */
  readonly #clock: Clock;
  readonly #names: SpenderNames;

  constructor(current: CurrentConfiguration, book: BudgetBook, clock: Clock, names: SpenderNames) {
    this.#names = names;
    this.#current = current;
    this.#book = book;
    this.#clock = clock;
  }

  async read(gatewayId: string, budgetId: string): Promise<BudgetState> {
    return this.#read(gatewayId, this.#find(gatewayId, budgetId));
  }

  /** Reads the states of several budgets. Ids of budgets that do not exist are skipped. */
  async list(gatewayId: string, ids: readonly string[]): Promise<(BudgetState & { budget_id: string })[]> {
    const wanted = new Set(ids);
    const found = (this.#gateway(gatewayId).budgets ?? []).filter(({ id }) => wanted.has(id));
    return Promise.all(
      found.map(async (budget) => ({ budget_id: budget.id, ...(await this.#read(gatewayId, budget)) })),
    );
  }

  async #read(gatewayId: string, budget: CompiledBudget): Promise<BudgetState> {
    const { record, limit, periods } = budget;
    const period = periods.at(this.#clock.unixNow());
    const { start, end } = period;
    let [spent, reserved] = [0, 0];
    let spenders: Spender[] = [];
    for await (const targets of this.#pagesOf(gatewayId, budget, period)) {
      const amounts = await ledgerCall(async () => this.#book.ledger.read(gatewayId, targets.map(targetOf)));
      for (const [at, each] of amounts.entries()) {
        spent += each.spent;
        reserved += each.reserved;
        const used = each.spent + each.reserved;
        if (used > 0) spenders.push({ subject: targets[at]?.subject ?? "", used, ...each });
      }
      spenders = spenders.sort((a, b) => b.used - a.used).slice(0, MAX_SPENDERS);
    }
    const names = await this.#names(gatewayId, budget, spenders, start);
    const shown = (value: number) => (record.unit === "usd" ? dollarsOf(value) : value);
    return {
      period: {
        name: record.period,
        starts_at: end === Infinity ? null : new Date(start).toISOString(),
        ends_at: end === Infinity ? null : new Date(end).toISOString(),
      },
      unit: record.unit,
      amount: record.amount,
      spent: shown(spent),
      reserved: shown(reserved),
      remaining: budget.hasSubjects ? null : shown(Math.max(0, limit - spent - reserved)),
      top_spenders: budget.hasSubjects
        ? spenders.map((each) => ({
            subject: each.subject,
            name: names.get(each.subject) ?? null,
            spent: shown(each.spent),
            reserved: shown(each.reserved),
          }))
        : [],
    };
  }

  /**
   * Returns what a reset or an adjustment would overwrite. `subject` is absent for all subjects, or if
   * there is only one amount.
   */
  async losses(gatewayId: string, budgetId: string, subject: string | undefined): Promise<LossPlan> {
    const budget = this.#find(gatewayId, budgetId);
    const period = budget.periods.at(this.#clock.unixNow());
    const only = subject === undefined ? undefined : this.#subjectIn(gatewayId, budget, subject);
    let amount = 0;
    for await (const page of this.#pagesOf(gatewayId, budget, period, only)) {
      const amounts = await ledgerCall(async () => this.#book.ledger.read(gatewayId, page.map(targetOf)));
      for (const { spent } of amounts) amount += spent;
    }
    const kind = budget.record.unit === "usd" ? "budget_spent_usd" : "budget_spent_tokens";
    const slack = Math.floor(budget.limit * MATERIAL_SHARE);
    return {
      scope: this.#book.target(budget, "", period).period,
      losses: [{ kind, amount: Math.min(amount, MAX_AMOUNT), slack }],
    };
  }

  /** Drops what is spent in the current period. Reservations of requests in progress stay. */
  async reset(gatewayId: string, budgetId: string, subject: string | undefined): Promise<void> {
    const budget = this.#find(gatewayId, budgetId);
    const period = budget.periods.at(this.#clock.unixNow());
    const only = subject === undefined ? undefined : this.#subjectIn(gatewayId, budget, subject);
    for await (const page of this.#pagesOf(gatewayId, budget, period, only)) {
      const targets = page.map(targetOf);
      await ledgerCall(async () => {
        await Promise.all(targets.map(async (target) => this.#book.ledger.clear(gatewayId, target)));
        await this.#book.reportAgain(gatewayId, budget, targets);
      });
    }
  }

  async adjust(
    gatewayId: string,
    budgetId: string,
    { subject, amount: change }: z.output<typeof adjustInput>,
  ): Promise<void> {
    const budget = this.#find(gatewayId, budgetId);
    const period = budget.periods.at(this.#clock.unixNow());
    const name = subject === undefined ? "" : this.#subjectIn(gatewayId, budget, subject);
    const account = this.#book.accountOf(budget, name, period);
    const { target } = account;
    await this.#book.ledger.refresh?.(gatewayId, [target]);
    await ledgerCall(async () => this.#book.ledger.adjust(gatewayId, target, changeOf(budget, change)));
    this.#book.admitted({ ...target, budget, subject: account.subject });
  }

  /** Validates an adjustment, and returns what it would overwrite. */
  async adjustmentLosses(
    gatewayId: string,
    budgetId: string,
    { subject, amount }: z.output<typeof adjustInput>,
  ): Promise<LossPlan> {
    const budget = this.#find(gatewayId, budgetId);
    if (budget.hasSubjects && subject === undefined)
      throw validationError([
        { path: "subject", message: "is required, because every subject has its own amount" },
      ]);
    changeOf(budget, amount);
    return this.losses(gatewayId, budgetId, subject);
  }

  #gateway(gatewayId: string) {
    const gateway = this.#current.snapshot.gateways.get(gatewayId);
    if (gateway === undefined)
      throw new GatehouseError("not_found", `There is no gateway "${gatewayId.slice(0, 64)}".`);
    return gateway;
  }

  #find(gatewayId: string, budgetId: string): CompiledBudget {
    const budget = this.#gateway(gatewayId).budgets?.find(({ id }) => id === budgetId);
    if (budget === undefined)
      throw new GatehouseError("not_found", `There is no budget "${budgetId.slice(0, 64)}".`);
    return budget;
  }

  #subjectIn(gatewayId: string, budget: CompiledBudget, subject: string): string {
    const keys = this.#current.snapshot.apiKeysByGateway.get(gatewayId)?.values() ?? [];
    return namedSubject(budget, subject, keys);
  }

  /** Yields pages of the accounts of a budget, or that of only one subject, with what other processes have written. */
  async *#pagesOf(
    gatewayId: string,
    budget: CompiledBudget,
    period: Period,
    only = budget.hasSubjects ? null : "",
  ): AsyncGenerator<readonly SubjectTarget[]> {
    const { ledger } = this.#book;
    const pages =
      only === null
        ? this.#book.subjectPages(budget, period, this.#configuredSubjects(gatewayId, budget))
        : [[only]];
    for await (const subjects of pages) {
      const targets = subjects.map((subject) => ({
        subject,
        target: this.#book.target(budget, subject, period),
      }));
      await ledger.refresh?.(gatewayId, targets.map(targetOf));
      yield targets;
    }
  }

  /** API keys and labels without requests are known, too, and so is what newcomers share. */
  #configuredSubjects(gatewayId: string, { record: { scope, label } }: CompiledBudget): Set<string> {
    const subjects = new Set([SHARED_SUBJECT]);
    for (const key of this.#current.snapshot.apiKeysByGateway.get(gatewayId)?.values() ?? []) {
      const value = label === null ? undefined : key.labelValues[label];
      if (scope === "api_key") subjects.add(key.id);
      else if (scope === "label" && value !== undefined) subjects.add(boundedSubject(value));
    }
    return subjects;
  }
}

function targetOf({ target }: SubjectTarget): BudgetTarget {
  return target;
}

function changeOf({ record }: CompiledBudget, change: string | number): number {
  const text = String(change);
  const sign = text.startsWith("-") ? -1 : 1;
  const digits = text.replace("-", "");
  if (record.unit === "tokens" && digits.includes("."))
    throw validationError([{ path: "amount", message: "must be a whole number of tokens" }]);
  const size = record.unit === "usd" ? nanosOf(digits) : Number(digits);
  if (size > MAX_AMOUNT)
    throw validationError([
      {
        path: "amount",
        message: `must be at most ${record.unit === "usd" ? dollarsOf(MAX_AMOUNT) : MAX_AMOUNT}`,
      },
    ]);
  return sign * size;
}

async function ledgerCall<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error;
    throw new GatehouseError("counters_unavailable", "The shared ledger is unavailable. Retry later.", {
      cause: error,
    });
  }
}
