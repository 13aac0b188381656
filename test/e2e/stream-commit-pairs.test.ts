// Streams that fail at a random position, for each format of a client and of a target: before the first content another target serves the
// request, after it the client gets what was sent before and no clean end, and never a byte twice.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { seedUpstream } from "../support/balancing-fixtures.ts";
import { ENDS, INBOUND, PAIRS, textOf, type Inbound, type Outbound } from "../support/client-formats.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { runs } from "../support/long-form.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

/** The events of a complete stream, by its format: before the texts, for each text, and after them. */
interface Stream {
  readonly start: readonly object[];
  readonly text: (text: string) => object;
  readonly end: readonly object[];
  readonly error: object;
  /** Events without content that may be anywhere before the first text. */
  readonly quiet: readonly object[];
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-fake",
  choices: [{ index: 0, delta, finish_reason }],
});
const message = { id: "m1", type: "message", role: "assistant", model: "gpt-fake", content: [] };
const response = { id: "r1", object: "response", created_at: 1, model: "gpt-fake", output: [], error: null };
const part = { type: "output_text", text: "", annotations: [] };
const item = { id: "i1", type: "message", role: "assistant" };
const candidate = (parts: object[], more: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
});

const STREAMS: Record<Outbound, Stream> = {
  openai: {
    start: [chunk({ role: "assistant", content: "" })],
    text: (content) => chunk({ content }),
    end: [chunk({}, "stop")],
    error: { error: { message: "overloaded", type: "server_error" } },
    quiet: [chunk({ content: null, tool_calls: [] }), { choices: [], prompt_filter_results: [] }],
  },
  anthropic: {
    start: [
      { type: "message_start", message: { ...message, usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ],
    text: (text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
    end: [
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ],
    error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    quiet: [{ type: "ping" }],
  },
  responses: {
    start: [
      { type: "response.created", response: { ...response, status: "in_progress" } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.content_part.added", output_index: 0, content_index: 0, item_id: "i1", part },
    ],
    text: (delta) => ({
      type: "response.output_text.delta",
      output_index: 0,
      content_index: 0,
      item_id: "i1",
      delta,
    }),
    end: [
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item, status: "completed", content: [] },
      },
      { type: "response.completed", response: { ...response, status: "completed" } },
    ],
    error: {
      type: "response.failed",
      response: { ...response, status: "failed", error: { code: "server_error", message: "overloaded" } },
    },
    quiet: [{ type: "response.in_progress", response: { ...response, status: "in_progress" } }],
  },
  gemini: {
    start: [],
    text: (text) => candidate([{ text }]),
    end: [{ ...candidate([], { finishReason: "STOP" }), usageMetadata: { promptTokenCount: 3 } }],
    error: { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } },
    quiet: [candidate([{ text: "" }]), { usageMetadata: { promptTokenCount: 3 } }],
  },
};

const toEvent = (event: object | string) =>
  typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`;

interface Scenario {
  readonly events: readonly (object | string)[];
  /** How many events precede each text. */
  readonly texts: readonly { readonly at: number; readonly text: string }[];
  /** The stream fails after so many events; equal to their number if it is complete. */
  readonly failAt: number;
  readonly failure: "error" | "cut" | "end";
}

function scenarioArb(format: Outbound): fc.Arbitrary<Scenario> {
  const { start, text, end, quiet } = STREAMS[format];
  const fillerArb = fc.array(fc.constantFrom<object | string>(...quiet, ": ping\n\n"), { maxLength: 3 });
  const textsArb = fc.array(fc.constantFrom("a ", "é", "“b”\n", "\\n", "日本", "x".repeat(300)), {
    minLength: 1,
    maxLength: 4,
  });
  const failureArb = fc.constantFrom("error", "error", "cut", "end");
  return fc
    .tuple(fillerArb, textsArb, failureArb, fc.nat(999))
    .map(([filler, texts, failure, where]): Scenario => {
      const before = [...start.slice(0, 1), ...filler, ...start.slice(1)];
      const done = format === "openai" ? ["data: [DONE]\n\n"] : [];
      const events = [...before, ...texts.map(text), ...end, ...done];
      const failAt = Math.min(events.length, where % (events.length + 1));
      return {
        events,
        texts: texts.map((each, index) => ({ at: before.length + index, text: each })),
        failAt,
        failure,
      };
    });
}

function behaviorOf(format: Outbound, { events, failAt, failure }: Scenario): Behavior {
  const sent = events.slice(0, failAt).map(toEvent);
  const isComplete = failAt === events.length;
  const headers: Behavior["headers"] = [["Content-Type", "text/event-stream"]];
  if (isComplete || failure === "end") return { headers, body: sent, chunkDelayMs: 0 };
  if (failure === "error")
    return { headers, body: [...sent, toEvent(STREAMS[format].error)], chunkDelayMs: 0 };
  return { headers, body: [...sent, "data: never sent\n\n"], chunkDelayMs: 0, cutAfterChunks: failAt };
}

/** What the second target sends. Its text is in no stream of the first one. */
const OTHER_TEXTS = ["from the ", "second target"];
const completeOf = (format: Outbound) => {
  const { start, text, end } = STREAMS[format];
  const done = format === "openai" ? ["data: [DONE]\n\n"] : [];
  return [...start, ...OTHER_TEXTS.map(text), ...end, ...done].map(toEvent);
};

const fields = { commit: { max_ms: 60_000 }, health_checks: { passive: false } };
let count = 0;

async function routeTo(inbound: Inbound, format: Outbound): Promise<string> {
  const targets = [
    { provider: "one", base_url: one.url, format },
    { provider: "two", base_url: two.url, format, priority: 2 },
  ];
  const prefix = `/pair-${++count}`;
  await seedUpstream(gatehouse, targets, { ...fields }, { path: `${prefix}/*`, strip_path: true });
  return `${gatehouse.proxyUrl}${prefix}${INBOUND[inbound].path}`;
}

/** Sends a request and reads its stream to the end, or until it breaks. */
async function read(url: string, body: object) {
  const sent = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: "gpt-fake", stream: true, ...body }),
  });
  let text = "";
  let isBroken = false;
  const decoder = new TextDecoder();
  try {
    for await (const bytes of sent.body ?? []) text += decoder.decode(bytes as Uint8Array, { stream: true });
  } catch {
    isBroken = true;
  }
  const header = (name: string) => sent.headers.get(`x-gw-${name}`);
  // The ids of stored responses are sealed.
  text = text.replaceAll(/"id":"gw[\w-]+"/g, '"id":"r1"');
  return { status: sent.status, provider: header("provider"), attempts: header("attempts"), text, isBroken };
}

const MAX_READS = 5;

/**
 * Reads a stream again if it broke before it was whole: on a busy machine, the client sees the reset of a connection before it has read
 * the last bytes, and drops them.
 */
async function readWhole(url: string, body: object, isWhole: (text: string) => boolean) {
  for (let reads = 1; ; reads++) {
    // The retry budget is per second.
    clock.advance(1000);
    const got = await read(url, body);
    if (!got.isBroken || isWhole(got.text) || reads === MAX_READS) return got;
  }
}

const ERROR_EVENT: Record<Inbound, string> = {
  openai: 'data: {"error":',
  anthropic: "event: error\n",
  responses: "event: response.failed\n",
};

test.each(PAIRS)(
  "property: client %s, target %s",
  async (inbound, outbound) => {
    const url = await routeTo(inbound, outbound);
    const isTranslated = (inbound as string) !== outbound;
    two.behave({
      headers: [["Content-Type", "text/event-stream"]],
      body: completeOf(outbound),
      chunkDelayMs: 0,
    });
    await fc.assert(
      fc.asyncProperty(scenarioArb(outbound), async (scenario) => {
        const { events, texts, failAt, failure } = scenario;
        one.behave(behaviorOf(outbound, scenario));
        const sentTexts = texts.filter(({ at }) => at < failAt).map((each) => each.text);
        const isComplete = failAt === events.length;
        const isRetried = sentTexts.length === 0;
        const error = failure === "error" && !isComplete ? [toEvent(STREAMS[outbound].error)] : [];
        const own = [...events.slice(0, failAt).map(toEvent), ...error].join("");
        const relayed = isRetried ? completeOf(outbound).join("") : own;
        const relayedTexts = (isRetried ? OTHER_TEXTS : sentTexts).join("");
        const isWhole = (text: string) =>
          isTranslated ? textOf(inbound, text) === relayedTexts : text === relayed;
        const { text, isBroken, ...rest } = await readWhole(url, INBOUND[inbound].body, isWhole);
        expect(rest).toEqual({
          status: 200,
          provider: isRetried ? "two" : "one",
          attempts: isRetried ? "2" : "1",
        });
        if (!isTranslated) {
          expect(text).toBe(relayed);
          expect(isBroken).toBe(!isRetried && !isComplete && failure === "cut");
          return;
        }
        expect(textOf(inbound, text)).toBe(relayedTexts);
        const hasEnd = text.includes(ENDS[inbound]);
        const hasError = text.includes(ERROR_EVENT[inbound]);
        const isFailed = !isRetried && !isComplete;
        const endsWithError = isFailed && failure === "error";
        const expected = [!isFailed, endsWithError, isFailed && !endsWithError];
        expect([text, hasEnd, hasError, isBroken]).toEqual([text, ...expected]);
      }),
      { numRuns: runs({ short: 10, long: 300 }) },
    );
  },
  300_000,
);
