// The start of a stream: events without content are held, and a stream that fails before its first content is tried at another target.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { outcomeOf, seedUpstream, sendChat, targetOf, type Route } from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { eventLoopTurns, passTimeUntil } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

/** A stream of a format: what precedes the content, its content, and how it reports an error. */
interface Stream {
  readonly format: "openai" | "anthropic" | "gemini" | "responses";
  readonly quiet: readonly object[];
  readonly content: readonly object[];
  readonly error: object;
}

const choice = (delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  object: "chat.completion.chunk",
  model: "gpt-fake",
  choices: [{ index: 0, delta, finish_reason }],
});
const delta = (text: string) => ({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text },
});

const CHAT: Stream = {
  format: "openai",
  quiet: [
    { choices: [], prompt_filter_results: [] },
    choice({ role: "assistant", content: "" }),
    choice({ content: null, reasoning_content: "", tool_calls: [] }),
  ],
  content: [choice({ content: "Good" }), choice({ content: " day" }), choice({}, "stop")],
  error: { error: { message: "overloaded", type: "server_error" } },
};
const MESSAGES: Stream = {
  format: "anthropic",
  quiet: [
    {
      type: "message_start",
      message: { id: "m1", role: "assistant", content: [], usage: { input_tokens: 3 } },
    },
    { type: "ping" },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ],
  content: [
    delta("Good"),
    delta(" day"),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ],
  error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
};
const RESPONSES: Stream = {
  format: "responses",
  quiet: [
    { type: "response.created", response: { id: "r1", error: null } },
    { type: "response.in_progress", response: { id: "r1", error: null } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", content: [] } },
    { type: "response.content_part.added", output_index: 0, part: { type: "output_text", text: "" } },
  ],
  content: [
    { type: "response.output_text.delta", output_index: 0, delta: "Good day" },
    { type: "response.completed", response: { id: "r1", status: "completed", output: [] } },
  ],
  error: { type: "response.failed", response: { id: "r1", error: { code: "server_error", message: "no" } } },
};
const GEMINI: Stream = {
  format: "gemini",
  quiet: [
    { candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] } }] },
    { usageMetadata: { promptTokenCount: 3 } },
  ],
  content: [
    { candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Good" }] } }] },
    { candidates: [{ index: 0, content: { parts: [{ text: " day" }] }, finishReason: "STOP" }] },
  ],
  error: { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } },
};
const STREAMS = [CHAT, MESSAGES, RESPONSES, GEMINI];

const toEvent = (event: object) => `data: ${JSON.stringify(event)}\n\n`;

function streaming(events: readonly object[], behavior: Behavior = {}): Behavior {
  const body = events.map(toEvent);
  return { headers: [["Content-Type", "text/event-stream"]], body, ...behavior };
}

const PATHS = {
  openai: "/v1/chat/completions",
  anthropic: "/v1/messages",
  responses: "/v1/responses",
  gemini: "/v1beta/models/gemini-fake:streamGenerateContent",
};

/** A route whose first target is `one`. Its second target sends a complete stream. */
async function routeTo({ format, quiet, content }: Stream, fields: object): Promise<Route> {
  two.behave(streaming([...quiet, ...content]));
  const target = { format, path: PATHS[format] };
  const targets = [targetOf(one, target), targetOf(two, { ...target, priority: 2 })];
  return seedUpstream(gatehouse, targets, { ...fields });
}

const HOLD = { commit: { max_ms: 60_000 } };
const send = async (route: Route) => outcomeOf(await passTimeUntil(clock, sendChat(route, { stream: true })));

describe.each(STREAMS)("a stream of the format $format", (stream) => {
  const { quiet, content, error } = stream;
  const events = [...quiet, ...content];

  test.each(events.map((_, at) => at))("that reports an error as event %d", async (at) => {
    const route = await routeTo(stream, HOLD);
    const failing = [...events.slice(0, at), error];
    one.behave(streaming(failing, { chunkDelayMs: 0 }));
    const outcome = await send(route);
    const isRetried = at <= quiet.length;
    expect(outcome).toMatchObject({
      status: 200,
      provider: isRetried ? "two" : "one",
      attempts: isRetried ? "2" : "1",
      text: (isRetried ? events : failing).map(toEvent).join(""),
    });
  });

  test.each(quiet.map((_, at) => at))("that ends or breaks after event %d", async (at) => {
    for (const behavior of [{}, { cutAfterChunks: at + 1 }]) {
      const route = await routeTo(stream, HOLD);
      const sent = "cutAfterChunks" in behavior ? events : quiet.slice(0, at + 1);
      one.behave(streaming(sent, { chunkDelayMs: 0, ...behavior }));
      const outcome = await send(route);
      expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
      expect(outcome.text).toBe(events.map(toEvent).join(""));
    }
  });

  test("that has no bytes, whatever the spelling of its content type", async () => {
    const headers: [string, string][] = [["Content-Type", "Text/Event-Stream; charset=utf-8"]];
    for (const empty of [{ body: "" }, { body: "", headers }, { body: [], headers }]) {
      const route = await routeTo(stream, HOLD);
      one.behave(streaming([], empty));
      expect(await send(route)).toMatchObject({ status: 200, provider: "two", attempts: "2" });
    }
  });

  test("is relayed unchanged if it is complete", async () => {
    const route = await routeTo(stream, HOLD);
    one.behave(streaming(events, { chunkDelayMs: 0 }));
    expect(await send(route)).toMatchObject({ provider: "one", text: events.map(toEvent).join("") });
  });

  test("is not held without commit", async () => {
    const route = await routeTo(stream, {});
    one.behave(streaming([quiet[0]!, error], { chunkDelayMs: 0 }));
    expect(await send(route)).toMatchObject({ provider: "one", attempts: "1" });
  });
});

test("a translated stream is held without commit", async () => {
  two.behave(streaming([...MESSAGES.quiet, ...MESSAGES.content]));
  const target = { format: "anthropic", path: "/v1/messages" };
  const targets = [targetOf(one, target), targetOf(two, { ...target, priority: 2 })];
  const route = await seedUpstream(gatehouse, targets, {}, { response_format: "openai" });
  one.behave(streaming([...MESSAGES.quiet, MESSAGES.error], { chunkDelayMs: 0 }));
  const outcome = await send(route);
  expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
  expect(outcome.text).not.toContain("error");
});

test.each(["error", "abort"])("the finish reason %s before the first content is an error", async (reason) => {
  const route = await routeTo(CHAT, HOLD);
  one.behave(streaming([...CHAT.quiet, choice({ content: "" }, reason)], { chunkDelayMs: 0 }));
  const complete = [...CHAT.quiet, ...CHAT.content].map(toEvent).join("");
  expect(await send(route)).toMatchObject({ status: 200, provider: "two", attempts: "2", text: complete });
});

test("all targets fail before their first content: an error response", async () => {
  const route = await routeTo(CHAT, HOLD);
  for (const provider of providers) provider.behave(streaming([...CHAT.quiet, CHAT.error]));
  const { status, text } = await send(route);
  expect({ status, code: (JSON.parse(text) as { code: string }).code }).toEqual({
    status: 502,
    code: "upstream_bad_answer",
  });
});

test("responses that end without text are complete, and are relayed", async () => {
  const ends = [
    streaming([CHAT.quiet[1]!, choice({}, "content_filter")]),
    streaming([
      CHAT.quiet[1]!,
      choice({ tool_calls: [{ index: 0, function: { name: "now", arguments: "" } }] }),
    ]),
  ];
  for (const behavior of ends) {
    const route = await routeTo(CHAT, HOLD);
    one.behave(behavior);
    expect(await send(route)).toMatchObject({ provider: "one", attempts: "1" });
  }
});

test.each([
  ["time", { commit: { max_ms: 500 } }, {}],
  ["bytes", { commit: { max_ms: 60_000, max_bytes: 100 } }, {}],
] as const)("held events are released after the maximum of %s", async (_name, fields, behavior) => {
  const route = await routeTo(CHAT, fields);
  const stalled = streaming([CHAT.quiet[1]!, ...CHAT.content], { chunkDelayMs: 0, stallAfterChunks: 1 });
  one.behave({ ...stalled, ...behavior });
  const leave = new AbortController();
  const response = await passTimeUntil(clock, sendChat(route, { stream: true, signal: leave.signal }));
  expect(response.headers.get("x-gw-provider")).toBe("one");
  const { value } = await response.body!.getReader().read();
  expect(Buffer.from(value).toString()).toBe(toEvent(CHAT.quiet[1]!));
  leave.abort();
});

describe("timeouts.first_content", () => {
  const fields = { timeouts: { first_content: 2000, idle: 86_400_000, first_byte: 86_400_000 } };

  test.each([
    ["that sends no response", { stallAfterChunks: 0 }],
    ["that sends no headers", { delayMs: 600_000 }],
    ["that sends only events without content", { stallAfterChunks: 2 }],
  ] as const)("ends the attempt at a target %s", async (_name, behavior) => {
    const route = await routeTo(CHAT, { ...HOLD, ...fields });
    one.behave(streaming([...CHAT.quiet, ...CHAT.content], { chunkDelayMs: 0, ...behavior }));
    expect(await send(route)).toMatchObject({ status: 200, provider: "two", attempts: "2" });
  });

  test("is an error if no other target is left", async () => {
    const route = await seedUpstream(gatehouse, [targetOf(one)], { ...HOLD, ...fields });
    one.behave(streaming(CHAT.quiet, { chunkDelayMs: 0, stallAfterChunks: 1 }));
    const { status, text } = await send(route);
    expect(status).toBe(504);
    expect(text).toContain("timeouts.first_content");
  });

  test("does not limit what follows the first content, nor other responses", async () => {
    const route = await routeTo(CHAT, { ...HOLD, ...fields });
    const events = [...CHAT.quiet, ...CHAT.content];
    one.behave(streaming(events, { chunkDelayMs: 0, stallAfterChunks: CHAT.quiet.length + 1 }));
    const response = await passTimeUntil(clock, sendChat(route, { stream: true }));
    const reader = response.body!.getReader();
    // The events may arrive in several parts.
    for (let text = ""; !text.includes('"Good"');) {
      const { value, done } = await reader.read();
      expect(done).toBe(false);
      text += new TextDecoder().decode(value);
    }
    clock.advance(10_000);
    const rest = reader.read();
    expect(await Promise.race([rest, eventLoopTurns(20).then(() => "open")])).toBe("open");
    await reader.cancel();
    one.behave({});
    expect(await outcomeOf(await sendChat(route))).toMatchObject({ status: 200, provider: "one" });
  });

  test("cuts a stream whose first events were released", async () => {
    const route = await routeTo(CHAT, fields);
    one.behave(streaming(CHAT.quiet, { chunkDelayMs: 0, stallAfterChunks: 1 }));
    const response = await sendChat(route, { stream: true });
    expect(response.headers.get("x-gw-provider")).toBe("one");
    const text = passTimeUntil(clock, response.text());
    expect(
      await text.then(
        () => "complete",
        () => "cut",
      ),
    ).toBe("cut");
  });
});
