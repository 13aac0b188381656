// Events of a client's socket have the order in which they happened, although received bytes wait.
import { expect, test } from "bun:test";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { fromClients } from "../receive-queue.ts";
import type { ClientConnection } from "./client-connection.ts";
import { ClientReceiver } from "./client-receiver.ts";

test.each([
  ["close", (receiver: ClientReceiver) => receiver.onClose()],
  ["error", (receiver: ClientReceiver) => receiver.onError()],
])("what was received before the event %s is read before it", async (_, happen) => {
  const events: string[] = [];
  const connection: Pick<ClientConnection, "onData" | "onClose" | "terminate"> = {
    onData: (bytes) => events.push(bytes.toString()),
    onClose: () => events.push("ended"),
    terminate: () => events.push("ended"),
  };
  const receiver = new ClientReceiver(connection as ClientConnection, (error) => events.push(String(error)));
  fromClients.push(receiver, Buffer.from("bytes"));
  expect(events).toEqual([]);
  happen(receiver);
  await eventLoopTurns();
  expect(events).toEqual(["bytes", "ended"]);
});
