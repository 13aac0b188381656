// The table and the rings under stress: against a Map of arrays, through growth, eviction, sweeping and shrinking.
import { describe, expect, test } from "bun:test";
import { KeyDigests } from "./key-digest.ts";
import { MemoryCounters } from "./memory.ts";
import { WindowLogs } from "./window-logs.ts";

const digests = new KeyDigests();
const digest = (key: string) => digests.put(0, key);

describe("window logs", () => {
  test("thousands of keys opened, appended to and removed equal a Map of arrays", () => {
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
        logs.append(logs.open(digest(key)), now, 20, 1e9);
        naive.set(key, [...(naive.get(key) ?? []), now].slice(-20));
      }
    }
    expect(logs.size).toBe(naive.size);
    for (const [key, times] of naive) {
      const slot = logs.find(digest(key));
      expect(Array.from({ length: logs.count(slot) }, (_, at) => logs.entry(slot, at))).toEqual(times);
    }
  });

  test("a ring grows to its limit, slides, shrinks when swept, and loses nothing that counts", () => {
    const logs = new WindowLogs(100);
    const slot = () => logs.find(digest("one"));
    for (let now = 1; now <= 5000; now++) logs.append(logs.open(digest("one")), now, 1000, 1000);
    expect(logs.count(slot())).toBe(1000);
    expect([logs.entry(slot(), 0), logs.entry(slot(), 999)]).toEqual([4001, 5000]);
    expect(logs.countUntil(slot(), 4500)).toBe(500);
    logs.sweep(5990);
    expect(logs.count(slot())).toBe(10);
    expect(logs.entry(slot(), 0)).toBe(4991);
    for (let now = 5991; now <= 6100; now++) logs.append(logs.open(digest("one")), now, 1000, 1000);
    expect([logs.count(slot()), logs.entry(slot(), 0)]).toEqual([110, 5991]);
  });
});

describe("keys in memory", () => {
  const counting = (maxKeys?: number) => {
    const clock = { nowMs: 0, now: () => clock.nowMs, unixNow: () => clock.nowMs };
    const counters = new MemoryCounters({ clock, ...(maxKeys !== undefined && { maxKeys }) });
    const admit = (key: string, limit = 1) => counters.admit([{ key, limit, windowMs: 1000 }]);
    return { clock, counters, admit };
  };

  test("idle ones are dropped as others come, and the busy ones stay exact", () => {
    const { clock, counters, admit } = counting();
    for (let at = 0; at < 50_000; at++) admit(`idle ${at}`);
    expect(counters.size).toBe(50_000);
    clock.nowMs = 5000;
    expect(admit("busy").admitted).toBe(true);
    for (let at = 0; at < 50_000; at++) expect(admit("busy").admitted).toBe(false);
    expect(counters.size).toBe(1);
  });

  test("a refused request makes no key", () => {
    const { counters, admit } = counting();
    admit("full");
    const refused = counters.admit([
      { key: "other", limit: 1, windowMs: 1000 },
      { key: "full", limit: 1, windowMs: 1000 },
    ]);
    expect([refused.admitted, counters.size]).toEqual([false, 1]);
  });

  test("at the bound a new key pushes out one that was used long ago, not one in use", () => {
    const { clock, counters, admit } = counting(100);
    for (let at = 0; at < 1000; at++) {
      clock.nowMs = at / 10;
      admit(`passing ${at}`);
      admit("in use", 2000);
    }
    expect(counters.size).toBe(100);
    expect(admit("in use", 2000).states[0]?.remaining).toBe(999);
    expect(admit("passing 999").admitted).toBe(false);
    expect(admit("passing 0").admitted).toBe(true);
  });
});
