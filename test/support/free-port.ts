// Ports for programs that tests and benchmarks start: their ports must be known in advance.

/** Below the ports that the kernel gives to connections, and to servers that listen on port 0: 32768 and above. */
const [FIRST, COUNT] = [10_000, 22_000];
const ATTEMPTS = 100;

/** Returns a port on which nothing listens. It is random, so another caller is unlikely to get it before a program listens on it. */
export function freePort(): number {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => undefined } }).stop(true);
      return port;
    } catch {
      // Something listens there.
    }
  }
  throw new Error(`${ATTEMPTS} random ports of 127.0.0.1 from ${FIRST} on are in use`);
}
