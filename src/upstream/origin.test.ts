// Connections opened for a request that did not need them in the end, over real sockets.
import { afterAll, expect, test } from "bun:test";
import { waitFor, waitUntil } from "../../test/support/waiting.ts";
import { systemClock } from "../base/clock.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import type { Connection } from "./connection.ts";
import { HostResolver } from "./host-resolver.ts";
import { ProviderAddress } from "./provider-address.ts";
import { Origin, type ConnectionWaiter } from "./origin.ts";

let open = 0;
let opened = 0;
const provider = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open() {
      open += 1;
      opened += 1;
    },
    close() {
      open -= 1;
    },
    data: () => undefined,
  },
});
afterAll(() => provider.stop(true));
const address = new ProviderAddress(`http://127.0.0.1:${provider.port}`, systemClock);
const origin = new Origin("key", address, new HostResolver(systemClock), new CoarseDeadlines(systemClock));

/** A waiting request, and the connection that it is given. */
function createWaiter(): { waiter: ConnectionWaiter; given: Promise<Connection> } {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  return { waiter: { onConnection: resolve, onError: reject }, given: promise };
}

test("a spare connection is kept for the next request; that of a canceled request is closed", async () => {
  const first = createWaiter();
  origin.wait(first.waiter);
  const used = await first.given;

  const served = createWaiter();
  origin.wait(served.waiter);
  origin.onIdle(used, null);
  expect(await served.given).toBe(used);
  await waitUntil(() => open === 2);
  const spare = await waitFor(() => origin.takeIdle(performance.now()));
  expect(spare).not.toBe(used);

  const canceled = createWaiter();
  origin.wait(canceled.waiter);
  origin.stopWaiting(canceled.waiter);
  await waitUntil(() => opened === 3 && open === 2);
  expect(origin.takeIdle(performance.now())).toBeNull();
});
