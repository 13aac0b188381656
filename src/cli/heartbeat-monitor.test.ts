// When a silent process counts as hung.
import { describe, expect, test } from "bun:test";
import { CHECKS_PER_LIMIT, HeartbeatMonitor, type Hang, type MainThread } from "./heartbeat-monitor.ts";

const LIMIT_MS = 5000;
const STEP_MS = LIMIT_MS / CHECKS_PER_LIMIT;

/** A process whose main thread uses `cpuShare` of the time. */
function watched(cpuShare: number | null) {
  const monitor = new HeartbeatMonitor(LIMIT_MS);
  let beats = 0;
  let cpuMs = 1_000_000;
  let isStopped = false;
  const read = (): MainThread | null => (cpuShare === null ? null : { cpuMs, isStopped });
  const check = (): Hang | null => {
    if (!isStopped) cpuMs += STEP_MS * (cpuShare ?? 0);
    return monitor.check(beats, read);
  };
  check();
  return {
    beat: () => {
      beats++;
    },
    setStopped: (value: boolean) => {
      isStopped = value;
    },
    check,
    /** Returns the seconds of silence after which the process counts as hung; null if it does not within a minute. */
    hangsAfter: (): number | null => {
      for (let checks = 1; checks <= 60_000 / STEP_MS; checks++) {
        const hang = check();
        if (hang !== null) {
          expect(hang.silentMs).toBe(checks * STEP_MS);
          return hang.silentMs / 1000;
        }
      }
      return null;
    },
  };
}

describe("a silent process", () => {
  test.each([
    ["that loops", 1, 5],
    ["that loops on a busy machine", 0.3, 5],
    ["that loops on a machine that leaves it little time", 0.1, 10.5],
    ["that uses no processor time", 0, 30],
    ["on a system that does not report processor time", null, 30],
  ])("%s is hung", (_, cpuShare, seconds) => {
    expect(watched(cpuShare).hangsAfter()).toBe(seconds);
  });

  test("that sends a heartbeat again starts from zero", () => {
    const process = watched(1);
    for (let checks = 1; checks < CHECKS_PER_LIMIT; checks++) expect(process.check()).toBeNull();
    process.beat();
    expect(process.check()).toBeNull();
    expect(process.hangsAfter()).toBe(5);
  });

  test("that is stopped by a signal or a debugger is not hung, and gets the whole time afterwards", () => {
    const process = watched(1);
    for (let checks = 1; checks < CHECKS_PER_LIMIT; checks++) expect(process.check()).toBeNull();
    process.setStopped(true);
    expect(process.hangsAfter()).toBeNull();
    process.setStopped(false);
    expect(process.hangsAfter()).toBe(5);
  });
});

test("a process that sends heartbeats, however busy, is not hung", () => {
  const process = watched(1);
  for (let checks = 0; checks < 1000; checks++) {
    if (checks % (CHECKS_PER_LIMIT - 1) === 0) process.beat();
    expect(process.check()).toBeNull();
  }
});
