// The budgets of this process: their keys in the ledger, the subjects that were seen, and the warnings that were sent.
import type { Period } from "../base/calendar-period.ts";
import type { Clock } from "../base/clock.ts";
import { dollarsOf } from "../base/decimal.ts";
import type { BudgetAmounts, BudgetTarget, Ledger } from "../ledger/ledger.ts";
import type { CompiledBudget, Threshold } from "../snapshot/compiled-budget.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { NumberSeries } from "../telemetry/metrics/metric-family.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { InputCalibration } from "../usage/input-calibration.ts";
import { OutputSizes } from "../usage/output-sizes.ts";
import { OutputSpeeds } from "../usage/output-speeds.ts";
import type { BudgetSubjects } from "./budget-subjects.ts";
import type { BudgetWebhooks } from "./budget-webhooks.ts";

/** Thresholds that are remembered as reported. */
const MAX_REPORTED = 10_000;
/** How long they are remembered: then the ledger is asked again, because another process may have reset the budget. */
const REPORTED_MS = 60_000;

/** A claim on a budget, as far as warnings need it. */
interface ReportedClaim extends BudgetTarget {
  readonly budget: CompiledBudget;
  readonly subject: string;
}

/** The account of a subject in a period. */
interface SubjectTarget {
  readonly subject: string;
  readonly period: Period;
  readonly target: BudgetTarget;
}

/** The series of a budget's ratio. It is valid in this generation of the metrics. */
interface RatioSeries {
  readonly series: NumberSeries;
  readonly generation: number;
  readonly gateway: string;
}

type NamedGateway = { readonly id: string; readonly gateway: { readonly name: string } } | null;

/** What a plan needs. */
export type BudgetAccounts = Pick<BudgetBook, "accountOf" | "outputSizes" | "inputCalibration">;

export class BudgetBook {
  readonly ledger: Ledger;
  readonly outputSizes = new OutputSizes();
  readonly inputCalibration = new InputCalibration();
  readonly outputSpeeds = new OutputSpeeds();
  readonly #subjects: BudgetSubjects;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #webhooks: BudgetWebhooks;
  readonly #clock: Clock;
  /** Keys of thresholds that were reported, with the time of the clock at which they are looked up again. */
  readonly #reported = new Map<string, number>();

  /** The account that was used last: many requests in a row are of one subject, whose key is then not built and hashed again. */
  readonly #lastTargets = new WeakMap<CompiledBudget, SubjectTarget>();
  readonly #ratios = new WeakMap<CompiledBudget, RatioSeries>();
  /** Thresholds that are being compared with the ledger: many requests may be rejected meanwhile. */
  readonly #checking = new Set<string>();

  constructor(
    ledger: Ledger,
    subjects: BudgetSubjects,
    metrics: Metrics,
    log: Log,
    webhooks: BudgetWebhooks,
    clock: Clock,
  ) {
    this.ledger = ledger;
    this.#subjects = subjects;
    this.#metrics = metrics;
    this.#log = log;
    this.#webhooks = webhooks;
    this.#clock = clock;
  }

  /** The account of a subject in a period. */
  target(budget: CompiledBudget, subject: string, period: Period): BudgetTarget {
    const last = this.#lastTargets.get(budget);
    if (last !== undefined && last.subject === subject && last.period === period) return last.target;
    const { id, record } = budget;
    const { start, end } = period;
    const target: BudgetTarget = {
      kind: "budget",
      key: `${id}:${subject}`,
      period: record.period === "total" ? "total" : String(start),
      endsAt: end === Infinity ? null : end,
    };
    this.#lastTargets.set(budget, { subject, period, target });
    return target;
  }

  /** The account of a request of the subject: its own, or the shared one if there are too many subjects. */
  accountOf(
    budget: CompiledBudget,
    subject: string,
    period: Period,
  ): { readonly subject: string; readonly target: BudgetTarget } {
    const target = this.target(budget, subject, period);
    if (!budget.hasSubjects) return { subject, target };
    const account = this.#subjects.accountOf(budget.id, subject, target.period);
    return account === subject
      ? { subject, target }
      : { subject: account, target: this.target(budget, account, period) };
  }

  /** Call when the ledger has reserved or changed the account. */
  admitted(claim: ReportedClaim): void {
    const { budget, subject } = claim;
    if (budget.hasSubjects) this.#subjects.admit(budget.id, subject, claim);
  }

  /** Yields pages of `others` and the subjects that any process has admitted in the period, each once. */
  subjectPages(
    budget: CompiledBudget,
    period: Period,
    others: Iterable<string>,
  ): AsyncGenerator<readonly string[]> {
    return this.#subjects.pages(budget.id, this.target(budget, "", period).period, others);
  }

  refused({ record }: CompiledBudget, gateway: NamedGateway): void {
    const labels = { gateway: gateway?.gateway.name ?? "", budget: record.name };
    this.#metrics.number("gatehouse_budget_refusals_total", labels).value++;
  }

  /** Call after a settlement or a rejection. `used` is at least what the budget has spent. Reports thresholds that were reached. */
  report(claim: ReportedClaim, used: number, gateway: NamedGateway): void {
    const { budget } = claim;
    if (!budget.hasSubjects && budget.limit > 0)
      this.#ratioOf(budget, gateway?.gateway.name ?? "").value = used / budget.limit;
    for (const threshold of budget.thresholds) {
      if (used < threshold.amount) continue;
      const key = reportKey(claim, threshold);
      if (this.#isReported(key) || this.#checking.has(key)) continue;
      // Not awaited: the request has ended.
      void this.#check(key, claim, threshold, gateway);
    }
  }

  /** Apart from `report`, because a function with a closure allocates its scope whenever it is called. */
  #check(key: string, claim: ReportedClaim, threshold: Threshold, gateway: NamedGateway): Promise<void> {
    this.#checking.add(key);
    // What is used may contain reservations, so the spent amount decides.
    return this.#reportIfReached(claim, threshold, gateway).finally(() => this.#checking.delete(key));
  }

  /** Looked up once per compiled budget, because every settlement sets it. */
  #ratioOf(budget: CompiledBudget, gateway: string): NumberSeries {
    const { generation } = this.#metrics;
    const known = this.#ratios.get(budget);
    if (known !== undefined && known.generation === generation && known.gateway === gateway)
      return known.series;
    const labels = { gateway, budget: budget.record.name };
    const series = this.#metrics.number("gatehouse_budget_used_ratio", labels);
    this.#ratios.set(budget, { series, generation: this.#metrics.generation, gateway });
    return series;
  }

  async #reportIfReached(claim: ReportedClaim, threshold: Threshold, gateway: NamedGateway): Promise<void> {
    const gatewayId = gateway?.id ?? "";
    try {
      const [amounts] = await this.ledger.read(gatewayId, [claim]);
      if (amounts === undefined || amounts.spent < threshold.amount) return;
      const key = reportKey(claim, threshold);
      if (this.#isReported(key)) return;
      this.#remember(key);
      // The ledger decides which process reports it, also after a restart. Without Redis another process may have reported it since the
      // ledger last read what other processes have written.
      await this.ledger.refresh?.(gatewayId, [onceTarget(claim, threshold)]);
      const once = { ...onceTarget(claim, threshold), limit: 1, amount: 1, enforced: true };
      const reservation = await this.ledger.reserve(gatewayId, [once], "local");
      if (!reservation.reserved) return;
      reservation.settle([1]);
      this.#warn(claim, threshold, amounts, gateway);
    } catch (error) {
      this.#log.warn({ budget: claim.budget.record.name, err: error }, "budget warning failed");
    }
  }

  /** Call when these accounts of a budget were reset: their thresholds are reported again. May reject with LedgerUnavailable. */
  async reportAgain(
    gatewayId: string,
    { thresholds }: CompiledBudget,
    targets: readonly BudgetTarget[],
  ): Promise<void> {
    for (const threshold of thresholds) {
      const accounts = targets.map((target) => onceTarget(target, threshold));
      await this.ledger.refresh?.(gatewayId, accounts);
      const amounts = await this.ledger.read(gatewayId, accounts);
      const used = accounts.filter((_, at) => (amounts[at]?.spent ?? 0) > 0);
      await Promise.all(used.map(async (account) => this.ledger.clear(gatewayId, account)));
      for (const target of targets) this.#reported.delete(reportKey(target, threshold));
    }
  }

  #isReported(key: string): boolean {
    const until = this.#reported.get(key);
    return until !== undefined && this.#clock.now() < until;
  }

  #remember(key: string): void {
    this.#reported.delete(key);
    if (this.#reported.size >= MAX_REPORTED) {
      const [oldest] = this.#reported.keys();
      if (oldest !== undefined) this.#reported.delete(oldest);
    }
    this.#reported.set(key, this.#clock.now() + REPORTED_MS);
  }

  #warn(claim: ReportedClaim, { share }: Threshold, { spent }: BudgetAmounts, gateway: NamedGateway): void {
    const { budget, subject, endsAt } = claim;
    const { id, name, unit, amount, webhook } = budget.record;
    const event = {
      budget_id: id,
      budget: name,
      gateway_id: gateway?.id ?? null,
      gateway: gateway?.gateway.name ?? null,
      subject: subject === "" ? null : subject,
      share,
      unit,
      amount,
      spent: unit === "usd" ? dollarsOf(spent) : spent,
      resets_at: endsAt === null ? null : new Date(endsAt).toISOString(),
    };
    this.#log.warn(event, "budget threshold reached");
    const labels = { gateway: gateway?.gateway.name ?? "", budget: name, share: String(share) };
    this.#metrics.number("gatehouse_budget_warnings_total", labels).value++;
    if (webhook !== null) this.#webhooks.send(webhook, { type: "budget_threshold", ...event });
  }
}

function reportKey(claim: BudgetTarget, threshold: Threshold): string {
  const { key, period } = onceTarget(claim, threshold);
  return `${period} ${key}`;
}

/** An account of its own that only one process can use once per period, until the budget is reset or has another amount. */
function onceTarget({ key, period, endsAt }: BudgetTarget, { share, amount }: Threshold): BudgetTarget {
  return { kind: "budget", key: `reported:${share}:${amount}:${key}`, period, endsAt };
}
