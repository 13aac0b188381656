// Connects to the first reachable of several addresses (RFC 8305, "Happy Eyeballs").
import { Connection, type ConnectionOwner } from "./connection.ts";

/** When an attempt takes longer than this, the next address is tried in parallel (RFC 8305, section 5: 250 ms). */
const NEXT_ADDRESS_MS = 250;

/** Rejects with an UpstreamError if no address is reachable. */
export function connectToFirst(
  addresses: readonly string[],
  port: number,
  serverName: string | null,
  owner: ConnectionOwner,
): Promise<Connection> {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  const { clock } = owner.deadlines;
  let next = 0;
  let pending = 0;
  let isSettled = false;
  const tryNext = () => {
    const address = addresses[next++];
    if (address === undefined || isSettled) return;
    pending++;
    const connection = new Connection(owner);
    const nextAttempt = next < addresses.length ? clock.setTimeout(tryNext, NEXT_ADDRESS_MS) : null;
    connection.open(address, port, serverName).then(
      () => {
        nextAttempt?.close();
        if (isSettled) connection.close();
        isSettled = true;
        resolve(connection);
      },
      (error: unknown) => {
        nextAttempt?.close();
        pending--;
        tryNext();
        if (pending === 0 && !isSettled) reject(error);
      },
    );
  };
  tryNext();
  return promise;
}
