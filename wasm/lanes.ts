// Bits of the lanes of vectors. AssemblyScript, not TypeScript: other files in wasm/ import it.

/** The high bits of 4 times 16 bytes, such as the results of comparisons, as one bit per byte. */
export function bits(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    (<u64>i8x16.bitmask(a)) |
    ((<u64>i8x16.bitmask(b)) << 16) |
    ((<u64>i8x16.bitmask(c)) << 32) |
    ((<u64>i8x16.bitmask(d)) << 48)
  );
}
