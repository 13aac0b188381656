// What doctor says about the persistence and the eviction of Redis. Fields that INFO lacks are unknown, not guessed.
import { expect, test } from "bun:test";
import { checkRedisInfo } from "./redis-checks.ts";

const states = (info: string) => checkRedisInfo(info).map(({ state, detail }) => `${state} ${detail}`);

test("a Redis that keeps everything is fine", () => {
  const info =
    "run_id:a\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrdb_last_save_time:1700000000\r\n";
  expect(states(info)).toEqual([
    "ok Redis drops no limits and budgets (maxmemory_policy noeviction, maxmemory 100)",
    "ok Redis appends what it writes to a file (aof_enabled 1); last saved 2023-11-14T22:13:20.000Z",
  ]);
});

test("eviction and missing persistence are warnings", () => {
  const info =
    "run_id:a\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:0\r\nrdb_last_save_time:1700000000\r\n";
  expect(states(info)).toEqual([
    "warn Redis drops limits and budgets when it is full: maxmemory_policy is allkeys-lru",
    "warn a restart of Redis loses what limits have counted since it was last saved (aof_enabled 0); last saved 2023-11-14T22:13:20.000Z",
  ]);
});

test("without INFO, nothing is guessed", () => {
  expect(states("")).toEqual([
    "warn unknown whether Redis drops keys when it is full: no maxmemory_policy",
    "warn unknown whether Redis keeps its data over a restart: no aof_enabled; rdb_last_save_time is unknown",
    "warn Redis does not say which of its processes replies (no run_id): after each new connection it is taken to have lost data, and budgets are compared with the database again",
  ]);
});
