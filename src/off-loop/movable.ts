// Whether bytes can be moved to a worker thread instead of being copied.

/**
 * Smaller bytes are copied, which takes about a millisecond per megabyte. They may also be a chunk that belongs to the
 * connection.
 */
const MIN_MOVED_BYTES = 1024 * 1024;

/** Whether the bytes are large and all of their memory. Nothing else may use it. */
export function isMovable(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return byteLength >= MIN_MOVED_BYTES && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
}
