// Files of killed processes that cannot be used.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recoverSpending } from "./recover-spending.ts";
import { SpentFile } from "./spent-file.ts";
import type { SpentJournal } from "./spent-journal.ts";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-spent-"));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("a damaged file is renamed and reported, and the other files are charged", async () => {
  const owner = { pid: 0, startedAt: "", boot: "", namespace: "", host: "" };
  const budget = { kind: "budget", key: "team", period: "total", endsAt: null } as const;
  for (const writer of ["damaged", "sound"]) {
    const file = new SpentFile(directory, writer, owner);
    file.update(file.allocate(budget, 0), 5, 0);
  }
  const path = join(directory, "damaged.spent");
  const bytes = readFileSync(path);
  bytes.write("{{", bytes.indexOf('["team"'));
  writeFileSync(path, bytes);
  const finished: string[] = [];
  const damaged: string[] = [];
  const notCalled = () => Promise.reject(new Error("not called"));
  const journal: SpentJournal = {
    loadSpending: notCalled,
    readSpending: notCalled,
    writeSpending: notCalled,
    finishSpending: (writer, batchAfter) => {
      finished.push(`${writer} ${batchAfter(0)?.changes[0]?.spentChange}`);
      return Promise.resolve();
    },
  };
  const onDamagedFile = (renamed: string) => void damaged.push(renamed);
  await recoverSpending({ directory, journal, ownWriter: "own", onDamagedFile }, 60_000);
  expect(finished).toEqual(["sound 5"]);
  expect(damaged).toEqual([`${path}.damaged`]);
  expect(readdirSync(directory)).toEqual(["damaged.spent.damaged"]);
});
