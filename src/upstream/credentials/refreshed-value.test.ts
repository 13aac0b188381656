// When a value is fetched: once for all, in the background before it expires, and after a pause if a fetch failed.
import { expect, test } from "bun:test";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { isPromise } from "../../base/value-or-promise.ts";
import { RefreshedValue } from "./refreshed-value.ts";

/** A value whose fetches the test ends by itself. */
function start(lifetimeMs: number) {
  const clock = new ManualClock();
  const fetches: PromiseWithResolvers<string>[] = [];
  const value = new RefreshedValue<string>(clock, async () => {
    const fetch = Promise.withResolvers<string>();
    fetches.push(fetch);
    return { value: await fetch.promise, lifetimeMs };
  });
  const get = () => value.get(clock.now());
  const settle = async (index: number, result: string | Error) => {
    if (result instanceof Error) fetches[index]?.reject(result);
    else fetches[index]?.resolve(result);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  const failure = async () => {
    const result = get();
    if (!isPromise(result)) return null;
    return result.then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  };
  return { clock, fetches, get, settle, failure };
}

test("concurrent calls share a fetch, and later ones get the value at once", async () => {
  const { fetches, get, settle } = start(3_600_000);
  const waiting = [get(), get(), get()].map(async (value) => value);
  expect(fetches.length).toBe(1);
  await settle(0, "a");
  expect(await Promise.all(waiting)).toEqual(["a", "a", "a"]);
  expect(get()).toBe("a");
});

test.each([
  ["five minutes", 3_600_000, 3_300_000],
  ["a fifth of a short lifetime", 60_000, 48_000],
])("a value is fetched again when %s remain, and used until then", async (_, lifetimeMs, refreshAfterMs) => {
  const { clock, fetches, get, settle } = start(lifetimeMs);
  void get();
  await settle(0, "a");
  clock.advance(refreshAfterMs - 1);
  expect(get()).toBe("a");
  expect(fetches.length).toBe(1);
  clock.advance(1);
  expect([get(), get()]).toEqual(["a", "a"]);
  expect(fetches.length).toBe(2);
  await settle(1, "b");
  expect(get()).toBe("b");
});

test("an expired value is not used, and calls wait for the fetch that runs already", async () => {
  const { clock, fetches, get, settle } = start(60_000);
  void get();
  await settle(0, "a");
  clock.advance(50_000);
  expect(get()).toBe("a");
  clock.advance(10_000);
  const waiting = get();
  expect(isPromise(waiting)).toBe(true);
  expect(fetches.length).toBe(2);
  await settle(1, "b");
  expect(await waiting).toBe("b");
});

test("a failure is returned without another fetch for a time that doubles up to 30 seconds", async () => {
  const { clock, fetches, settle, failure } = start(60_000);
  for (const [index, pauseMs] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
    const waiting = failure();
    await settle(index, new Error(`failure ${index}`));
    expect(await waiting).toBe(`failure ${index}`);
    clock.advance(pauseMs - 1);
    expect(await failure()).toBe(`failure ${index}`);
    expect(fetches.length).toBe(index + 1);
    clock.advance(1);
  }
});

test("a failed refresh keeps the value until it expires", async () => {
  const { clock, fetches, get, settle, failure } = start(60_000);
  void get();
  await settle(0, "a");
  clock.advance(50_000);
  expect(get()).toBe("a");
  await settle(1, new Error("down"));
  expect(get()).toBe("a");
  expect(fetches.length).toBe(2);
  clock.advance(1000);
  expect(get()).toBe("a");
  expect(fetches.length).toBe(3);
  await settle(2, new Error("still down"));
  clock.advance(7000);
  const waiting = failure();
  await settle(3, new Error("down again"));
  expect(await waiting).toBe("down again");
});
