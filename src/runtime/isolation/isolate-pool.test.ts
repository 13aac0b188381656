// A pool of isolates with channels of the test: which calls are repeated and where, and which requests are in quarantine.
import { afterEach, describe, expect, test } from "bun:test";
import { eventLoopTurns } from "../../../test/support/waiting.ts";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import type { PluginHost, RequestContext } from "../../sdk/index.ts";
import { createLog } from "../../telemetry/log/log.ts";
import type { ChannelEvents } from "./channel.ts";
import { IsolatePool } from "./isolate-pool.ts";
import { IsolatedInstance } from "./isolated-instance.ts";
import { packetOf, type FromIsolate, type ToIsolate } from "./messages.ts";

const HOST = { counters: { admit: () => Promise.resolve({}) } } as unknown as PluginHost;

/** A thread or process whose messages the test sends and reads. */
class FakeChannel {
  readonly sent: ToIsolate[] = [];
  #pongs = 0;
  readonly events: ChannelEvents;
  hasEnded = false;

  constructor(events: ChannelEvents) {
    this.events = events;
  }

  receive(message: FromIsolate): void {
    this.events.onPacket(packetOf(message));
  }

  /** The ids of the calls that were sent, by the tag of their request. */
  get calls(): Map<string, number> {
    const calls = this.sent.flatMap((message): [string, number][] =>
      message.type === "call" ? [[String(message.context["path"]), message.call]] : [],
    );
    return new Map(calls);
  }

  finish(tag: string): void {
    const call = this.calls.get(tag) ?? 0;
    this.receive({ type: "done", call, effects: [], error: null, hasNotes: false, isHeld: false });
  }

  /** The hook has returned a promise. */
  wait(tag: string): void {
    this.receive({ type: "waits", call: this.calls.get(tag) ?? 0 });
  }

  pong(): void {
    this.#pongs++;
    this.receive({ type: "pong" });
  }

  /** Replies to every ping so far. */
  pongAll(): void {
    while (this.#pongs < this.sent.filter(({ type }) => type === "ping").length) this.pong();
  }
}

class FakePool {
  readonly clock = new ManualClock();
  readonly channels: FakeChannel[] = [];
  readonly instance = new IsolatedInstance(1, "g/1", {}, HOST);
  failsToStart = false;
  readonly pool = new IsolatePool({
    plugin: "tested",
    gatewayId: "g",
    isolation: "process",
    open: (events) => {
      const channel = new FakeChannel(events);
      this.channels.push(channel);
      const send = ({ text }: { text: string }) => {
        const message = JSON.parse(text) as ToIsolate;
        channel.sent.push(message);
        if (message.type === "load")
          queueMicrotask(() => {
            if (this.failsToStart) events.onEnd("exit code 1");
            else channel.receive({ type: "loaded" });
          });
        if (message.type === "create")
          queueMicrotask(() =>
            channel.receive({
              type: "created",
              instance: message.instance,
              hooks: ["pre_request"],
              waits: false,
            }),
          );
      };
      return { send, sendReply: send, end: () => void (channel.hasEnded = true), memoryBytes: () => null };
    },
    load: packetOf({ type: "load", builtin: "tested" }),
    clock: this.clock,
    log: createLog({ level: "error", format: "json" }, { write: () => undefined }),
    onCrash: () => undefined,
    onUnused: () => undefined,
  });

  channel(index: number): FakeChannel {
    const channel = this.channels[index];
    if (channel === undefined) throw new Error(`isolate ${index} was not started`);
    return channel;
  }

  /** Returns what becomes of a call. */
  call(tag: string, fields: Partial<RequestContext> = {}): () => string {
    let outcome = "pending";
    const context = {
      notes: new Map<string, unknown>(),
      headers: new Map([["x-request-id", crypto.randomUUID()]]),
      bodyView: null,
      path: tag,
      ...fields,
    } as unknown as RequestContext;
    this.pool.call(this.instance, "pre_request", context).then(
      () => (outcome = "resolved"),
      (error: unknown) => (outcome = String(error)),
    );
    return () => outcome;
  }
}

const opened: FakePool[] = [];
async function open(): Promise<FakePool> {
  const fake = new FakePool();
  opened.push(fake);
  fake.pool.add(fake.instance);
  await eventLoopTurns();
  return fake;
}
afterEach(() => {
  for (const { pool } of opened.splice(0)) pool.close();
});

test("after an exit, calls that had not begun are sent again, and those that had are repeated one at a time", async () => {
  const fake = await open();
  const outcomes = ["a", "b", "c", "d"].map((tag) => fake.call(tag));
  await eventLoopTurns();
  fake.channel(0).wait("a");
  fake.channel(0).wait("b");
  fake.channel(0).events.onEnd("exit code 0");
  await eventLoopTurns();
  // The first isolate is restarted at once and gets the call that was waiting in line; each other one gets one call.
  expect(fake.channels.map(({ calls }) => [...calls.keys()])).toEqual([
    ["a", "b", "c", "d"],
    ["d"],
    ["a"],
    ["b"],
  ]);
  fake.channel(1).finish("d");
  fake.channel(2).finish("a");
  await eventLoopTurns();
  expect([...fake.channel(2).calls.keys()]).toEqual(["a", "c"]);
  fake.channel(2).events.onEnd("exit code 0");
  fake.channel(3).finish("b");
  await eventLoopTurns();
  expect(outcomes.map((outcome) => outcome())).toEqual([
    "resolved",
    "resolved",
    expect.stringContaining("has crashed the plugin tested twice"),
    "resolved",
  ]);
});

test("a request that crashed a plugin twice is in quarantine for a minute, whatever its request id", async () => {
  const fake = await open();
  const crash = async () => {
    const outcome = fake.call("bad");
    await eventLoopTurns();
    for (const channel of fake.channels)
      if (channel.calls.has("bad") && !channel.hasEnded) channel.events.onEnd("exit");
    await eventLoopTurns();
    for (const channel of fake.channels)
      if (channel.calls.has("bad") && !channel.hasEnded) channel.events.onEnd("exit");
    await eventLoopTurns();
    return outcome();
  };
  expect(await crash()).toContain("twice");
  const started = fake.channels.length;
  expect(await crash()).toContain("twice");
  expect(fake.channels).toHaveLength(started);
  const other = fake.call("good");
  const sameLength = fake.call("bad", { bodyView: new Uint8Array(1) });
  await eventLoopTurns();
  for (const channel of fake.channels)
    for (const tag of ["good", "bad"]) if (channel.calls.has(tag) && !channel.hasEnded) channel.finish(tag);
  await eventLoopTurns();
  expect([other(), sameLength()]).toEqual(["resolved", "resolved"]);
  fake.clock.advance(60_001);
  await eventLoopTurns();
  const later = fake.call("bad");
  await eventLoopTurns();
  expect(later()).toBe("pending");
});

/** A call that has asked a service, and waits for its response, when its isolate ends. */
async function crashAsking(
  fake: FakePool,
  tag: string,
  fields: Partial<RequestContext> = {},
): Promise<string> {
  const outcome = fake.call(tag, { callService: () => new Promise(() => undefined), ...fields });
  await eventLoopTurns();
  const channel = fake.channels.find(({ calls, hasEnded }) => calls.has(tag) && !hasEnded);
  if (channel === undefined) return outcome();
  const call = channel.calls.get(tag) ?? 0;
  channel.wait(tag);
  const asked = {
    question: 1,
    isBlocking: false,
    instance: 1,
    method: "callService",
    args: ["1", "judge", {}, {}],
  };
  channel.receive({ type: "question", call, ...asked });
  channel.events.onEnd("exit code 0");
  await eventLoopTurns();
  return outcome();
}

test("a request that cannot be repeated runs alone the next time, and is in quarantine if it crashes the plugin again", async () => {
  const fake = await open();
  expect(await crashAsking(fake, "bad")).toContain("exit code 0");
  const beside = fake.call("beside");
  await eventLoopTurns();
  expect(await crashAsking(fake, "bad")).toContain("has crashed the plugin tested twice");
  // The second one had an isolate of its own.
  expect(beside()).toBe("pending");
  const started = fake.channels.length;
  expect(await crashAsking(fake, "bad")).toContain("has crashed the plugin tested twice");
  expect(fake.channels).toHaveLength(started);
});

test("a request that was beside one that crashed the plugin is no longer alone when it has passed once", async () => {
  const fake = await open();
  expect(await crashAsking(fake, "good")).toContain("exit code 0");
  const alone = fake.call("good");
  await eventLoopTurns();
  expect(fake.channel(1).calls.size).toBe(0);
  fake.channel(2).finish("good");
  await eventLoopTurns();
  expect(alone()).toBe("resolved");
  const shared = fake.call("good");
  await eventLoopTurns();
  fake.channel(1).finish("good");
  await eventLoopTurns();
  expect(shared()).toBe("resolved");
});

test("a request that waits for something slow when its time is over is no crash", async () => {
  const fake = await open();
  for (let count = 0; count < 3; count++) {
    const outcome = fake.call("slow");
    await eventLoopTurns();
    const channel = fake.channels.find(({ calls, hasEnded }) => calls.has("slow") && !hasEnded);
    channel?.wait("slow");
    // It reacts.
    for (let ms = 0; ms < 5000; ms += 500) {
      fake.clock.advance(500);
      channel?.pongAll();
    }
    await eventLoopTurns();
    expect(outcome()).toContain("did not finish within 5000 ms");
    fake.clock.advance(10_000);
    await eventLoopTurns();
  }
});

describe("a body that crashed the plugin in two different requests", () => {
  const body = Buffer.from("bad body");
  const request = (tag: string, fields: Partial<RequestContext> = {}) => ({
    bodyView: body,
    clientAddress: "192.0.2.1",
    apiKey: null,
    query: `?${tag}`,
    headers: new Map([["x-tag", tag]]) as unknown as RequestContext["headers"],
    ...fields,
  });
  const crash = async (fake: FakePool, tag: string) => {
    const outcome = fake.call(tag, request(tag));
    for (let turn = 0; turn < 2; turn++) {
      await eventLoopTurns();
      for (const channel of fake.channels)
        if (channel.calls.has(tag) && !channel.hasEnded) channel.events.onEnd("exit");
    }
    await eventLoopTurns();
    return outcome();
  };

  test("is in quarantine with every path, query and header, for its client only", async () => {
    const fake = await open();
    for (const tag of ["a", "b"]) expect(await crash(fake, tag)).toContain("twice");
    const started = fake.channels.length;
    expect(await crash(fake, "c")).toContain("twice");
    expect(fake.channels).toHaveLength(started);
    const others = [
      fake.call("key", request("c", { apiKey: { id: "key", name: "key" } })),
      fake.call("address", request("c", { clientAddress: "192.0.2.2" })),
      fake.call("body", request("c", { bodyView: Buffer.from("bad Body") })),
    ];
    await eventLoopTurns();
    for (const channel of fake.channels)
      for (const tag of channel.calls.keys()) if (!channel.hasEnded) channel.finish(tag);
    await eventLoopTurns();
    expect(others.map((outcome) => outcome())).toEqual(["resolved", "resolved", "resolved"]);
  });

  test("after one of them, the body runs alone", async () => {
    const fake = await open();
    expect(await crash(fake, "a")).toContain("twice");
    const other = fake.call("b", request("b"));
    const good = fake.call("good");
    await eventLoopTurns();
    const places = fake.channels.filter(({ hasEnded }) => !hasEnded).map(({ calls }) => [...calls.keys()]);
    expect(places.toSorted()).toEqual([["b"], ["good"]]);
    for (const channel of fake.channels)
      for (const tag of ["b", "good"]) if (channel.calls.has(tag)) channel.finish(tag);
    await eventLoopTurns();
    expect([other(), good()]).toEqual(["resolved", "resolved"]);
  });
});

test("at most 1000 requests are in quarantine: the oldest are forgotten", async () => {
  const fake = await open();
  const crash = async (tag: string) => {
    const outcome = fake.call(tag);
    for (let turn = 0; turn < 2; turn++) {
      await eventLoopTurns();
      for (const channel of fake.channels) {
        if (channel.hasEnded || !channel.calls.has(tag)) continue;
        // Its time is over: it is not repeated.
        channel.events.onEnd("exit");
      }
    }
    await eventLoopTurns();
    return outcome();
  };
  // The back-off of the first isolate lets the others take the calls.
  for (let index = 0; index <= 1000; index++) expect(await crash(`bad ${index}`)).toContain("twice");
  const [oldest, next] = [fake.call("bad 0"), fake.call("bad 1")];
  await eventLoopTurns();
  expect([oldest(), next()]).toEqual(["pending", expect.stringContaining("twice")]);
}, 60_000);

test("an isolate that does not react keeps the call that it runs; the others are repeated elsewhere", async () => {
  const fake = await open();
  const [waiting, looping, queued] = ["waiting", "looping", "queued"].map((tag) => fake.call(tag));
  await eventLoopTurns();
  fake.channel(0).wait("waiting");
  fake.clock.advance(500);
  expect(fake.channel(0).sent.at(-1)).toEqual({ type: "ping" });
  fake.clock.advance(500);
  await eventLoopTurns();
  const later = fake.call("later");
  await eventLoopTurns();
  const places = fake.channels.map(({ calls }) => [...calls.keys()]);
  expect(places[0]).toEqual(["waiting", "looping", "queued"]);
  expect(places.slice(1).toSorted()).toEqual([["queued", "later"], ["waiting"]]);
  for (const channel of fake.channels.slice(1)) for (const tag of channel.calls.keys()) channel.finish(tag);
  await eventLoopTurns();
  expect([waiting?.(), looping?.(), queued?.(), later()]).toEqual([
    "resolved",
    "pending",
    "resolved",
    "resolved",
  ]);
  // It reacts after all, and is used again when it has read what was sent before.
  fake.channel(0).finish("looping");
  fake.channel(0).pong();
  fake.channel(0).pong();
  await eventLoopTurns();
  expect(looping?.()).toBe("resolved");
  fake.call("afterwards");
  await eventLoopTurns();
  expect([...fake.channel(0).calls.keys()]).toContain("afterwards");
});

test.each([
  ["called a service", "callService", ["1", "judge", {}, {}]],
  ["counted", "counters.admit", [[]]],
])("a call is not repeated if its hook has %s", async (_, method, args) => {
  const fake = await open();
  const outcome = fake.call("asking", { callService: () => new Promise(() => undefined) });
  await eventLoopTurns();
  const call = fake.channel(0).calls.get("asking") ?? 0;
  fake.channel(0).wait("asking");
  fake.channel(0).receive({
    type: "question",
    question: 1,
    isBlocking: false,
    instance: 1,
    call: method === "callService" ? call : 0,
    method,
    args,
  });
  fake.channel(0).events.onEnd("exit code 0");
  await eventLoopTurns();
  expect(outcome()).toContain("exit code 0");
  expect(fake.channels.slice(1).flatMap(({ calls }) => [...calls.keys()])).toEqual([]);
});

test("a plugin that cannot start is not started again for each call", async () => {
  const fake = await open();
  fake.failsToStart = true;
  fake.channel(0).events.onEnd("exit code 1");
  const outcomes = Array.from({ length: 20 }, (_, count) => fake.call(`call ${count}`));
  await eventLoopTurns();
  expect(fake.channels.length).toBeLessThan(5);
  for (const outcome of outcomes) expect(outcome()).toContain("not restarted yet");
});
