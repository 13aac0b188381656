// Deadlines expire after their time, not before it, and can be moved and disabled.
import { expect, test } from "bun:test";
import { unwatchDeadline, watchDeadline, type Deadline } from "./coarse-deadlines.ts";

class TestDeadline implements Deadline {
  readonly #expired = Promise.withResolvers<number>();
  dueAt: number;

  constructor(dueAt: number) {
    this.dueAt = dueAt;
    watchDeadline(this);
  }

  get expired(): Promise<number> {
    return this.#expired.promise;
  }

  expire(): void {
    unwatchDeadline(this);
    this.#expired.resolve(performance.now());
  }
}

test("a deadline expires after its time", async () => {
  const dueAt = performance.now() + 80;
  expect(await new TestDeadline(dueAt).expired).toBeGreaterThanOrEqual(dueAt);
});

test("a deadline can be moved while it is watched", async () => {
  const deadline = new TestDeadline(Infinity);
  const other = new TestDeadline(performance.now() + 60);
  await other.expired;
  deadline.dueAt = performance.now();
  await deadline.expired;
});

test("an unwatched deadline does not expire", async () => {
  const unwatched = new TestDeadline(performance.now() + 10);
  unwatchDeadline(unwatched);
  let hasExpired = false;
  void unwatched.expired.then(() => (hasExpired = true));
  await new TestDeadline(performance.now() + 120).expired;
  expect(hasExpired).toBe(false);
});

test("the timer does not keep the process alive", async () => {
  const program = `import { watchDeadline, unwatchDeadline } from ${JSON.stringify(import.meta.resolve("./coarse-deadlines.ts"))};
    const deadline = { dueAt: Infinity, expire: () => undefined };
    watchDeadline(deadline);
    unwatchDeadline(deadline);`;
  expect(await Bun.spawn([process.execPath, "-e", program]).exited).toBe(0);
});
