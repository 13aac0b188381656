// Which values are awaited.
import { expect, test } from "bun:test";
import { isPromise, isThenable } from "./value-or-promise.ts";

test("a promise is recognized", () => {
  expect(isPromise(Promise.resolve(1))).toBe(true);
  expect(isPromise(1)).toBe(false);
  expect(isPromise(null)).toBe(false);
});

test("everything that await would wait for is thenable", () => {
  const then = () => undefined;
  for (const value of [Promise.resolve(), { then }, Object.assign(() => undefined, { then })])
    expect(isThenable(value)).toBe(true);
  for (const value of [undefined, null, 0, "then", true, {}, { then: 1 }, () => undefined])
    expect(isThenable(value)).toBe(false);
});
