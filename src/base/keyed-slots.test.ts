// The limit per key, the order of those that wait, and the bound of the wait.
import { expect, test } from "bun:test";
import { KeyedSlots } from "./keyed-slots.ts";

const signal = new AbortController().signal;

function hold(slots: KeyedSlots, key: string, started: string[], name: string, stop: AbortSignal = signal) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const done = slots.use(key, stop, () => {
    started.push(name);
    return promise;
  });
  return { done, finish: () => resolve(undefined) };
}

test("tasks beyond the limit of a key wait in order, and keys do not wait for each other", async () => {
  const slots = new KeyedSlots(1, 2);
  const started: string[] = [];
  const first = hold(slots, "a", started, "first");
  const second = hold(slots, "a", started, "second");
  const third = hold(slots, "a", started, "third");
  const other = hold(slots, "b", started, "other");
  await Promise.resolve();
  expect(started).toEqual(["first", "other"]);
  expect([slots.isFull("a"), slots.isFull("b")]).toEqual([true, false]);
  expect(slots.use("a", signal, () => Promise.resolve())).rejects.toThrow("wait");
  first.finish();
  await first.done;
  second.finish();
  await second.done;
  third.finish();
  other.finish();
  await Promise.all([third.done, other.done]);
  expect(started).toEqual(["first", "other", "second", "third"]);
});

test("a task that is aborted while it waits gives its place in the queue up", async () => {
  const slots = new KeyedSlots(1, 1);
  const started: string[] = [];
  const first = hold(slots, "a", started, "first");
  const aborted = new AbortController();
  const second = hold(slots, "a", started, "second", aborted.signal);
  aborted.abort(new Error("too late"));
  expect(second.done).rejects.toThrow("too late");
  const third = hold(slots, "a", started, "third");
  first.finish();
  third.finish();
  await Promise.all([first.done, third.done]);
  expect(started).toEqual(["first", "third"]);
  expect(await slots.use("a", signal, () => Promise.resolve("free again"))).toBe("free again");
});
