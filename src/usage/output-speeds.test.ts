// The speed and the size of outputs cannot be lowered by causing many cheap responses, and stay within a bound.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { OutputSpeeds } from "./output-speeds.ts";

function observe(
  speeds: OutputSpeeds,
  count: number,
  tokens: number,
  perSecond: number,
  gateway = "a",
): void {
  const milliseconds = (tokens * 1000) / perSecond;
  for (let added = 0; added < count; added++)
    speeds.add(gateway, "model", { tokens, milliseconds, hasReasoned: true, wish: null });
}

test("nothing is known before 20 responses", () => {
  const speeds = new OutputSpeeds();
  expect(speeds.of("a", "model")).toBeUndefined();
  observe(speeds, 19, 1000, 50);
  expect(speeds.of("a", "model")).toMatchObject({ tokensPerSecond: null, tokens: null });
  observe(speeds, 1, 1000, 50);
  expect(speeds.of("a", "model")).toMatchObject({ tokensPerSecond: 50, tokens: 1000 });
  expect(speeds.of("b", "model")).toBeUndefined();
});

test("many short and slow responses lower neither the speed nor the size", () => {
  const speeds = new OutputSpeeds();
  observe(speeds, 30, 9000, 90);
  observe(speeds, 100_000, 6, 6);
  expect(speeds.of("a", "model")).toMatchObject({ tokensPerSecond: 90, tokens: 9000 });
});

test("responses that clients have left raise the size", () => {
  const speeds = new OutputSpeeds();
  observe(speeds, 1000, 60, 60);
  expect(speeds.of("a", "model")).toMatchObject({ tokens: 60 });
  speeds.addAborted("a", "model", 9000);
  expect(speeds.of("a", "model")).toMatchObject({ tokens: 9000, tokensPerSecond: 60 });
});

test("reasoning that was not asked for is remembered per gateway", () => {
  const speeds = new OutputSpeeds();
  const add = (wish: "on" | "off" | null) =>
    speeds.add("a", "model", { tokens: 5, milliseconds: 5, hasReasoned: true, wish });
  add("on");
  expect(speeds.of("a", "model")).toMatchObject({ reasonsUnasked: false, reasonsDespiteOff: false });
  add("off");
  expect(speeds.of("a", "model")).toMatchObject({ reasonsUnasked: false, reasonsDespiteOff: true });
  add(null);
  expect(speeds.of("a", "model")).toMatchObject({ reasonsUnasked: true, reasonsDespiteOff: true });
});

test("the speed is that of 95 percent of the last 1,000 responses of a size", () => {
  const speed = fc.double({ min: 1, max: 1000, noNaN: true });
  fc.assert(
    fc.property(fc.array(speed, { minLength: 20, maxLength: 1300 }), (rates) => {
      const speeds = new OutputSpeeds();
      for (const rate of rates) observe(speeds, 1, 2000, rate);
      const sorted = rates.slice(-1000).sort((a, b) => a - b);
      const expected = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
      expect(speeds.of("a", "model")?.tokensPerSecond ?? 0).toBeCloseTo(expected, 2);
    }),
    { numRuns: 50 },
  );
});

test("a gateway keeps the models that are used, and few others", () => {
  const speeds = new OutputSpeeds();
  observe(speeds, 20, 1000, 50);
  for (let count = 0; count < 1000; count++) {
    speeds.add("a", `made-up-${count}`, { tokens: 5, milliseconds: 5, hasReasoned: true, wish: null });
    if (count % 40 === 0) expect(speeds.of("a", "model")?.tokensPerSecond).toBe(50);
  }
  expect(speeds.of("a", "made-up-1")).toBeUndefined();
});
