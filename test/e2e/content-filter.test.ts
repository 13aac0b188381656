// The fallback reason content_filter: responses whose only content is a refusal by the provider's content filter, in all formats.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { CHAT_REQUEST, outcomeOf } from "../support/balancing-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { passTimeUntil, waitFor } from "../support/waiting.ts";

const { gatehouse, providers, clock } = await startWithProviders("one", "two");
const [one, two] = providers;

interface Filtered {
  readonly format: "openai" | "anthropic" | "responses" | "gemini";
  readonly path: string;
  /** Complete responses without content. */
  readonly bodies: readonly object[];
  /** Streams without content. */
  readonly streams: readonly (readonly object[])[];
  /** The same with content before the filter. */
  readonly body: object;
  readonly stream: readonly object[];
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason }],
});
const completion = (content: string | null, fields: object = {}) => ({
  object: "chat.completion",
  choices: [
    { index: 0, message: { role: "assistant", content, ...fields }, finish_reason: "content_filter" },
  ],
});
const message = (content: readonly object[]) => ({
  type: "message",
  role: "assistant",
  content,
  stop_reason: "refusal",
});
const refused = [
  { type: "message_delta", delta: { stop_reason: "refusal" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
];
const started = { type: "message_start", message: { id: "m", content: [], usage: { input_tokens: 3 } } };
const textBlock = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const incomplete = (output: readonly object[]) => ({
  object: "response",
  status: "incomplete",
  incomplete_details: { reason: "content_filter" },
  output,
});
const created = { type: "response.created", response: { id: "r", error: null } };
const said = { type: "message", content: [{ type: "output_text", text: "Well" }] };
const candidate = (finishReason: string, parts?: readonly object[]) => ({
  candidates: [{ index: 0, finishReason, ...(parts && { content: { parts } }) }],
});

const FORMATS: readonly Filtered[] = [
  {
    format: "openai",
    path: "/v1/chat/completions",
    bodies: [completion(null), completion("", { refusal: "Filtered." })],
    streams: [
      [chunk({ role: "assistant", content: "" }), chunk({}, "content_filter")],
      [chunk({}, "content_filter")],
      // Gemini's chat endpoint names the filter.
      [chunk({ role: "assistant" }, "content_filter: RECITATION")],
    ],
    body: completion("Well"),
    stream: [chunk({ role: "assistant", content: "Well" }), chunk({}, "content_filter")],
  },
  {
    format: "anthropic",
    path: "/v1/messages",
    bodies: [message([]), message([{ type: "text", text: "" }])],
    streams: [
      [started, ...refused],
      [started, textBlock, { type: "content_block_stop", index: 0 }, ...refused],
    ],
    body: message([{ type: "text", text: "Well" }]),
    stream: [
      started,
      textBlock,
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Well" } },
      { type: "content_block_stop", index: 0 },
      ...refused,
    ],
  },
  {
    format: "responses",
    path: "/v1/responses",
    bodies: [
      incomplete([]),
      incomplete([
        { type: "reasoning", summary: [] },
        { type: "message", content: [] },
      ]),
    ],
    streams: [[created, { type: "response.incomplete", response: incomplete([]) }]],
    body: incomplete([said]),
    stream: [created, { type: "response.incomplete", response: incomplete([said]) }],
  },
  {
    format: "gemini",
    path: "/v1beta/models/gemini-fake:generateContent",
    bodies: [
      { promptFeedback: { blockReason: "SAFETY" } },
      candidate("SAFETY"),
      candidate("PROHIBITED_CONTENT", [{ text: "" }]),
    ],
    streams: [[{ promptFeedback: { blockReason: "OTHER" } }], [candidate("SAFETY", [])]],
    body: candidate("SAFETY", [{ text: "Well" }]),
    stream: [{ candidates: [{ content: { parts: [{ text: "Well" }] } }] }, candidate("SAFETY")],
  },
];

const whole = (body: object, fields: Behavior = {}): Behavior => ({
  headers: [["Content-Type", "application/json"]],
  body: JSON.stringify(body),
  ...fields,
});
/** Without a length, and not together with the headers. */
const inPieces = (text: string): Behavior => ({
  body: [text.slice(0, 5), text.slice(5)],
  chunkDelayMs: 50,
});
const streamed = (events: readonly object[]): Behavior => ({
  headers: [["Content-Type", "text/event-stream"]],
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`),
  chunkDelayMs: 0,
});

const post = async (path: string, body: object) => {
  const response = await gatehouse.api("POST", path, body);
  expect(response.body).not.toHaveProperty("error");
  return String(response.body.id);
};

const gateway = `/gateways/${await post("/gateways", { name: "filtered", prices: [{ model: "first", per_request: "0.5" }] })}`;
let serial = 0;

interface Options {
  readonly reasons?: readonly string[];
  readonly rule?: object;
}

/** A virtual model whose first target is `one`. Its fallback is a chat target at `two`. */
async function seed({ format, path }: Pick<Filtered, "format" | "path">, { reasons, rule }: Options = {}) {
  const name = `filtered-${++serial}`;
  const targetAt = { provider: "one", base_url: one.url, format, path };
  const upstream = await post(`${gateway}/upstreams`, { name, targets: [targetAt] });
  const other = await post(`${gateway}/upstreams`, {
    name: `${name}-other`,
    targets: [{ provider: "two", base_url: two.url, path: "/v1/chat/completions" }],
  });
  const service_id = await post(`${gateway}/services`, {
    name,
    upstream_id: upstream,
    virtual_models: "any",
  });
  await post(`${gateway}/rules`, { service_id, path: `/${name}`, methods: ["POST"], ...rule });
  await post(`${gateway}/models`, { name: `${name}-b`, targets: [{ upstream: other, model: "second" }] });
  await post(`${gateway}/models`, {
    name,
    targets: [{ upstream, model: "first" }],
    fallback: [`${name}-b`],
    fallback_on: reasons ?? ["content_filter"],
  });
  return async (stream: boolean, headers: Record<string, string> = {}, fields: object = {}) => {
    const sent = fetch(`${gatehouse.proxyUrl}/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Request-Id": name, ...headers },
      body: JSON.stringify({ ...CHAT_REQUEST, model: name, stream, ...fields }),
    });
    const response = await passTimeUntil(clock, sent);
    const fallback = response.headers.get("x-gw-fallback");
    return { ...(await outcomeOf(response)), name, fallback };
  };
}

describe.each(FORMATS)("a response of the format $format", (filtered) => {
  const { bodies, streams, body, stream } = filtered;

  test("that is nothing but a refusal by the filter makes the fallback serve", async () => {
    const send = await seed(filtered);
    for (const each of bodies)
      for (const fields of [{}, inPieces(JSON.stringify(each))]) {
        one.behave(whole(each, fields));
        const outcome = await send(false);
        expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
        expect(outcome.fallback).toBe(`${outcome.name}-b; reason=content_filter`);
        expect(outcome.text).not.toContain("content_filter");
      }
    for (const each of streams) {
      one.behave(streamed(each));
      const outcome = await send(true);
      expect(outcome).toMatchObject({ status: 200, provider: "two", attempts: "2" });
      expect(outcome.text).toEndWith("data: [DONE]\n\n");
      expect(outcome.text).not.toContain("content_filter");
    }
  });

  test("that has content is relayed", async () => {
    const send = await seed(filtered);
    one.behave(whole(body));
    expect(await send(false)).toMatchObject({ provider: "one", fallback: null, text: JSON.stringify(body) });
    one.behave(streamed(stream));
    const outcome = await send(true);
    expect(outcome).toMatchObject({ provider: "one", fallback: null });
    expect(outcome.text).toContain("Well");
  });

  test("is relayed if the virtual model does not name the reason", async () => {
    const send = await seed(filtered, { reasons: ["unavailable", "rate_limited", "context", "budget"] });
    one.behave(whole(bodies[0]!));
    expect(await send(false)).toMatchObject({ provider: "one", text: JSON.stringify(bodies[0]) });
    one.behave(streamed(streams[0]!));
    expect(await send(true)).toMatchObject({ provider: "one", fallback: null, attempts: "1" });
  });

  test("makes the fallback serve if it is translated for the client", async () => {
    const send = await seed(filtered, { rule: { response_format: "openai" } });
    one.behave(whole(bodies[0]!));
    expect(await send(false)).toMatchObject({ provider: "two" });
    one.behave(streamed(streams[0]!));
    expect(await send(true)).toMatchObject({ provider: "two" });
  });
});

const [CHAT] = FORMATS as [Filtered];

test("if the fallback cannot be reached, the client gets the refusal, else its response", async () => {
  const send = await seed(CHAT);
  two.behave({ status: 503 });
  one.behave(streamed(CHAT.streams[0]!));
  const failed = await send(true);
  expect([failed.status, failed.provider]).toEqual([503, "two"]);
  two.behave({ refuse: true });
  const outcome = await send(true);
  expect(outcome).toMatchObject({ status: 200, provider: "one" });
  expect(outcome.text).toContain("content_filter");
});

test("the refused attempt is in the request log and charged to budgets", async () => {
  const budget = await post(`${gateway}/budgets`, {
    name: "all",
    unit: "usd",
    amount: "100",
    period: "total",
    scope: "gateway",
    on_unknown_price: "free",
  });
  const send = await seed(CHAT);
  one.behave(whole(CHAT.bodies[0]!));
  const { name } = await send(false);
  const record = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `${gateway}/requests?request_id=${name}`);
    return (body.requests as Record<string, unknown>[])[0] ?? null;
  });
  expect(record).toMatchObject({
    virtual_model: { fallback: `${name}-b`, reason: "content_filter" },
    attempts: [
      { model: "first", status: 200, fault: "content_filter" },
      { model: "second", fault: null },
    ],
  });
  const { body } = await gatehouse.api("GET", `${gateway}/budgets/${budget}/state`);
  expect(Number(body.spent)).toBe(0.5);
  await gatehouse.api("DELETE", `${gateway}/budgets/${budget}`);
});

describe("a stream that the filter has ended and a fallback replaces costs", () => {
  const [events] = CHAT.streams as [readonly object[]];
  const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 8000, total_tokens: 8010 } };
  const MAX_TOKENS = 20_000;

  /** Resolves to the tokens that the budget was charged with for the filtered attempt. */
  async function charged(behavior: Behavior): Promise<number> {
    const fields = { name: `tokens ${++serial}`, unit: "tokens", amount: 1_000_000, models: ["first"] };
    const budget = await post(`${gateway}/budgets`, fields);
    const send = await seed(CHAT);
    one.behave(behavior);
    const outcome = await send(true, {}, { max_tokens: MAX_TOKENS });
    expect(outcome).toMatchObject({ status: 200, provider: "two" });
    const { spent } = await waitFor(async () => {
      const { body } = await gatehouse.api("GET", `${gateway}/budgets/${budget}/state`);
      return body.reserved === 0 ? body : null;
    });
    await gatehouse.api("DELETE", `${gateway}/budgets/${budget}`);
    return Number(spent);
  }

  test("what it reports after the verdict of the filter", async () => {
    expect(await charged({ ...streamed([...events, usage]), chunkDelayMs: 50 })).toBe(8010);
  });

  test.each([
    ["ends", {}],
    ["goes on", { stallAfterChunks: 2 }],
  ])("what was reserved if it %s without a report", async (_, fields) => {
    expect(await charged({ ...streamed(events), ...fields })).toBeWithin(MAX_TOKENS, MAX_TOKENS + 100);
  });
});

test("compressed responses are recognized, too", async () => {
  const send = await seed(CHAT);
  one.behave(whole(CHAT.bodies[0]!, { gzip: true }));
  expect(await send(false, { "Accept-Encoding": "gzip" })).toMatchObject({ provider: "two" });
});
