// Logs of requests against a Map of arrays, through growth, eviction, sweeping, and shrinking.
import { describe, expect, test } from "bun:test";
import { systemClock } from "../base/clock.ts";
import { KeyDigest } from "./key-digest.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { RequestLogs } from "./request-logs.ts";

const keyDigest = new KeyDigest();
const digest = (key: string) => keyDigest.update(key);
const LONG_MS = 1e9;

describe("logs of requests", () => {
  test("thousands of keys created, appended to, released from, and removed are the same as in a Map of arrays", () => {
    const logs = new RequestLogs(1_000_000);
    const naive = new Map<string, number[]>();
    let state = 7;
    const below = (bound: number) => {
      state = Math.imul(state, 1103515245) + 12345;
      return ((state >>> 8) & 0xffff) % bound;
    };
    for (let now = 1; now < 60_000; now++) {
      const key = `key ${below(4000)}`;
      const slot = logs.find(digest(key));
      const known = naive.get(key);
      expect(slot === -1).toBe(known === undefined);
      const what = below(8);
      if (what === 0 && slot !== -1) {
        logs.remove(slot);
        naive.delete(key);
      } else if (what === 1 && known !== undefined && known.length > 0) {
        const [time = 0] = known.splice(below(known.length), 1);
        logs.release(slot, time);
        logs.release(slot, time);
      } else {
        logs.append(logs.findOrCreate(digest(key)), now, 20, LONG_MS);
        naive.set(key, [...(known ?? []), now]);
      }
    }
    expect(logs.size).toBe(naive.size);
    for (const [key, times] of naive) {
      const slot = logs.find(digest(key));
      const now = 60_000;
      const found = [
        logs.used(slot, LONG_MS, now),
        logs.oldest(slot, times.length, LONG_MS, now),
        logs.used(slot, 30_000, now),
      ];
      expect(found).toEqual([times.length, times[0] ?? now, times.filter((time) => time > 30_000).length]);
    }
  });

  test("a ring grows, drops old entries, shrinks when swept, and keeps what counts", () => {
    const logs = new RequestLogs(100);
    const slot = () => logs.find(digest("one"));
    for (let now = 1; now <= 5000; now++) logs.append(logs.findOrCreate(digest("one")), now, 1000, 1000);
    expect(logs.used(slot(), 1000, 5000)).toBe(1000);
    expect(logs.oldest(slot(), 1000, 1000, 5000)).toBe(4001);
    expect(logs.used(slot(), 500, 5000)).toBe(500);
    logs.sweep(5990);
    expect([logs.used(slot(), 1000, 5990), logs.oldest(slot(), 10, 1000, 5990)]).toEqual([10, 4991]);
    for (let now = 5991; now <= 6100; now++) logs.append(logs.findOrCreate(digest("one")), now, 1000, 1000);
    expect([logs.used(slot(), 1000, 6100), logs.oldest(slot(), 110, 1000, 6100)]).toEqual([110, 5991]);
  });

  test("a log forgets no request of its longest window, and does not slow down, whatever windows are used with it", () => {
    const logs = new RequestLogs(100);
    const slot = () => logs.findOrCreate(digest("many"));
    logs.append(slot(), 1, 10, LONG_MS);
    for (let now = 2; now <= 8000; now++) logs.append(slot(), now, 10, 10);
    expect(logs.used(slot(), LONG_MS, 8000)).toBe(8000);
    expect(logs.waitMs(slot(), 1, 10, 8000)).toBe(10);
  });
});

describe("logs of large limits", () => {
  test("no count is lost when a limit becomes large and small again, and slots move", () => {
    const logs = new RequestLogs(1000);
    const slot = () => logs.findOrCreate(digest("large"));
    let now = 1;
    for (let sent = 0; sent < 10_000; sent++, now += 10) logs.append(slot(), now, 10_000, 3_600_000);
    for (let sent = 0; sent < 100_000; sent++, now += 10) logs.append(slot(), now, 1e9, 60_000);
    expect(logs.used(slot(), 3_600_000, now)).toBe(110_000);
    // Growing the table moves the slot.
    for (let key = 0; key < 150; key++) logs.append(logs.findOrCreate(digest(`key ${key}`)), now, 1, LONG_MS);
    expect(logs.used(slot(), 3_600_000, now)).toBe(110_000);
    logs.append(slot(), now, 5, 60_000);
    expect(logs.used(slot(), 3_600_000, now)).toBe(110_001);
    logs.release(slot(), now);
    expect(logs.used(slot(), 3_600_000, now)).toBe(110_000);
    logs.remove(slot());
    expect(logs.used(slot(), 3_600_000, now)).toBe(0);
  });

  test("an idle log is swept", () => {
    const logs = new RequestLogs(100);
    for (let now = 1; now < 1000; now++) logs.append(logs.findOrCreate(digest("idle")), now, 1e9, 1000);
    logs.sweep(1500);
    expect(logs.size).toBe(1);
    logs.sweep(2000);
    expect(logs.size).toBe(0);
  });
});

describe("keys in memory", () => {
  const createLedger = (maxKeys?: number) => {
    const clock = { ...systemClock, nowMs: 0, now: () => clock.nowMs, unixNow: () => clock.nowMs };
    const ledger = new MemoryLedger({ clock, ...(maxKeys !== undefined && { maxKeys }) });
    const reserve = (key: string, limit = 1) =>
      ledger.reserve("gw", [{ kind: "requests", key, limit, windowMs: 1000 }], "closed");
    return { clock, ledger, reserve };
  };

  test("idle keys are dropped while other keys are used; the keys in use stay exact", () => {
    const { clock, ledger, reserve } = createLedger();
    for (let at = 0; at < 50_000; at++) reserve(`idle ${at}`);
    expect(ledger.size).toBe(50_000);
    clock.nowMs = 5000;
    expect(reserve("busy").reserved).toBe(true);
    for (let at = 0; at < 50_000; at++) expect(reserve("busy").reserved).toBe(false);
    expect(ledger.size).toBe(1);
  });

  test("a rejected request creates no key", () => {
    const { ledger, reserve } = createLedger();
    reserve("full");
    const rejected = ledger.reserve(
      "gw",
      [
        { kind: "requests", key: "other", limit: 1, windowMs: 1000 },
        { kind: "requests", key: "full", limit: 1, windowMs: 1000 },
      ],
      "closed",
    );
    expect([rejected.reserved, ledger.size]).toEqual([false, 1]);
  });

  test("with the maximum number of keys, a new key evicts an old one, not one in use", () => {
    const { clock, ledger, reserve } = createLedger(100);
    for (let at = 0; at < 1000; at++) {
      clock.nowMs = at / 10;
      reserve(`single ${at}`);
      reserve("in use", 2000);
    }
    expect(ledger.size).toBe(100);
    expect(reserve("in use", 2000).states[0]?.remaining).toBe(999);
    expect(reserve("single 999").reserved).toBe(false);
    expect(reserve("single 0").reserved).toBe(true);
  });
});

test("one moment is always the same second, whatever the milliseconds of the two clocks", () => {
  let monotonic = 0;
  // The wall clock is truncated to milliseconds; the window ends exactly on a second.
  const clock = {
    ...systemClock,
    now: () => monotonic,
    unixNow: () => Math.floor(1_000_000 + monotonic + 0.5),
  };
  const ledger = new MemoryLedger({ clock });
  const claims = [{ kind: "requests", key: "k", limit: 1000, windowMs: 10_000 } as const];
  const resets = new Set<number | null | undefined>();
  for (; monotonic < 100; monotonic += 0.3)
    resets.add(ledger.reserve("gw", claims, "closed").states[0]?.resetAt);
  expect(resets.size).toBe(1);
});
