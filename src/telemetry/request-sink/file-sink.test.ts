// The file sink: batches, an unwritable path, the bound of its queue, and its end.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { createLog } from "../log/log.ts";
import { Metrics } from "../metrics/metrics.ts";
import { FileSink, MAX_QUEUED_CHARACTERS } from "./file-sink.ts";
import { sinkCounts } from "./request-sink.ts";

const root = mkdtempSync(join(tmpdir(), "gatehouse-sink-"));
afterAll(() => rmSync(root, { recursive: true }));

let clock: ManualClock;
let metrics: Metrics;
let logged: string[];
beforeEach(() => {
  clock = new ManualClock();
  metrics = new Metrics();
  logged = [];
});

function sinkAt(path: string): FileSink {
  const log = createLog({ level: "info", format: "json" }, { write: (line) => void logged.push(line) });
  const file = { path, maxBytes: 2 ** 30, keptFiles: 1 };
  return new FileSink({ file, counts: sinkCounts(metrics), log, clock });
}

const records = (result: "written" | "dropped") =>
  metrics.number("gatehouse_request_log_records_total", { result }).value;
const linesOf = (path: string) =>
  existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];

test("records are collected and written together", async () => {
  const path = join(root, "batched");
  const sink = sinkAt(path);
  for (const line of ["one", "two"]) sink.write(line);
  expect([linesOf(path), clock.timerCount]).toEqual([[], 1]);
  clock.advance(200);
  await waitUntil(() => records("written") === 2);
  expect(linesOf(path)).toEqual(["one", "two"]);
  await sink.close();
});

test("a large batch is written without waiting", async () => {
  const path = join(root, "large");
  const sink = sinkAt(path);
  const line = "x".repeat(1000);
  for (let count = 0; count < 1000; count++) sink.write(line);
  await waitUntil(() => records("written") === 1000);
  expect(linesOf(path)).toEqual(Array.from({ length: 1000 }, () => line));
  await sink.close();
});

test("close writes what is queued", async () => {
  const path = join(root, "closed");
  const sink = sinkAt(path);
  sink.write("last");
  await sink.close();
  expect([linesOf(path), clock.timerCount]).toEqual([["last"], 0]);
});

test("while the file is not writable the queue is bounded, and it is written when it is writable again", async () => {
  const blocker = join(root, "blocked");
  writeFileSync(blocker, "");
  const path = join(blocker, "requests.jsonl");
  const sink = sinkAt(path);
  const line = "y".repeat(MAX_QUEUED_CHARACTERS / 4 - 10);
  for (let count = 0; count < 6; count++) sink.write(line);
  expect(records("dropped")).toBe(2);
  await waitUntil(() => logged.length === 1);
  expect(logged[0]).toContain("request log file not writable; retrying");
  clock.advance(1000);
  rmSync(blocker);
  await waitUntil(() => {
    clock.advance(1000);
    return records("written") === 4;
  });
  expect(linesOf(path)).toEqual([line, line, line, line]);
  expect(logged).toHaveLength(2);
  expect(logged[1]).toContain("request log file writable again");
  await sink.close();
});

test("records that cannot be written at the end are counted as dropped", async () => {
  const blocker = join(root, "never");
  writeFileSync(blocker, "");
  const sink = sinkAt(join(blocker, "requests.jsonl"));
  sink.write("lost");
  await sink.close();
  expect([records("written"), records("dropped"), clock.timerCount]).toEqual([0, 1, 0]);
});
