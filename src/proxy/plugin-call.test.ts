// The memory of a body is freed when it was sent, unless a plugin may still refer to it. Its copy is sent, unless a plugin may change it.
import { expect, test } from "bun:test";
import { copyOfLastText } from "../base/json-string-end.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { BodyBudget } from "../http/body-budget.ts";
import { CoarseDeadlines } from "../http/coarse-deadlines.ts";
import { LARGE_BUFFER_BYTES } from "../http/free-memory.ts";
import { IncomingBody } from "../http/incoming-body.ts";
import { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { PluginHooks } from "../sdk/index.ts";
import { callHook } from "./call-hook.ts";
import { PluginCall } from "./plugin-call.ts";
import { PreRequestContext } from "./pre-request-context.ts";
import { linkOf, newExchange, PARTS } from "./shadow/shadow-call.fixture.ts";

const TEXT = JSON.stringify({ model: "m", messages: [], padding: " ".repeat(LARGE_BUFFER_BYTES) });
const HOOK_TIMEOUT_MS = 5000;

type Hook = NonNullable<PluginHooks["pre_request"]>;

const read: Hook = (context) => {
  expect(context.bodyView).not.toBeNull();
};
const readLater: Hook = async (context) => {
  await Promise.resolve();
  return read(context);
};
const readAndFail: Hook = (context) => {
  void read(context);
  throw new Error("broken");
};
const readAndWait: Hook = (context) => {
  void read(context);
  return new Promise(() => undefined);
};
const copy: Hook = (context) => {
  expect([context.body, context.bodyText, context.json]).toHaveLength(3);
};

test.each<[string, [isBuiltIn: boolean, hook: Hook][], boolean]>([
  ["is freed without plugins", [], true],
  ["is freed if a plugin of Gatehouse had it", [[true, read]], true],
  ["is freed if a plugin of Gatehouse had it until its promise was resolved", [[true, readLater]], true],
  ["is freed if other plugins had copies only", [[false, copy]], true],
  ["is kept if another plugin had it", [[false, read]], false],
  [
    "is kept if another plugin had it before one of Gatehouse",
    [
      [false, read],
      [true, read],
    ],
    false,
  ],
  ["is kept if a plugin of Gatehouse failed", [[true, readAndFail]], false],
  ["is kept if a plugin of Gatehouse did not finish in time", [[true, readAndWait]], false],
])("the memory of a body %s", async (_, plugins, isFreed) => {
  const clock = new ManualClock();
  const deadlines = new CoarseDeadlines(clock);
  const exchange = newExchange(TEXT, clock);
  const { bytes } = exchange.body!;
  const bodyBudget = new BodyBudget(4 * TEXT.length, clock);
  exchange.incomingBody = IncomingBody.complete(bytes, { maxBodyBytes: TEXT.length, deadlines, bodyBudget });
  exchange.incomingBody.take();
  for (const [isBuiltIn, hook] of plugins) {
    const link = { ...linkOf("p"), hooks: { pre_request: hook }, isBuiltIn };
    const call = new PluginCall(exchange, link, "pre_request", PARTS);
    const ended = callHook(call, "pre_request", new PreRequestContext(call));
    // The promises of the hook, before the timeout.
    await new Promise(setImmediate);
    clock.advance(HOOK_TIMEOUT_MS);
    await ended;
  }
  const attempt = new UpstreamResponse(deadlines, clock.now(), 1000, 1000);
  const [pause, resume, cancel] = [() => undefined, () => undefined, () => undefined];
  attempt.onSent({ holdsBody: false, pause, resume, cancel });
  exchange.beginAttempt(attempt, false);
  exchange.releaseBody();
  expect(bytes.byteLength).toBe(isFreed ? 0 : TEXT.length);
  expect(bodyBudget.used).toBe(0);
});

test.each([
  ["is sent from its copy after a plugin of Gatehouse had it", true],
  ["is not sent from its copy after another plugin had it, which may have changed it", false],
])("a body %s", (_, isBuiltIn) => {
  const exchange = newExchange(TEXT, new ManualClock());
  const { bytes } = exchange.body!;
  expect(copyOfLastText(bytes)).not.toBeNull();
  new PluginCall(exchange, { ...linkOf("p"), isBuiltIn }, "pre_request", PARTS).viewBody();
  expect(copyOfLastText(bytes) !== null).toBe(isBuiltIn);
});
