// An isolate with a channel of the test: the bounds of calls that wait, held responses, and the `stop` hooks.
import { afterEach, expect, test } from "bun:test";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import type { PluginHost, PluginResponse, RequestContext } from "../../sdk/index.ts";
import { createLog } from "../../telemetry/log/log.ts";
import type { ChannelEvents } from "./channel.ts";
import { Isolate } from "./isolate.ts";
import { IsolatedInstance } from "./isolated-instance.ts";
import { packetOf, type Effect, type FromIsolate, type ToIsolate } from "./messages.ts";

const MAX_CALLS = 1000;
const MAX_BYTES = 64 * 1024 * 1024;
const HOST = {} as PluginHost;

/** An isolate whose messages the test sends and reads. */
class FakeIsolate {
  readonly clock = new ManualClock();
  readonly sent: ToIsolate[] = [];
  readonly instance = new IsolatedInstance(1, "g/1", {}, HOST);
  #events: ChannelEvents | null = null;
  readonly isolate = new Isolate({
    plugin: "tested",
    gatewayId: "g",
    isolation: "process",
    open: (events) => {
      this.#events = events;
      const send = ({ text }: { text: string }) => void this.sent.push(JSON.parse(text) as ToIsolate);
      return { send, sendReply: send, end: () => undefined, memoryBytes: () => null };
    },
    load: packetOf({ type: "load", builtin: "tested" }),
    clock: this.clock,
    log: createLog({ level: "error", format: "json" }, { write: () => undefined }),
    isExtra: false,
    onCrash: () => undefined,
    onChange: () => undefined,
    onUnused: () => undefined,
  });

  receive(message: FromIsolate): void {
    this.#events?.onPacket(packetOf(message));
  }

  crash(): void {
    this.#events?.onEnd("it crashed");
  }

  start(hooks: readonly string[] = ["pre_request"]): void {
    this.isolate.add(this.instance);
    this.receive({ type: "loaded" });
    this.created(hooks);
  }

  created(hooks: readonly string[] = ["pre_request"]): void {
    this.receive({ type: "created", instance: this.instance.id, hooks, waits: false });
  }

  call(context = contextOf(0)): Promise<void> {
    const called = this.isolate.call(this.instance, "pre_request", context);
    called.catch(() => undefined);
    return called;
  }

  finish(call: number, fields: { isHeld?: boolean; effects?: readonly Effect[] } = {}): void {
    const { isHeld = false, effects = [] } = fields;
    this.receive({ type: "done", call, effects, error: null, hasNotes: false, isHeld });
  }

  /** The numbers of the calls that the isolate has received. */
  get calls(): number[] {
    return this.sent.flatMap((message) => (message.type === "call" ? [message.call] : []));
  }
}

const opened: FakeIsolate[] = [];
function open(): FakeIsolate {
  const fake = new FakeIsolate();
  opened.push(fake);
  return fake;
}
afterEach(() => {
  for (const { isolate } of opened.splice(0)) isolate.close();
});

/** A context with a body of this size, and what its methods were called with. */
function contextOf(bytes: number, methods: Partial<RequestContext> = {}): RequestContext {
  const fields = {
    notes: new Map<string, unknown>(),
    headers: new Map<string, string>(),
    bodyView: bytes === 0 ? null : new Uint8Array(bytes),
    ...methods,
  };
  return fields as unknown as RequestContext;
}

/** Returns the message of the rejection, or what has happened instead so far. */
function outcomeOf(work: Promise<unknown>): Promise<string> {
  const settled = work.then(
    () => "resolved",
    (error: unknown) => String(error),
  );
  return Promise.race([settled, eventLoopTurns().then(() => "pending")]);
}

test("at most 1000 calls wait for an isolate; one that ends admits another", async () => {
  const fake = open();
  fake.start();
  for (let count = 0; count < MAX_CALLS; count++) void fake.call();
  expect(await outcomeOf(fake.call())).toContain("1000 calls wait already");
  expect(fake.calls).toHaveLength(MAX_CALLS);
  fake.finish(fake.calls[0] ?? 0);
  void fake.call();
  expect(fake.calls).toHaveLength(MAX_CALLS + 1);
  expect(await outcomeOf(fake.call())).toContain("1000 calls wait already");
});

test("calls that wait for the start of an isolate count too", async () => {
  const fake = open();
  fake.isolate.add(fake.instance);
  const waiting = Array.from({ length: MAX_CALLS }, () => fake.call());
  expect(await outcomeOf(fake.call())).toContain("1000 calls wait already");
  fake.receive({ type: "loaded" });
  fake.created();
  await eventLoopTurns();
  expect(fake.calls).toHaveLength(MAX_CALLS);
  for (const call of fake.calls) fake.finish(call);
  await Promise.all(waiting);
});

test("at most 64 MiB of bodies wait for an isolate; a single larger one may", async () => {
  const fake = open();
  fake.start();
  void fake.call(contextOf(MAX_BYTES - 10));
  void fake.call(contextOf(10));
  expect(await outcomeOf(fake.call(contextOf(1)))).toContain(`calls with ${MAX_BYTES} bytes wait already`);
  // A call without a body needs no room.
  void fake.call();
  expect(fake.calls).toHaveLength(3);
  for (const call of fake.calls) fake.finish(call);
  void fake.call(contextOf(MAX_BYTES + 1));
  expect(fake.calls).toHaveLength(4);
  expect(await outcomeOf(fake.call(contextOf(1)))).toContain("bytes wait already");
});

/** A context that keeps the decision that its response waits for. */
function holdingContext() {
  const headers: string[] = [];
  const decisions: Promise<PluginResponse | null>[] = [];
  const context = contextOf(0, {
    holdResponse: (decision) => {
      decision.catch(() => undefined);
      decisions.push(decision);
    },
    setResponseHeader: (name, value) => void headers.push(`${name}: ${value}`),
    setHeader: (name, value) => void headers.push(`request ${name}: ${value}`),
    apiKeyLabel: () => "blue",
  });
  return { context, headers, decision: () => decisions[0] ?? Promise.reject(new Error("nothing is held")) };
}

test("a held response gets the decision, what was set meanwhile, and replies to questions until then", async () => {
  const fake = open();
  fake.start();
  const { context, headers, decision } = holdingContext();
  const called = fake.call(context);
  fake.finish(1, { isHeld: true });
  await called;
  const ask = () =>
    fake.receive({
      type: "question",
      question: 1,
      isBlocking: false,
      instance: 1,
      call: 1,
      method: "apiKeyLabel",
      args: ["team"],
    });
  ask();
  expect(fake.sent.at(-1)).toMatchObject({ type: "reply", value: "blue" });
  const effects: Effect[] = [
    ["setResponseHeader", "X-Late", "1"],
    ["setHeader", "x-sent", "already"],
  ];
  fake.receive({ type: "decided", call: 1, response: { status: 451 }, effects, error: null });
  expect(await decision()).toEqual({ status: 451 });
  expect(headers).toEqual(["X-Late: 1"]);
  ask();
  expect(fake.sent.at(-1)).toMatchObject({ type: "reply", error: { message: "the hook has ended" } });
});

test("a decision fails if the plugin fails or crashes, and is not awaited longer than the response waits", async () => {
  const fake = open();
  fake.start();
  const held = [holdingContext(), holdingContext(), holdingContext()] as const;
  for (const { context } of held) void fake.call(context);
  for (const call of fake.calls) fake.finish(call, { isHeld: true });
  const error = { name: "Error", message: "no verdict" };
  fake.receive({ type: "decided", call: 1, response: null, effects: [], error });
  expect(await outcomeOf(held[0].decision())).toContain("no verdict");
  fake.crash();
  expect(await outcomeOf(held[1].decision())).toContain("it crashed");
  expect(await outcomeOf(held[2].decision())).toContain("it crashed");

  fake.receive({ type: "loaded" });
  fake.created();
  const late = holdingContext();
  void fake.call(late.context);
  fake.finish(fake.calls.at(-1) ?? 0, { isHeld: true });
  fake.clock.advance(30_000);
  fake.receive({ type: "decided", call: fake.calls.at(-1) ?? 0, response: null, effects: [], error: null });
  expect(await outcomeOf(late.decision())).toBe("pending");
});

test("stop waits for the stop hooks, if there are any, and reports what failed", async () => {
  const without = open();
  without.start();
  expect(await without.isolate.stop()).toEqual([]);

  const fake = open();
  fake.start(["pre_request", "stop"]);
  const stopping = fake.isolate.stop();
  expect(fake.sent.at(-1)).toEqual({ type: "stop", instances: [1] });
  const errors = [{ name: "Error", message: "the file is read-only" }];
  fake.receive({ type: "stopped", errors });
  expect(await stopping).toEqual(errors);
  expect(await outcomeOf(fake.call())).toContain("the gateway stops");
});

test("a crash ends the waiting for stop hooks, and restarts nothing", async () => {
  const fake = open();
  fake.start(["pre_request", "stop"]);
  const stopping = fake.isolate.stop();
  const loads = () => fake.sent.filter(({ type }) => type === "load").length;
  expect(loads()).toBe(1);
  fake.crash();
  expect(await outcomeOf(stopping)).toContain("it crashed");
  expect(loads()).toBe(1);
});
