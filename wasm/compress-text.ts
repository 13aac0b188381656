// Compresses a text with a secret key, 4 KiB to 32 bytes: the function NH of UMAC (RFC 4418, section 5.2), four times with keys that are shifted by
// 16 bytes. AssemblyScript, not TypeScript: `npm run build:wasm` compiles this file to src/base/compress-text-wasm.ts.

// The layout of the memory, as in src/base/text-compressor.ts.
const KEY: usize = 0;
const LENGTH: usize = 0x1120;
const OUTPUT: usize = 0x1128;
const INPUT: usize = 0x1200;

const BLOCK_BYTES: usize = 4096;
const STEP_BYTES: usize = 32;
const ZEROS = i64x2(0, 0);

/** Compresses `bytes` bytes at INPUT, which need not be a multiple of STEP_BYTES, and writes their number and the result. */
export function compress(bytes: usize): void {
  const end = INPUT + bytes;
  v128.store(end, ZEROS);
  v128.store(end, ZEROS, 16);
  store<u64>(LENGTH, bytes);
  let output = OUTPUT;
  for (let at = INPUT; at < end; at += BLOCK_BYTES) {
    compressBlock(at, min(at + BLOCK_BYTES, end), output);
    output += STEP_BYTES;
  }
}

function compressBlock(start: usize, end: usize, output: usize): void {
  let first = ZEROS;
  let second = ZEROS;
  let third = ZEROS;
  let fourth = ZEROS;
  let key = KEY;
  let key0 = v128.load(key);
  let key1 = v128.load(key, 16);
  let key2 = v128.load(key, 32);
  for (let at = start; at < end; at += STEP_BYTES) {
    const low = v128.load(at);
    const high = v128.load(at, 16);
    const key3 = v128.load(key, 48);
    const key4 = v128.load(key, 64);
    first = addProducts(first, i32x4.add(low, key0), i32x4.add(high, key1));
    second = addProducts(second, i32x4.add(low, key1), i32x4.add(high, key2));
    third = addProducts(third, i32x4.add(low, key2), i32x4.add(high, key3));
    fourth = addProducts(fourth, i32x4.add(low, key3), i32x4.add(high, key4));
    key += STEP_BYTES;
    key0 = key2;
    key1 = key3;
    key2 = key4;
  }
  store<u64>(output, sumOf(first));
  store<u64>(output, sumOf(second), 8);
  store<u64>(output, sumOf(third), 16);
  store<u64>(output, sumOf(fourth), 24);
}

/** Adds the products of four pairs of 32-bit numbers. */
function addProducts(sum: v128, some: v128, others: v128): v128 {
  const low = i64x2.extmul_low_i32x4_u(some, others);
  const high = i64x2.extmul_high_i32x4_u(some, others);
  return i64x2.add(i64x2.add(sum, low), high);
}

function sumOf(pair: v128): u64 {
  return i64x2.extract_lane(pair, 0) + i64x2.extract_lane(pair, 1);
}
