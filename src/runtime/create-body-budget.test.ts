// The default of MAX_BUFFERED_BYTES, and the warning where memory is short.
import { expect, test } from "bun:test";
import { defaultBufferedBytes } from "./create-body-budget.ts";

const MIB = 1024 * 1024;

test.each([
  [256 * MIB, 1, Math.floor((128 * MIB) / 3)],
  [384 * MIB, 1, Math.floor((256 * MIB) / 3)],
  [1024 * MIB, 4, Math.floor((896 * MIB) / 12)],
  [128 * MIB, 1, 8 * MIB],
  [64 * MIB, 2, 8 * MIB],
])("of %d bytes of memory and %d workers, bodies take %d bytes", (memory, workers, expected) => {
  expect(defaultBufferedBytes(memory, workers)).toBe(expected);
});
