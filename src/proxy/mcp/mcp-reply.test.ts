import { afterAll, expect, test } from "bun:test";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { OffLoop } from "../../off-loop/off-loop.ts";
import { McpReply } from "./mcp-reply.ts";

const offLoop = new OffLoop({ maxThreads: 1 });
afterAll(() => offLoop.close());

test("messages that are sent after the end of a reply without a stream open none, and nothing waits for them", async () => {
  const clock = new ManualClock();
  let streams = 0;
  const reply = new McpReply({
    clock,
    deadlines: new CoarseDeadlines(clock),
    offLoop,
    tenant: "",
    onStream: () => streams++,
    onDisconnect: () => undefined,
    onCheck: () => undefined,
  });
  reply.close();
  await reply.send("{}", null, null);
  clock.advance(60_000);
  expect([streams, reply.isStream]).toEqual([0, false]);
});
