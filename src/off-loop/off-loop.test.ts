// Tests of tasks in worker threads: results, errors, bounds, time limits, and the life of threads.
import { afterEach, expect, test } from "bun:test";
import { GatehouseError } from "../base/errors.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { OffLoopError } from "./off-loop-error.ts";
import { OffLoop, type TaskOptions } from "./off-loop.ts";
import type * as testTask from "./test-task.fixture.ts";
import type { TestInput } from "./test-task.fixture.ts";

const TASK = new URL("./test-task.fixture.ts", import.meta.url);
const LIMITS = { timeoutMs: 20_000, bytes: 1 };

type Options = ConstructorParameters<typeof OffLoop>[0];
let opened: OffLoop | null = null;
afterEach(() => opened?.close());

function open(options: Options = {}): OffLoop {
  return (opened = new OffLoop({ maxThreads: 1, ...options }));
}

function run(offLoop: OffLoop, input: TestInput, limits: Partial<TaskOptions> = {}) {
  return offLoop.run<typeof testTask>(TASK, input, { ...LIMITS, ...limits });
}

/** Starts a task that runs until `release` is called. Resolves when it is running. */
async function occupy(offLoop: OffLoop, limits: Partial<typeof LIMITS> & { signal?: AbortSignal } = {}) {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const result = run(offLoop, { do: "wait", gate }, limits).catch(reasonOf);
  const started = Atomics.waitAsync(gate, 0, 0);
  await started.value;
  const release = () => {
    Atomics.store(gate, 1, 1);
    Atomics.notify(gate, 1);
  };
  return { result, release };
}

function reasonOf(error: unknown): string {
  return error instanceof OffLoopError ? error.reason : `other: ${String(error)}`;
}

test("a task returns its output, and no thread runs before the first task", async () => {
  const offLoop = open();
  expect(offLoop.threadCount).toBe(0);
  expect(await run(offLoop, { do: "upper", text: "abc" })).toBe("ABC");
  expect(await run(offLoop, { do: "upper", text: "é" })).toBe("É");
  expect(offLoop.threadCount).toBe(1);
  expect(offLoop.counts).toEqual({ completed: 2, failed: 0, timed_out: 0, rejected: 0 });
});

test("large strings arrive complete, wherever they are located in the input and output", async () => {
  const offLoop = open();
  const large = ["a".repeat(1_000_000), "漢".repeat(100_000)];
  for (const value of [large[0], { list: [{ text: large[1], end: 1 }], text: large[0] }, "short", large]) {
    const output = await run(offLoop, { do: "echo", value });
    expect(Bun.deepEquals(output, value, true)).toBe(true);
  }
});

test("large bytes arrive complete, and the bytes of the caller stay", async () => {
  const bytes = new Uint8Array(1_000_000).fill(7);
  const output = await run(open(), { do: "bytes", bytes }, { bytes: bytes.length });
  expect(output).toEqual({ first: new Uint8Array(1_000_000).fill(1), size: 1_000_000 });
  expect(bytes.length).toBe(1_000_000);
  expect(bytes[999_999]).toBe(7);
});

test("bytes that are moved leave the caller when the task starts, not while it waits", async () => {
  const offLoop = open();
  const { result, release } = await occupy(offLoop);
  const moved = new Uint8Array(1_000_000).fill(7);
  const limits = { bytes: moved.length, moved };
  const waiting = run(offLoop, { do: "echo", value: { bytes: moved, size: moved.length } }, limits);
  expect(moved.length).toBe(1_000_000);
  release();
  await result;
  expect(await waiting).toEqual({ bytes: new Uint8Array(1_000_000).fill(7), size: 1_000_000 });
  expect(moved.length).toBe(0);
});

test("a task that throws rejects with its error, and the thread is used again", async () => {
  const offLoop = open();
  const thrown = await run(offLoop, { do: "throw" }).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ name: "TypeError", message: "wrong input" });
  const rejected = await run(offLoop, { do: "reject" }).catch((error: unknown) => error);
  expect(rejected).toBeInstanceOf(GatehouseError);
  expect(rejected).toMatchObject({ code: "validation_failed", details: [{ path: "a", message: "b" }] });
  expect(await run(offLoop, { do: "upper", text: "a" })).toBe("A");
  expect(offLoop.threadCount).toBe(1);
  expect(offLoop.counts).toMatchObject({ completed: 1, failed: 2 });
});

test("a module that cannot be loaded and an input that cannot be copied are errors of the task", async () => {
  const offLoop = open();
  const missing = offLoop.run(new URL("./missing.ts", import.meta.url), {} as never, LIMITS);
  expect(await missing.catch((error: unknown) => String(error))).toContain("missing.ts");
  const uncloneable = offLoop.run(TASK, (() => undefined) as never, LIMITS);
  expect(await uncloneable.catch((error: unknown) => String(error))).toContain("DataCloneError");
  expect(await run(offLoop, { do: "upper", text: "a" })).toBe("A");
});

test.each(["exit", "crash"] as const)("a thread that ends by itself (%s) is replaced", async (how) => {
  const offLoop = open();
  const crashed = run(offLoop, { do: how }).catch(reasonOf);
  const next = run(offLoop, { do: "upper", text: "next" });
  expect(await crashed).toBe("crashed");
  expect(await next).toBe("NEXT");
  expect(offLoop.threadCount).toBe(1);
});

test("a task that exceeds its time limit ends with its thread, and the next one runs in another", async () => {
  const clock = new ManualClock();
  const offLoop = open({ clock });
  const endless = run(offLoop, { do: "spin" }, { timeoutMs: 1000 }).catch(reasonOf);
  const next = run(offLoop, { do: "upper", text: "next" });
  clock.advance(1000);
  expect(await endless).toBe("timed_out");
  expect(await next).toBe("NEXT");
  expect(offLoop.counts).toMatchObject({ completed: 1, timed_out: 1 });
});

test("the time limit includes the time that a task waits for a thread", async () => {
  const clock = new ManualClock();
  const offLoop = open({ clock });
  const busy = await occupy(offLoop);
  const waiting = run(offLoop, { do: "upper", text: "late" }, { timeoutMs: 500 }).catch(reasonOf);
  clock.advance(500);
  expect(await waiting).toBe("overloaded");
  busy.release();
  expect(await busy.result).toBe("waited");
});

test("a task that waited for most of its time is not called slow: other tasks took the time", async () => {
  const clock = new ManualClock();
  const offLoop = open({ clock });
  const busy = await occupy(offLoop);
  const late = run(offLoop, { do: "spin" }, { timeoutMs: 1000 }).catch(reasonOf);
  clock.advance(501);
  busy.release();
  expect(await busy.result).toBe("waited");
  clock.advance(499);
  expect(await late).toBe("overloaded");
});

test("tasks beyond the bounds of waiting tasks are rejected", async () => {
  const offLoop = open({ maxWaitingTasks: 2, maxWaitingBytes: 100 });
  const busy = await occupy(offLoop);
  const waiting = run(offLoop, { do: "upper", text: "a" }, { bytes: 60 });
  const tooManyBytes = await run(offLoop, { do: "upper", text: "b" }, { bytes: 60 }).catch(
    (error: unknown) => error,
  );
  expect(tooManyBytes).toMatchObject({
    reason: "overloaded",
    code: "overloaded",
    headers: { "Retry-After": "1" },
  });
  const alsoWaiting = run(offLoop, { do: "upper", text: "c" }, { bytes: 40 });
  expect(await run(offLoop, { do: "upper", text: "d" }, { bytes: 0 }).catch(reasonOf)).toBe("overloaded");
  expect(offLoop.waitingCount).toBe(2);
  busy.release();
  expect(await Promise.all([waiting, alsoWaiting])).toEqual(["A", "C"]);
  expect(await run(offLoop, { do: "upper", text: "e" }, { bytes: 100 })).toBe("E");
  expect(offLoop.counts.rejected).toBe(2);
});

test("tasks run in as many threads as allowed", async () => {
  const offLoop = open({ maxThreads: 2 });
  const one = await occupy(offLoop);
  const other = await occupy(offLoop);
  expect(offLoop.threadCount).toBe(2);
  other.release();
  expect(await other.result).toBe("waited");
  one.release();
  expect(await one.result).toBe("waited");
});

test("a waiting task can be aborted; an aborted task that runs keeps its thread until it ends", async () => {
  const offLoop = open();
  const [running, waiting] = [new AbortController(), new AbortController()];
  const busy = await occupy(offLoop, { signal: running.signal });
  const queued = run(offLoop, { do: "upper", text: "a" }, { signal: waiting.signal }).catch(reasonOf);
  waiting.abort();
  expect(await queued).toBe("aborted");
  expect(offLoop.waitingCount).toBe(0);
  running.abort();
  expect(await busy.result).toBe("aborted");
  expect(await run(offLoop, { do: "upper", text: "a" }, { signal: running.signal }).catch(reasonOf)).toBe(
    "aborted",
  );
  const next = run(offLoop, { do: "upper", text: "next" });
  busy.release();
  expect(await next).toBe("NEXT");
  expect(offLoop.threadCount).toBe(1);
});

test("an idle thread ends, and a later task starts another", async () => {
  const clock = new ManualClock();
  const offLoop = open({ clock, idleMs: 1000 });
  await run(offLoop, { do: "upper", text: "a" });
  clock.advance(999);
  await run(offLoop, { do: "upper", text: "b" });
  clock.advance(999);
  expect(offLoop.threadCount).toBe(1);
  clock.advance(1);
  expect(offLoop.threadCount).toBe(0);
  expect(clock.timerCount).toBe(0);
  expect(await run(offLoop, { do: "upper", text: "c" })).toBe("C");
});

test("closing ends running and waiting tasks, and rejects later ones", async () => {
  const offLoop = open();
  const running = run(offLoop, { do: "spin" }).catch(reasonOf);
  const waiting = run(offLoop, { do: "upper", text: "a" }).catch(reasonOf);
  offLoop.close();
  expect(await running).toBe("closed");
  expect(await waiting).toBe("closed");
  expect(await run(offLoop, { do: "upper", text: "b" }).catch(reasonOf)).toBe("closed");
  expect(offLoop.threadCount).toBe(0);
});

test("tasks of different tenants start in turn, and one tenant does not take all places", async () => {
  const offLoop = open({ maxWaitingTasks: 4, maxShare: 1 / 2 });
  const { result, release } = await occupy(offLoop);
  const order: string[] = [];
  const start = (tenant: string, text: string) =>
    run(offLoop, { do: "upper", text }, { tenant }).then((done) => order.push(String(done)), reasonOf);
  const first = [start("one", "a1"), start("one", "a2")];
  expect(await start("one", "a3")).toBe("overloaded");
  const second = [start("two", "b1"), start("three", "c1")];
  release();
  await Promise.all([result, ...first, ...second]);
  expect(order).toEqual(["A1", "B1", "C1", "A2"]);
});
