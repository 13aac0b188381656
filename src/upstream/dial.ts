// Opens a connection to the first of several addresses that lets itself be connected.
import { Connection, type ConnectionOwner } from "./connection.ts";

/** After that long without a connection, the next address is tried beside it (RFC 8305 says 250 ms). */
const NEXT_ADDRESS_MS = 250;

/** Rejects with an UpstreamFault when none does. */
export function connectToFirst(
  addresses: readonly string[],
  port: number,
  serverName: string | null,
  owner: ConnectionOwner,
): Promise<Connection> {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  let next = 0;
  let underWay = 0;
  let isSettled = false;
  const tryNext = () => {
    const address = addresses[next++];
    if (address === undefined || isSettled) return;
    underWay++;
    const connection = new Connection(owner);
    const beside = next < addresses.length ? setTimeout(tryNext, NEXT_ADDRESS_MS) : undefined;
    connection.open(address, port, serverName).then(
      () => {
        clearTimeout(beside);
        if (isSettled) connection.close();
        isSettled = true;
        resolve(connection);
      },
      (error: unknown) => {
        clearTimeout(beside);
        underWay--;
        tryNext();
        if (underWay === 0 && !isSettled) reject(error);
      },
    );
  };
  tryNext();
  return promise;
}
