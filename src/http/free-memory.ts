// Frees the memory of large buffers without waiting for the garbage collector, which may leave hundreds of megabytes for a while. Memory that
// was just freed is also in the cache of the CPU when the next bytes arrive.

/** Smaller buffers are left to the garbage collector: freeing them now costs more than it saves. */
export const LARGE_BUFFER_BYTES = 16 * 1024;

/** Frees a buffer. What still refers to it becomes empty. Memory that threads share stays. */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
}

/** Frees the buffer of received bytes that were read, unless they are few or followed by bytes that may still be read. */
export function freeReceived(bytes: Uint8Array): void {
  // Small bytes have no ArrayBuffer until it is asked for.
  if (bytes.byteLength < LARGE_BUFFER_BYTES) return;
  const { buffer, byteOffset, byteLength } = bytes;
  if (byteOffset + byteLength === buffer.byteLength) freeBuffer(buffer);
}
