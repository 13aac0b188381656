// A deadline for one piece of work: whichever comes first, and nothing left ticking.
import { expect, test } from "bun:test";
import { withTimeout } from "./with-timeout.ts";

const late = () => new Error("too late");

test("work that ends in time gives what it comes to, or its own fault", async () => {
  expect(await withTimeout(1000, Promise.resolve(7), late)).toBe(7);
  const failing = Promise.reject(new Error("its own"));
  expect(await withTimeout(1000, failing, late).catch(String)).toBe("Error: its own");
});

test("work that does not end is given up with the fault of the deadline", async () => {
  expect(await withTimeout(1, new Promise(() => undefined), late).catch(String)).toBe("Error: too late");
});

test("a process ends when its work does, not when the deadline would have come", async () => {
  const program = `import { withTimeout } from ${JSON.stringify(import.meta.resolve("./with-timeout.ts"))};
    await withTimeout(3_600_000, Promise.resolve(), () => new Error());`;
  const ended = Bun.spawn([process.execPath, "-e", program]);
  expect(await ended.exited).toBe(0);
});
