import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import type { BudgetTarget } from "../ledger/ledger.ts";
import { NO_LOG } from "../telemetry/log/log.ts";
import { BudgetSubjects, MAX_SUBJECTS, SHARED_SUBJECT } from "./budget-subjects.ts";

class Registry {
  readonly keys: string[] = [];
  isAvailable = true;

  async noteBudgets(budgets: readonly BudgetTarget[]): Promise<void> {
    await Promise.resolve();
    if (!this.isAvailable) throw new Error("unavailable");
    this.keys.push(...budgets.map(({ key, period }) => `${period} ${key}`));
  }

  async budgetKeys(prefix: string, period: string, limit: number, after = ""): Promise<string[]> {
    await Promise.resolve();
    if (!this.isAvailable) throw new Error("unavailable");
    return this.keys
      .filter((key) => key.startsWith(`${period} ${prefix}`))
      .map((key) => key.slice(period.length + 1))
      .sort()
      .filter((key) => key > after)
      .slice(0, limit);
  }
}

async function listed(subjects: BudgetSubjects, period = "p", others: readonly string[] = []) {
  const pages = await Array.fromAsync(subjects.pages("b", period, others));
  return pages.flat();
}

const targetOf = (subject: string, period = "p"): BudgetTarget => ({
  kind: "budget",
  key: `b:${subject}`,
  period,
  endsAt: null,
});

test("a subject that was admitted is listed by every process, also after a restart", async () => {
  const clock = new ManualClock();
  const registry = new Registry();
  const first = new BudgetSubjects(registry, clock, NO_LOG);
  registry.isAvailable = false;
  first.admit("b", "ana", targetOf("ana"));
  clock.advance(500);
  await Promise.resolve();
  // Requests without an API key have the empty subject.
  first.admit("b", "", targetOf(""));
  expect(await listed(first)).toEqual(["ana", ""]);
  registry.isAvailable = true;
  clock.advance(500);
  await Promise.resolve();
  expect(await listed(new BudgetSubjects(registry, clock, NO_LOG))).toEqual(["", "ana"]);
  expect(await listed(first, "next period")).toEqual([]);
});

test("beyond the bound, newcomers share an account until the next period; rejected subjects take no place", () => {
  const subjects = new BudgetSubjects(new Registry(), new ManualClock(), NO_LOG);
  for (let asked = 0; asked < 2 * MAX_SUBJECTS; asked++)
    expect(subjects.accountOf("b", `rejected ${asked}`, "p")).not.toBe(SHARED_SUBJECT);
  for (let admitted = 0; admitted < MAX_SUBJECTS; admitted++)
    subjects.admit("b", `user ${admitted}`, targetOf(`user ${admitted}`));
  expect(subjects.accountOf("b", "newcomer", "p")).toBe(SHARED_SUBJECT);
  expect(subjects.accountOf("b", "user 0", "p")).toBe("user 0");
  expect(subjects.accountOf("other", "newcomer", "p")).toBe("newcomer");
  expect(subjects.accountOf("b", "newcomer", "next")).toBe("newcomer");
});

test("those of all processes are listed once each, however many there are", async () => {
  const registry = new Registry();
  const subjects = new BudgetSubjects(registry, new ManualClock(), NO_LOG);
  const names = Array.from({ length: MAX_SUBJECTS + 1001 }, (_, at) => `user ${at}`);
  registry.keys.push(...names.map((name) => `p b:${name}`), "p c:other budget", "q b:other period");
  subjects.admit("b", "user 7", targetOf("user 7"));
  const found = await listed(subjects, "p", ["user 8", "configured"]);
  expect(found.toSorted()).toEqual([...names, "configured"].toSorted());
});
