// The amounts of budgets in Redis, as far as the database decides about them: an account of an epoch that began without it is set to what
// the database has, and changes by operators are written there first. See docs/decisions/0096-ledger.md.
import type { Clock } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import { LedgerUnavailable, type BudgetAmounts, type BudgetTarget } from "./ledger.ts";
import type { MemoryLedger } from "./memory-ledger.ts";
import {
  keyOf,
  NOTHING_KNOWN,
  NOTHING_WRITTEN,
  parseReserveReply,
  requireNumbers,
  reserveCall,
  unseededIn,
  type OpenClaims,
  type ReserveReply,
  type ScriptCall,
} from "./redis-ledger-calls.ts";
import { EpochOver } from "./redis-epochs.ts";
import type { RedisLedgerLink } from "./redis-ledger-link.ts";
import { READ_SCRIPT, SEED_SCRIPT, SUMS_SCRIPT } from "./redis-account-scripts.ts";
import { RESERVE_SCRIPT } from "./redis-ledger-scripts.ts";
import type { AccountChange, AccountJournal, JournalAccount } from "./spent-journal.ts";

interface AccountParts {
  readonly link: RedisLedgerLink;
  /** Null: budgets are unavailable. */
  readonly journal: AccountJournal | null;
  /** What this process knows of the amounts in the database. */
  readonly mirror: MemoryLedger;
  readonly clock: Clock;
  /** Called when Redis had less of a budget than the database. */
  readonly onRaised: (gatewayId: string, budget: BudgetTarget, raised: number) => void;
}

/** What was found in the database. It says nothing about Redis in a later epoch. */
interface Compared {
  /** Null: nothing was read. */
  readonly epoch: string | null;
  /** Budgets of which the database has nothing. */
  readonly empty: ReadonlySet<BudgetTarget>;
}

const NO_SUMS: ReadonlyMap<string, number> = new Map();
/** The first comparison with the database leaves out accounts of which it has nothing, the second one does not. */
const MAX_COMPARISONS = 3;

export class RedisAccounts {
  readonly #parts: AccountParts;
  /** Accounts that are being read from the database, by epoch and name: many requests may wait for one. */
  readonly #reading = new Map<string, Promise<JournalAccount>>();

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /**
   * Reserves claims, after budgets of an earlier epoch were set to what the database has. `reservationId` is null to reserve nothing.
   * Rejects with LedgerUnavailable if the database is needed and cannot be read, else as the link does.
   */
  async decide(open: Omit<OpenClaims, "reservationId">, reservationId: string | null): Promise<ReserveReply> {
    const { gatewayId, claims, keys } = open;
    const { link, mirror } = this.#parts;
    let compared: Compared = { epoch: null, empty: new Set() };
    for (let comparisons = 0; ; comparisons++) {
      const { epoch, empty } = compared;
      const amountKnown = (claim: BudgetTarget) =>
        empty.has(claim) ? NOTHING_WRITTEN : (mirror.accounts.budgets.find(claim) ?? NOTHING_KNOWN);
      const call = reserveCall(gatewayId, claims, { reservationId, keys, amountKnown });
      try {
        const reply = await link.run(RESERVE_SCRIPT, call, epoch);
        const unseeded = unseededIn(reply);
        if (unseeded === null) return parseReserveReply(reply, claims);
        if (comparisons === MAX_COMPARISONS) throw new LedgerUnavailable("a budget changes all the time");
        const targets = unseeded.flatMap((at) => {
          const claim = claims[at];
          return claim?.kind === "budget" ? [claim] : [];
        });
        compared = await this.#compare(gatewayId, targets, comparisons > 0);
      } catch (error) {
        if (!(error instanceof EpochOver)) throw error;
        if (comparisons === MAX_COMPARISONS) throw new LedgerUnavailable("Redis loses data all the time");
        compared = { epoch: null, empty: new Set() };
      }
    }
  }

  /**
   * Sets budgets in Redis to what the database has. Those of which it has nothing are left alone unless `isComplete`. Rejects with
   * LedgerUnavailable if the database cannot be read, with EpochOver if Redis loses data meanwhile, or as the link does.
   */
  async #compare(
    gatewayId: string,
    targets: readonly BudgetTarget[],
    isComplete: boolean,
  ): Promise<Compared> {
    const epoch = this.#currentEpoch(gatewayId);
    const empty = new Set<BudgetTarget>();
    await Promise.all(
      targets.map(async (target) => {
        const account = await this.#readAccount(gatewayId, target, epoch);
        if (account.spent === 0 && account.version === 0 && account.sums.size === 0) empty.add(target);
        if (empty.has(target) && !isComplete) return;
        this.#parts.mirror.accounts.budgets.findOrCreate(account.budget).learn(account);
        const { raised, isMissing } = await this.#seed(gatewayId, target, account, { epoch });
        // The change adds nothing, and includes what the database does not have.
        if (isMissing)
          await this.change(gatewayId, target, { kind: "add", amount: 0 }).catch(() => undefined);
        if (raised > 0) this.#parts.onRaised(gatewayId, target, raised);
      }),
    );
    return { epoch, empty };
  }

  /** Call before the database is read. In a later epoch others may have written since, and may not report it again. */
  #currentEpoch(gatewayId: string): string {
    return this.#parts.link.epochs.current(gatewayId)?.id ?? "";
  }

  /**
   * Changes what is spent of a budget. The database comes first: if this process ends in between, the change takes effect when Redis is
   * compared with it. May reject with LedgerUnavailable, or if the database is unavailable; then nothing is changed.
   */
  async change(gatewayId: string, target: BudgetTarget, change: AccountChange): Promise<BudgetAmounts> {
    const { mirror, clock } = this.#parts;
    const journal = this.#requireJournal();
    const reply = await this.#require(SUMS_SCRIPT, accountCall(gatewayId, target));
    const epoch = this.#currentEpoch(gatewayId);
    const account = await journal.changeAccount(target, sumsIn(reply), change, clock.unixNow());
    mirror.accounts.budgets.findOrCreate(account.budget).learn(account);
    try {
      const isCleared = change.kind === "clear";
      const { spent, reserved } = await this.#seed(gatewayId, target, account, { epoch, isCleared });
      return { spent, reserved };
    } catch {
      // The next reservation of this process finds another version or epoch in Redis, and sets the amount.
      return { spent: account.spent, reserved: 0 };
    }
  }

  /** May reject with LedgerUnavailable. */
  async read(gatewayId: string, targets: readonly BudgetTarget[]): Promise<readonly BudgetAmounts[]> {
    const keys = targets.map((target) => keyOf(gatewayId, target));
    const numbers = requireNumbers(
      await this.#require(READ_SCRIPT, { gatewayId, keys, args: [] }),
      4 * targets.length,
    );
    const found = targets.map((target, at) => {
      const [isSeeded = 0, spent = 0, reserved = 0, version = 0] = numbers.slice(4 * at, 4 * at + 4);
      const isCurrent =
        isSeeded === 1 && version >= (this.#parts.mirror.accounts.budgets.find(target)?.version ?? 0);
      return { target, isCurrent, spent, reserved };
    });
    const others = found.filter(({ isCurrent }) => !isCurrent);
    const accounts = await this.#readTogether(others.map(({ target }) => target));
    return found.map(({ target, spent, reserved }) => {
      const account = accounts.get(target);
      return { spent: account === undefined ? spent : account.spent, reserved };
    });
  }

  /** Nothing is written: an account without requests would otherwise be created for everything that is shown. */
  async #readTogether(targets: readonly BudgetTarget[]): Promise<ReadonlyMap<BudgetTarget, JournalAccount>> {
    if (targets.length === 0) return new Map();
    try {
      const accounts = await this.#readAccounts(targets);
      return new Map(accounts.map((account, at) => [targets[at] ?? account.budget, account]));
    } catch (error) {
      throw unavailable(error);
    }
  }

  #readAccount(gatewayId: string, target: BudgetTarget, epoch: string): Promise<JournalAccount> {
    const name = `${epoch} ${keyOf(gatewayId, target)}`;
    let reading = this.#reading.get(name);
    if (reading !== undefined) return reading;
    reading = this.#readOne(gatewayId, target).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #readOne(gatewayId: string, target: BudgetTarget): Promise<JournalAccount> {
    const none = { budget: target, spent: 0, version: 0, sums: NO_SUMS };
    try {
      if (!this.#parts.mirror.isLoaded) throw new Error("it does not have what killed processes spent yet");
      const [account] = await this.#readAccounts([target]);
      return account ?? none;
    } catch (error) {
      // Redis has kept its data since before the period began, so that there is nothing else to know.
      const since = this.#parts.link.epochs.current(gatewayId)?.since ?? Infinity;
      if (Number(target.period) >= since) return none;
      throw unavailable(error);
    }
  }

  #readAccounts(targets: readonly BudgetTarget[]): Promise<readonly JournalAccount[]> {
    const { link, clock } = this.#parts;
    return this.#requireJournal().readAccounts(link.processId, targets, clock.unixNow());
  }

  async #seed(
    gatewayId: string,
    target: BudgetTarget,
    { spent, version, sums }: JournalAccount,
    { epoch, isCleared = false }: { readonly epoch: string; readonly isCleared?: boolean },
  ): Promise<BudgetAmounts & { readonly raised: number; readonly isMissing: boolean }> {
    const pairs = [...sums].flatMap(([writer, sum]) => [writer, String(sum)]);
    const ends = String(Math.round(target.endsAt ?? 0));
    const args = [ends, String(spent), String(version), isCleared ? "clear" : "", ...pairs];
    const call = { ...accountCall(gatewayId, target), args };
    const reply = await this.#parts.link.run(SEED_SCRIPT, call, epoch);
    const [raised = 0, now = 0, reserved = 0, missing = 0] = requireNumbers(reply, 4);
    return { raised, spent: now, reserved, isMissing: missing === 1 };
  }

  #requireJournal(): AccountJournal {
    const { journal } = this.#parts;
    if (journal === null) throw new LedgerUnavailable("the ledger has no database");
    return journal;
  }

  async #require(script: string, call: ScriptCall): Promise<unknown> {
    try {
      return await this.#parts.link.run(script, call);
    } catch (error) {
      if (error instanceof LedgerUnavailable) throw error;
      throw new LedgerUnavailable(this.#parts.link.state.detail ?? "Redis is unavailable");
    }
  }
}

function accountCall(gatewayId: string, target: BudgetTarget): ScriptCall {
  return { gatewayId, keys: [keyOf(gatewayId, target)], args: [] };
}

function sumsIn(reply: unknown): ReadonlyMap<string, number> {
  const values = Array.isArray(reply) ? reply.map(String) : [];
  const sums = new Map<string, number>();
  for (let at = 0; at + 1 < values.length; at += 2) sums.set(values[at] ?? "", Number(values[at + 1]));
  return sums;
}

function unavailable(error: unknown): LedgerUnavailable {
  return new LedgerUnavailable(`the database could not be read: ${toError(error).message}`, { cause: error });
}
