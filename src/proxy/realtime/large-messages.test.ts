// The memory and the threads of large messages.
import { afterAll, expect, test } from "bun:test";
import { systemClock } from "../../base/clock.ts";
import { BodyBudget } from "../../http/body-budget.ts";
import { LargeMessage } from "../../http/websocket/messages.ts";
import { OffLoop } from "../../off-loop/off-loop.ts";
import { LargeMessages } from "./large-messages.ts";

const offLoop = new OffLoop({ maxThreads: 1 });
afterAll(() => offLoop.close());

const messageOf = (bytes: number) => new LargeMessage(Buffer.alloc(bytes, "a"), true);
const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : error);

test("count in MAX_BUFFERED_BYTES while they are read, and are refused without room", async () => {
  const bodyBudget = new BodyBudget(1_000_000, systemClock);
  const messages = new LargeMessages("gateway", { offLoop, bodyBudget });
  const reading = messages.fromClient(messageOf(600_000));
  expect(bodyBudget.used).toBe(600_000);
  expect(await messages.fromProvider(messageOf(600_000), []).catch(codeOf)).toBe("overloaded");
  expect(bodyBudget.used).toBe(600_000);
  const { event, sent } = await reading;
  expect([event, sent instanceof Object]).toEqual([null, true]);
  expect(bodyBudget.used).toBe(0);
});

test("are not read any more when their socket has ended", async () => {
  const bodyBudget = new BodyBudget(10_000_000, systemClock);
  const [one, other] = [1, 2].map(() => new LargeMessages("gateway", { offLoop, bodyBudget }));
  const running = one?.fromClient(messageOf(300_000));
  const waiting = other?.fromClient(messageOf(300_000)).catch(codeOf);
  expect(offLoop.waitingCount).toBe(1);
  other?.close();
  expect(await waiting).toBe("internal_error");
  expect(offLoop.waitingCount).toBe(0);
  await running;
  expect(bodyBudget.used).toBe(0);
});
