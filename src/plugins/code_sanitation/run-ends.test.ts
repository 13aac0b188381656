// Tests of the ends of known beginnings: what was recorded is reported, and hardly anything else.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { RunEnds } from "./run-ends.ts";

const bytes = fc.uint8Array({ minLength: 30, maxLength: 60 });

test("an end that was recorded is reported in any body with the same last bytes", () => {
  fc.assert(
    fc.property(bytes, bytes, fc.nat(), (recorded, other, place) => {
      const ends = new RunEnds();
      const end = 12 + (place % (Math.min(recorded.length, other.length) - 12));
      ends.add(recorded, end);
      expect(ends.has(recorded, end)).toBe(true);
      other.set(recorded.subarray(end - 10, end), end - 10);
      expect(ends.has(other, end)).toBe(true);
    }),
  );
});

test("other ends are rarely reported", () => {
  const ends = new RunEnds();
  const body = Buffer.from('the last of the messages"}'.repeat(2000));
  expect(ends.has(body, 1000)).toBe(false);
  for (let end = 10_000; end < 11_000; end++) ends.add(body, end);
  let reported = 0;
  for (let end = 20_000; end < 40_000; end++) if (ends.has(body, end)) reported++;
  expect(reported).toBeLessThan(20);
  expect(new RunEnds().has(body, 10_000)).toBe(false);
});

test("the latest ends are kept when there are many", () => {
  const ends = new RunEnds();
  const body = Buffer.from('the last of the messages"}'.repeat(4000));
  for (let end = 10_000; end < 60_000; end++) ends.add(body, end);
  let kept = 0;
  for (let end = 59_000; end < 60_000; end++) if (ends.has(body, end)) kept++;
  expect(kept).toBeGreaterThan(700);
});
