// The definition of the compression of texts: the oracle of tests of src/base/text-compressor.ts and of the hash that uses it.

const BLOCK_BYTES = 4096;
const STEP_BYTES = 32;
const WORD_BYTES = 4;
const SUMS = 4;
const SHIFT_BYTES = 16;
const HALF_WORDS = 4;

/** NH of RFC 4418 for every 4 KiB of the text, padded with zeros to a multiple of 32 bytes, with four shifted keys. */
export function naiveCompression(key: Uint8Array, text: Uint8Array): Uint8Array {
  const sums: bigint[] = [];
  for (let start = 0; start < text.length; start += BLOCK_BYTES) {
    const block = text.subarray(start, start + BLOCK_BYTES);
    for (let sum = 0; sum < SUMS; sum++) sums.push(naiveSum(key.subarray(sum * SHIFT_BYTES), block));
  }
  return new Uint8Array(BigUint64Array.from(sums).buffer);
}

function naiveSum(key: Uint8Array, block: Uint8Array): bigint {
  let sum = 0n;
  for (let step = 0; step < block.length; step += STEP_BYTES)
    for (let word = 0; word < HALF_WORDS; word++) {
      const low = step + word * WORD_BYTES;
      const high = low + HALF_WORDS * WORD_BYTES;
      sum += wordSum(key, block, low) * wordSum(key, block, high);
    }
  return BigInt.asUintN(64, sum);
}

/** The sum of a word of the text and one of the key, modulo 2^32. */
function wordSum(key: Uint8Array, block: Uint8Array, at: number): bigint {
  return BigInt((wordAt(key, at) + wordAt(block, at)) % 2 ** 32);
}

/** Little-endian; 0 after the end. */
function wordAt(bytes: Uint8Array, at: number): number {
  let word = 0;
  for (let index = WORD_BYTES - 1; index >= 0; index--) word = word * 256 + (bytes[at + index] ?? 0);
  return word;
}
