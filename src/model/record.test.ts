// timeOfChange: every version of a record has another time.
import { expect, test } from "bun:test";
import { timeOfChange } from "./record.ts";

test("a change is later than the previous one, even after the clock was set back", () => {
  expect(timeOfChange({ updated_at: "2099-12-31T23:59:59.999Z" })).toBe("2100-01-01T00:00:00.000Z");
  const past = timeOfChange({ updated_at: "2001-01-01T00:00:00.000Z" });
  expect(Math.abs(Date.now() - Date.parse(past))).toBeLessThan(60_000);
  let updated_at = past;
  for (let change = 0; change < 100; change++) {
    const next = timeOfChange({ updated_at });
    expect(next > updated_at).toBe(true);
    updated_at = next;
  }
});
