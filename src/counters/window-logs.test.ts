// Window logs against a Map of arrays, through growth, eviction, sweeping, and shrinking.
import { describe, expect, test } from "bun:test";
import { KeyDigest } from "./key-digest.ts";
import { MemoryCounters } from "./memory-counters.ts";
import { WindowLogs } from "./window-logs.ts";

const keyDigest = new KeyDigest();
const digest = (key: string) => keyDigest.update(key);

describe("window logs", () => {
  test("thousands of keys created, appended to, and removed are the same as in a Map of arrays", () => {
    const logs = new WindowLogs(1_000_000);
    const naive = new Map<string, number[]>();
    let state = 7;
    const below = (bound: number) => {
      state = Math.imul(state, 1103515245) + 12345;
      return ((state >>> 8) & 0xffff) % bound;
    };
    for (let now = 1; now < 60_000; now++) {
      const key = `key ${below(4000)}`;
      if (below(4) === 0) {
        const slot = logs.find(digest(key));
        expect(slot === -1).toBe(!naive.has(key));
        if (slot !== -1) logs.remove(slot);
        naive.delete(key);
      } else {
        logs.append(logs.findOrCreate(digest(key)), now, 20, 1e9);
        naive.set(key, [...(naive.get(key) ?? []), now].slice(-20));
      }
    }
    expect(logs.size).toBe(naive.size);
    for (const [key, times] of naive) {
      const slot = logs.find(digest(key));
      expect(Array.from({ length: logs.count(slot) }, (_, at) => logs.entry(slot, at))).toEqual(times);
    }
  });

  test("a ring grows to its limit, drops old entries, shrinks when swept, and keeps what counts", () => {
    const logs = new WindowLogs(100);
    const slot = () => logs.find(digest("one"));
    for (let now = 1; now <= 5000; now++) logs.append(logs.findOrCreate(digest("one")), now, 1000, 1000);
    expect(logs.count(slot())).toBe(1000);
    expect([logs.entry(slot(), 0), logs.entry(slot(), 999)]).toEqual([4001, 5000]);
    expect(logs.countUntil(slot(), 4500)).toBe(500);
    logs.sweep(5990);
    expect(logs.count(slot())).toBe(10);
    expect(logs.entry(slot(), 0)).toBe(4991);
    for (let now = 5991; now <= 6100; now++) logs.append(logs.findOrCreate(digest("one")), now, 1000, 1000);
    expect([logs.count(slot()), logs.entry(slot(), 0)]).toEqual([110, 5991]);
  });
});

describe("logs of large limits", () => {
  test("a log is bounded, also after many exact requests and with two windows, and loses no count", () => {
    const logs = new WindowLogs(1000);
    const slot = () => logs.findOrCreate(digest("large"));
    let now = 1;
    for (let sent = 0; sent < 10_000; sent++, now += 10) logs.append(slot(), now, 10_000, 3_600_000);
    for (let sent = 0; sent < 100_000; sent++, now += 10) logs.append(slot(), now, 1e9, 60_000);
    const log = logs.bucketLog(slot());
    expect(log?.count).toBeLessThanOrEqual(128);
    expect(log?.requestsFrom(0)).toBe(110_000);
    // Growing the table moves the slot.
    for (let key = 0; key < 50; key++) logs.findOrCreate(digest(`other ${key}`));
    for (let key = 0; key < 100; key++) logs.append(logs.findOrCreate(digest(`key ${key}`)), now, 1, 1e9);
    expect(logs.bucketLog(slot())).toBe(log);
    logs.remove(slot());
    expect(logs.bucketLog(slot())).toBeUndefined();
  });

  test("an idle log is swept", () => {
    const logs = new WindowLogs(100);
    for (let now = 1; now < 1000; now++) logs.append(logs.findOrCreate(digest("idle")), now, 1e9, 1000);
    logs.sweep(1500);
    expect(logs.size).toBe(1);
    logs.sweep(2000);
    expect(logs.size).toBe(0);
  });
});

describe("keys in memory", () => {
  const createCounters = (maxKeys?: number) => {
    const clock = { nowMs: 0, now: () => clock.nowMs, unixNow: () => clock.nowMs };
    const counters = new MemoryCounters({ clock, ...(maxKeys !== undefined && { maxKeys }) });
    const admit = (key: string, limit = 1) => counters.admit([{ key, limit, windowMs: 1000 }]);
    return { clock, counters, admit };
  };

  test("idle keys are dropped while other keys are used; the keys in use stay exact", () => {
    const { clock, counters, admit } = createCounters();
    for (let at = 0; at < 50_000; at++) admit(`idle ${at}`);
    expect(counters.size).toBe(50_000);
    clock.nowMs = 5000;
    expect(admit("busy").admitted).toBe(true);
    for (let at = 0; at < 50_000; at++) expect(admit("busy").admitted).toBe(false);
    expect(counters.size).toBe(1);
  });

  test("a rejected request creates no key", () => {
    const { counters, admit } = createCounters();
    admit("full");
    const rejected = counters.admit([
      { key: "other", limit: 1, windowMs: 1000 },
      { key: "full", limit: 1, windowMs: 1000 },
    ]);
    expect([rejected.admitted, counters.size]).toEqual([false, 1]);
  });

  test("with the maximum number of keys, a new key evicts an old one, not one in use", () => {
    const { clock, counters, admit } = createCounters(100);
    for (let at = 0; at < 1000; at++) {
      clock.nowMs = at / 10;
      admit(`single ${at}`);
      admit("in use", 2000);
    }
    expect(counters.size).toBe(100);
    expect(admit("in use", 2000).states[0]?.remaining).toBe(999);
    expect(admit("single 999").admitted).toBe(false);
    expect(admit("single 0").admitted).toBe(true);
  });
});
