// The recent lines of the log: bounded, redacted, filtered by level, and followed.
import { describe, expect, test } from "bun:test";
import { createLog } from "./log.ts";
import {
  MAX_KEPT_CHARACTERS,
  MAX_KEPT_LINES,
  MAX_LOG_LISTENERS,
  mergeLines,
  type RecentLine,
} from "./recent-log.ts";

const newLog = (level = "debug") => createLog({ level, format: "json" }, { write: () => undefined });
const messagesOf = (lines: readonly RecentLine[]) =>
  lines.map(({ line }) => (JSON.parse(line) as { msg: string }).msg);

describe("recent lines", () => {
  test("are listed newest first, at a level and above; child logs add theirs with their fields", async () => {
    const log = newLog();
    log.debug("one");
    log.child({ worker: 2 }).warn({ at: "x" }, "two");
    log.info("three");
    expect(messagesOf(await log.recent.listLines("trace", 10))).toEqual(["three", "two", "one"]);
    expect(messagesOf(await log.recent.listLines("info", 10))).toEqual(["three", "two"]);
    expect(messagesOf(await log.recent.listLines("trace", 1))).toEqual(["three"]);
    const [line] = await log.recent.listLines("error", 10);
    expect(line).toBeUndefined();
    const [warning] = await log.recent.listLines("warn", 10);
    expect(JSON.parse(warning?.line ?? "")).toMatchObject({ level: "warn", worker: 2, at: "x", msg: "two" });
  });

  test("are only those that are logged, and not those of requests", async () => {
    const log = newLog("warn");
    log.info("not logged");
    expect(await log.recent.listLines("trace", 10)).toEqual([]);
    const all = newLog();
    const line = all.beginLine(Date.now());
    line?.text(',"path":"/v1"');
    if (line !== null) all.endLine(line, "request");
    expect(await all.recent.listLines("trace", 10)).toEqual([]);
  });

  test("are redacted as the log is", async () => {
    const log = newLog();
    log.warn(
      { header: "Bearer sk-proj-AbCd_0123456789", err: new Error("sk-proj-AbCd_0123456789") },
      "failed",
    );
    expect(JSON.stringify(await log.recent.listLines("trace", 10))).not.toContain("AbCd_0123456789");
  });

  test("are bounded in number and size; many lines of lower levels do not push out warnings", async () => {
    const log = newLog();
    log.warn("kept");
    for (let number = 0; number < 2 * MAX_KEPT_LINES; number++) log.info(`line ${number}`);
    expect(await log.recent.listLines("trace", Infinity)).toHaveLength(MAX_KEPT_LINES + 1);
    expect(messagesOf(await log.recent.listLines("warn", 10))).toEqual(["kept"]);
    for (let number = 0; number < 20; number++) log.info("x".repeat(MAX_KEPT_CHARACTERS / 10));
    const kept = await log.recent.listLines("trace", Infinity);
    expect(kept.length).toBeLessThanOrEqual(11);
    log.info("x".repeat(2 * MAX_KEPT_CHARACTERS));
    expect((await log.recent.listLines("trace", Infinity)).length).toBeLessThanOrEqual(11);
  });

  test("of several processes are merged by time", () => {
    const line = (time: string, text: string): RecentLine => ({
      level: "info",
      time,
      line: `{"msg":"${text}"}`,
    });
    const merged = mergeLines([[line("3", "c"), line("1", "a2"), line("1", "a1")], [line("2", "b")]], 3);
    expect(messagesOf(merged)).toEqual(["c", "b", "a2"]);
  });
});

describe("followers", () => {
  test("get the new lines of their level until they stop or the log closes", () => {
    const log = newLog();
    const seen: string[] = [];
    const follow = (level: "info" | "warn", name: string) =>
      log.recent.followLines({
        level,
        onLine: ({ line }) => seen.push(`${name} ${(JSON.parse(line) as { msg: string }).msg}`),
        onClose: () => seen.push(`${name} closed`),
      });
    log.info("before");
    const stop = follow("info", "one");
    follow("warn", "two");
    log.info("info");
    log.warn("warn");
    stop?.();
    log.warn("last");
    log.recent.close();
    log.warn("after");
    expect(seen).toEqual(["one info", "one warn", "two warn", "two last", "two closed"]);
  });

  test("are limited in number", () => {
    const { recent } = newLog();
    const follow = () =>
      recent.followLines({ level: "info", onLine: () => undefined, onClose: () => undefined });
    for (let number = 0; number < MAX_LOG_LISTENERS; number++) expect(follow()).not.toBeNull();
    expect(follow()).toBeNull();
  });
});
