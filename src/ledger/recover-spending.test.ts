// Files of other processes: which of them are charged, and which cannot be used.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../../test/support/temporary-directory.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { thisProcess } from "../journal/process-owner.ts";
import { Budgets } from "./budgets.ts";
import { SpendingRecovery } from "./recover-spending.ts";
import { SpentFile } from "./spent-file.ts";
import type { SpentJournal } from "./spent-journal.ts";

const BUDGET = { kind: "budget", key: "team", period: "total", endsAt: null } as const;
/** The owner of a file whose process may run in another container. */
const ELSEWHERE = { ...thisProcess(), host: "another container" };
const ENDED = { ...thisProcess(), startedAt: "before" };

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

function spentFile(writer: string, owner: unknown): SpentFile {
  const file = new SpentFile(directory, writer, false, owner);
  file.renew(1);
  file.update(file.allocate(BUDGET, 0), 5, 2);
  return file;
}

function startRecovery() {
  const finished: string[] = [];
  const damaged: string[] = [];
  const notCalled = () => Promise.reject(new Error("not called"));
  const journal: SpentJournal = {
    loadSpending: notCalled,
    readSpending: notCalled,
    writeSpending: notCalled,
    finishSpending: (writer, batchAfter) => {
      const batch = batchAfter(0);
      if (batch !== null) finished.push(`${writer} ${batch.changes[0]?.spentChange}`);
      return Promise.resolve();
    },
  };
  const [budgets, clock] = [new Budgets(), new ManualClock()];
  const onDamagedFile = (renamed: string) => void damaged.push(renamed);
  const recovery = new SpendingRecovery({
    directory,
    journal,
    budgets,
    clock,
    ownWriter: "own",
    onDamagedFile,
  });
  return { recovery, clock, finished, damaged, held: () => budgets.find(BUDGET)?.reserved ?? 0 };
}

test("a damaged file is renamed and reported, and the other files are charged", async () => {
  for (const writer of ["damaged", "sound", "own"]) spentFile(writer, ENDED);
  const path = join(directory, "damaged.spent");
  const bytes = readFileSync(path);
  bytes.write("{{", bytes.indexOf('["team"'));
  writeFileSync(path, bytes);
  writeFileSync(join(directory, "short.spent"), "x");
  const { recovery, finished, damaged } = startRecovery();
  expect(await recovery.finishEnded()).toBe(true);
  expect(finished).toEqual(["sound 7"]);
  expect(damaged.sort()).toEqual([`${path}.damaged`, join(directory, "short.spent.damaged")]);
  expect(readdirSync(directory).sort()).toEqual([
    "damaged.spent.damaged",
    "own.spent",
    "short.spent.damaged",
  ]);
});

test("a process that may run elsewhere is charged after 30 s of silence; until then its amounts are held", async () => {
  spentFile("elsewhere", ELSEWHERE);
  const { recovery, clock, finished, held } = startRecovery();
  for (let seconds = 0; seconds < 30; seconds += 10) {
    expect(await recovery.finishEnded()).toBe(false);
    await recovery.holdUncertain();
    expect([finished, held()]).toEqual([[], 7]);
    clock.advance(10_000);
  }
  expect(await recovery.finishEnded()).toBe(true);
  // The amounts in the journal have to be read first.
  expect([finished, held()]).toEqual([["elsewhere 7"], 7]);
  await recovery.holdUncertain();
  expect([readdirSync(directory), held()]).toEqual([[], 0]);
});

test("a process elsewhere with a sign of life is left alone until it is silent, whatever its clock says", async () => {
  const file = spentFile("elsewhere", ELSEWHERE);
  const { recovery, clock, finished, held } = startRecovery();
  const look = async () => {
    const hasEnded = await recovery.finishEnded();
    await recovery.holdUncertain();
    clock.advance(10_000);
    return [hasEnded, finished.length, held()];
  };
  expect(await look()).toEqual([false, 0, 7]);
  for (let sign = 2; sign < 8; sign++) {
    file.renew(sign);
    expect(await look()).toEqual([false, 0, 0]);
  }
  expect(await look()).toEqual([false, 0, 0]);
  expect(await look()).toEqual([false, 0, 0]);
  expect(await look()).toEqual([true, 1, 0]);
});

test("a file that another process has settled is noticed", async () => {
  const file = spentFile("elsewhere", ELSEWHERE);
  const { recovery, held } = startRecovery();
  await recovery.finishEnded();
  await recovery.holdUncertain();
  file.remove();
  expect(await recovery.finishEnded()).toBe(true);
  await recovery.holdUncertain();
  expect(held()).toBe(0);
  expect(await recovery.finishEnded()).toBe(false);
});

test("a file is complete as soon as others see it, and what a killed process had begun to create is removed", async () => {
  writeFileSync(join(directory, "a.spent.new"), "x");
  const old = new Date(Date.now() - 60_000);
  writeFileSync(join(directory, "b.spent.new"), "x");
  utimesSync(join(directory, "b.spent.new"), old, old);
  const { recovery, damaged } = startRecovery();
  expect(await recovery.finishEnded()).toBe(false);
  expect([readdirSync(directory), damaged]).toEqual([["a.spent.new"], []]);
});
