// Calibration of estimated input tokens by settled usage.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { estimateTokens } from "../formats/token-estimate.ts";
import { InputCalibration } from "./input-calibration.ts";

const GATEWAY = "gateway";
const MODEL = "model";
const SAMPLES = join(import.meta.dirname, "../../test/golden/tokens");

/** Reads all requests again for every estimate. */
function naive(
  requests: readonly (readonly [estimated: number, settled: number])[],
  estimated: number,
): number {
  let [estimates, settlements] = [1000, 1000];
  for (const [age, [estimate, settled]] of requests.toReversed().entries()) {
    const weight = 0.95 ** age;
    estimates += weight * estimate;
    settlements += weight * Math.min(Math.max(settled, estimate / 2), estimate * 2);
  }
  return requests.length === 0 ? estimated : (estimated * settlements) / estimates;
}

test("equals a naive calculation, and stays between half and twice the estimate", () => {
  const tokens = fc.integer({ min: 1, max: 200_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(tokens, tokens), { maxLength: 60 }), tokens, (requests, estimated) => {
      const calibration = new InputCalibration();
      for (const [estimate, settled] of requests) calibration.add(GATEWAY, MODEL, estimate, settled);
      const calibrated = calibration.calibrate(GATEWAY, MODEL, estimated);
      expect(Math.abs(calibrated - naive(requests, estimated))).toBeLessThan(1 + 1e-6);
      expect(calibrated).toBeWithin(Math.floor(estimated / 2), 2 * estimated + 2);
    }),
  );
});

test("follows the tokens of the model, and forgets what they were", () => {
  const calibration = new InputCalibration();
  const ratioAfter = (settled: number) => {
    for (let sent = 0; sent < 100; sent++) calibration.add(GATEWAY, MODEL, 2000, settled);
    return calibration.calibrate(GATEWAY, MODEL, 100_000) / 100_000;
  };
  expect(ratioAfter(2600)).toBeWithin(1.28, 1.31);
  expect(ratioAfter(1600)).toBeWithin(0.79, 0.82);
});

test("short requests, and responses without usage, change little or nothing", () => {
  const calibration = new InputCalibration();
  calibration.add(GATEWAY, MODEL, 1000, 0);
  calibration.add(GATEWAY, MODEL, 0, 1000);
  expect(calibration.calibrate(GATEWAY, MODEL, 1000)).toBe(1000);
  for (let sent = 0; sent < 100; sent++) calibration.add(GATEWAY, MODEL, 10, 20);
  expect(calibration.calibrate(GATEWAY, MODEL, 1000)).toBeWithin(1000, 1200);
});

test("is kept per gateway and model; models that a client invents do not affect another gateway", () => {
  const calibration = new InputCalibration();
  calibration.add("other", MODEL, 100_000, 150_000);
  for (let model = 0; model < 5000; model++) calibration.add(GATEWAY, `m${model}`, 100_000, 150_000);
  expect(calibration.calibrate(GATEWAY, "m0", 1000)).toBe(1000);
  expect(calibration.calibrate(GATEWAY, "m4999", 1000)).toBeGreaterThan(1400);
  expect(calibration.calibrate("other", MODEL, 1000)).toBeGreaterThan(1400);
  expect(calibration.calibrate("other", null, 1000)).toBe(1000);
});

describe("with the true counts of real texts", () => {
  type Counts = Record<string, Record<string, number>>;
  const counts = JSON.parse(readFileSync(join(SAMPLES, "counts.json"), "utf8")) as Counts;
  const prose = Object.keys(counts).filter((name) => /^(?:prose|code|json|cjk)/.test(name));

  test.each(["o200k_base"])("all estimates stay within 0.75 and 1.35 of the count of %s", (vocabulary) => {
    const calibration = new InputCalibration();
    expect(prose.length).toBeGreaterThan(10);
    for (let round = 0; round < 3; round++)
      for (const name of prose) {
        const estimate = estimateTokens(readFileSync(join(SAMPLES, `${name}.txt`), "utf8"));
        const count = counts[name]?.[vocabulary] ?? 0;
        expect(calibration.calibrate(GATEWAY, MODEL, estimate) / count).toBeWithin(0.75, 1.35);
        calibration.add(GATEWAY, MODEL, estimate, count);
      }
  });
});
