import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { ClientSessions } from "./client-sessions.ts";

const owner = { gatewayId: "g", serviceId: "s", client: "key-1" };

test("an ended session stays ended, however many sessions other clients end", () => {
  const clock = new ManualClock();
  const sessions = new ClientSessions("secret", clock);
  const session = { version: "2025-11-25", nonce: "", createdAt: clock.unixNow(), servers: [] };
  const [ended, open] = [sessions.seal(session, owner), sessions.seal(session, owner)];
  sessions.end(ended, owner, session);
  for (let count = 0; count < 33_000; count++)
    sessions.end(`session ${count}`, { ...owner, client: `key-${2 + (count % 10)}` }, session);
  expect(sessions.open(ended, owner, clock.unixNow())).toBeNull();
  expect(sessions.open(open, owner, clock.unixNow())).toMatchObject({ version: session.version });
});
