// A gate at which code of a plugin waits, by fetching its URL, until the test opens the gate.
import { afterAll, afterEach } from "bun:test";
import { waitUntil } from "./waiting.ts";

interface Gate {
  readonly url: string;
  /** Resolves when this many callers have arrived at the closed gate. */
  untilArrived(count: number): Promise<void>;
  /** Lets the waiting callers continue, and all later ones until the gate is closed. */
  open(): void;
  /** Called after each test. */
  close(): void;
}

/** Starts a closed gate for all tests of a file. */
export function useGate(): Gate {
  let arrivals = 0;
  let opened = Promise.withResolvers<undefined>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch() {
      arrivals++;
      await opened.promise;
      return new Response("open");
    },
  });
  const close = () => {
    opened = Promise.withResolvers<undefined>();
    arrivals = 0;
  };
  afterEach(close);
  afterAll(() => server.stop(true));
  return {
    url: server.url.href,
    untilArrived: (count) => waitUntil(() => arrivals >= count),
    open: () => opened.resolve(undefined),
    close,
  };
}
