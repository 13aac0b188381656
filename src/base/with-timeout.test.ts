// A timeout for one promise; its timer does not outlive the promise.
import { expect, test } from "bun:test";
import { withTimeout } from "./with-timeout.ts";

const late = () => new Error("too late");

test("a promise that settles in time keeps its value or error", async () => {
  expect(await withTimeout(1000, Promise.resolve(7), late)).toBe(7);
  const failing = Promise.reject(new Error("its own"));
  expect(await withTimeout(1000, failing, late).catch(String)).toBe("Error: its own");
});

test("a promise that does not settle in time is rejected with the timeout error", async () => {
  expect(await withTimeout(1, new Promise(() => undefined), late).catch(String)).toBe("Error: too late");
});

test("the timer does not keep the process alive", async () => {
  const program = `import { withTimeout } from ${JSON.stringify(import.meta.resolve("./with-timeout.ts"))};
    await withTimeout(3_600_000, Promise.resolve(), () => new Error());`;
  const ended = Bun.spawn([process.execPath, "-e", program]);
  expect(await ended.exited).toBe(0);
});
