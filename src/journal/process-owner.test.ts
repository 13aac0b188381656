// Whether a process still runs, by what /proc says about it.
import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { waitUntil } from "../../test/support/waiting.ts";
import { isRunning, readProcessFacts, thisProcess } from "./process-owner.ts";

const isLinux = process.platform === "linux";
const started: Bun.Subprocess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

describe("the facts about a process", () => {
  const NO_SIGNAL = "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n";
  const statOf = (state: string, flags: number) =>
    `42 (a ) b) ${state} 1 42 42 0 -1 ${flags} 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9`;

  test.each([
    ["sleeps", "S", 0x400000, NO_SIGNAL, false],
    ["is stopped", "T", 0x400000, NO_SIGNAL, false],
    ["is a zombie", "Z", 0x40000c, NO_SIGNAL, true],
    ["is exiting", "D", 0x400004, NO_SIGNAL, true],
    ["has received its signal", "R", 0x400400, NO_SIGNAL, true],
    [
      "was sent SIGKILL",
      "D",
      0x400000,
      NO_SIGNAL.replace("ShdPnd:\t00000000000000", "ShdPnd:\t00000000000001"),
      true,
    ],
    ["has a thread that was sent SIGKILL", "R", 0, NO_SIGNAL.replace("000\n", "100\n"), true],
    ["was sent SIGTERM", "D", 0, NO_SIGNAL.replace("000\n", "4000\n"), false],
  ])("that %s", (_, state, flags, status, isEnding) => {
    expect(readProcessFacts(statOf(state, flags), status)).toEqual({ startedAt: "4711", isEnding });
  });
});

describe.skipIf(!isLinux)("a process", () => {
  /** Resolves to the owner of a child that is not reaped: it stays a zombie after its death. */
  async function startUnreaped() {
    const parent = Bun.spawn(["sh", "-c", "sleep 1000 & echo $!; exec sleep 1000"], { stdout: "pipe" });
    started.push(parent);
    const { value } = await parent.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    // The shell would reap its child.
    await waitUntil(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8").trim() === "sleep");
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const { startedAt } = readProcessFacts(stat, "");
    return { ...thisProcess(), pid, startedAt };
  }

  test("runs until it is killed, also if its parent does not reap it", async () => {
    const owner = await startUnreaped();
    expect(isRunning(owner)).toBe(true);
    process.kill(owner.pid, "SIGKILL");
    await waitUntil(() => isRunning(owner) === false);
    expect(process.kill(owner.pid, 0)).toBe(true);
  });

  test("that got the id of another one is not the other one", async () => {
    const owner = await startUnreaped();
    expect(isRunning({ ...owner, startedAt: "1" })).toBe(false);
    process.kill(owner.pid, "SIGKILL");
  });

  test.each(["host", "boot", "namespace"])("of another %s may run", (part) => {
    expect(isRunning({ ...thisProcess(), pid: 1, [part]: "another" })).toBeNull();
  });

  test("that no file names may run", () => {
    expect(isRunning({})).toBeNull();
  });
});
