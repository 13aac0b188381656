// Clients and providers that send slowly, where that is the subject of a test.

const BYTE_PAUSE_MS = 20;

/** Sends a text byte by byte with pauses. Ends early if `write` returns or resolves to false: the peer has closed. */
export async function sendByteByByte(
  text: string,
  write: (byte: string) => Promise<boolean> | boolean,
): Promise<void> {
  for (const byte of text) {
    if (!(await write(byte))) return;
    await Bun.sleep(BYTE_PAUSE_MS);
  }
}
