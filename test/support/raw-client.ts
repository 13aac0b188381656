// A TCP client without HTTP: sends bytes and shows exactly which bytes it received and how the connection ended.

export interface RawClient {
  /** Sends these bytes, as fast as the other side takes them. */
  send(text: string | Buffer): void;
  /** Bytes that the kernel has not taken. */
  unsentBytes(): number;
  /** Everything received so far, as latin1. */
  received(): string;
  /** Resolves once what was received satisfies the check. */
  until(check: (received: string) => boolean): Promise<string>;
  /** Resolves when the other side has closed, with everything received. */
  ended: Promise<{ received: string; reset: boolean }>;
  /** Closes the connection at once, with a FIN or a reset. */
  disconnect(reset?: boolean): void;
  /** Stop or resume reading, to build up backpressure. */
  pause(): void;
  resume(): void;
}

export async function connectRaw(port: number): Promise<RawClient> {
  // The pieces are joined on demand: joining them on every arrival is quadratic for a large response.
  const pieces: Buffer[] = [];
  const text = (): string => Buffer.concat(pieces).toString("latin1");
  const waiting = new Set<() => void>();
  const unsent: Buffer[] = [];
  const flush = (writer: { write(bytes: Buffer): number }) => {
    for (let [first] = unsent; first !== undefined; [first] = unsent) {
      const written = Math.max(0, writer.write(first));
      if (written === first.length) unsent.shift();
      else {
        unsent[0] = first.subarray(written);
        return;
      }
    }
  };
  const ending = Promise.withResolvers<{ received: string; reset: boolean }>();
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_socket, bytes) {
        pieces.push(bytes);
        for (const check of waiting) check();
      },
      drain: flush,
      close(_socket, error) {
        ending.resolve({ received: text(), reset: error !== undefined && /ECONNRESET/.test(String(error)) });
      },
      error() {
        // `close` follows and reports the same error.
      },
    },
  });
  return {
    send: (data) => {
      const bytes = typeof data === "string" ? Buffer.from(data, "latin1") : data;
      if (bytes.length > 0) unsent.push(bytes);
      if (unsent.length === 1) flush(socket);
    },
    unsentBytes: () => unsent.reduce((sum, { length }) => sum + length, 0),
    received: text,
    until: (check) =>
      new Promise((resolve, reject) => {
        const again = (): void => {
          if (!check(text())) return;
          waiting.delete(again);
          resolve(text());
        };
        waiting.add(again);
        void ending.promise.then(() => reject(new Error(`closed before the check passed, after: ${text()}`)));
        again();
      }),
    ended: ending.promise,
    disconnect: (reset = false) => {
      if (reset) socket.terminate();
      else socket.end();
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
}

/** Returns a valid request. Its header `x-fake` sets the behavior of the fake provider. */
export function rawRequest(target: string, body: unknown, behavior: unknown = {}): string {
  const text = JSON.stringify(body);
  return (
    `POST ${target} HTTP/1.1\r\nHost: fake\r\nContent-Type: application/json\r\nanthropic-version: 2023-06-01\r\n` +
    `x-fake: ${JSON.stringify(behavior)}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}
