// Measures the translation between formats: of a chat request of 1 kB, parsed and serialized as the proxy does, and of each
// event of a stream. Every client format with every target format.
import { FORMAT_NAMES, HUB_FORMAT, type FormatName } from "../src/formats/format-names.ts";
import type { JsonObject } from "../src/base/json.ts";
import type { ChatCompletionChunk, ChatDelta } from "../src/formats/openai/wire-types.ts";
import { formatNamed } from "../src/formats/registry.ts";
import { StreamTranslation } from "../src/formats/stream-translation.ts";
import { TranslationReport } from "../src/formats/translation-report.ts";
import { NO_CONTEXT, type InboundTranslator } from "../src/formats/translator.ts";
import { geminiStream } from "../test/translation/gemini-provider.ts";
import { printTable, type Measurement } from "./report.ts";

/** Short rounds: in some of them no other process runs. */
const ROUNDS = 150;
const REQUESTS = 200;
const STREAMS = 4;
/** Deltas of a stream. */
const EVENTS = 100;
const MAX_REQUEST_US = 60;
const MAX_EVENT_US = 25;
const OPTIONS = { createdAt: 1_760_000_000, targetTag: "t" };
const CONTEXT = { ...NO_CONTEXT, model: "any-model", includeUsage: true };
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A conversation with a tool call; 1 kB in the hub format. */
const CHAT: JsonObject = {
  model: "any-model",
  messages: [
    { role: "system", content: "You are a helpful assistant. ".repeat(6).trim() },
    { role: "user", content: "What is the weather in Rome today? ".repeat(5).trim() },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "Sunny, 24 degrees, light wind from the west." },
  ],
  tools: [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "Returns the weather of a city.",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
  tool_choice: "auto",
  temperature: 0.7,
  max_tokens: 1024,
  stream: false,
};

function chunkOf(delta: ChatDelta, isLast = false): ChatCompletionChunk {
  const finish_reason = isLast ? "stop" : null;
  return {
    id: "resp_1",
    object: "chat.completion.chunk",
    created: 1_760_000_000,
    model: "any-model",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  };
}

const USAGE = {
  prompt_tokens: 200,
  completion_tokens: EVENTS,
  total_tokens: 200 + EVENTS,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
};
const CHUNKS: readonly ChatCompletionChunk[] = [
  chunkOf({ role: "assistant", content: "" }),
  ...Array.from({ length: EVENTS }, (_, index) => chunkOf({ content: ` word${index}` })),
  chunkOf({}, true),
  { ...chunkOf({}), choices: [], usage: USAGE },
];

/** Returns the stream in pieces of one event. */
function streamOf(name: FormatName): Uint8Array[] {
  const stream = formatNamed(name).inbound?.encodeStream(CONTEXT);
  for (const chunk of CHUNKS) stream?.chunk(chunk);
  stream?.done();
  const text = stream?.take() ?? geminiStream(CHUNKS);
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => encoder.encode(`${event}\n\n`));
}

function requestBody(name: FormatName): Uint8Array {
  const report = new TranslationReport();
  const encoded =
    name === HUB_FORMAT ? CHAT : formatNamed(name).outbound.encodeRequest(CHAT, { report, targetTag: "t" });
  return encoder.encode(JSON.stringify(encoded));
}

/** Returns the microseconds per call in the fastest round, which other processes delayed the least. */
function measure(work: () => unknown, calls: number): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    for (let call = 0; call < calls; call++) work();
    return ((performance.now() - started) * 1000) / calls;
  });
  return Math.min(...rounds);
}

/** Returns the microseconds per request. */
function measureRequest(client: FormatName, inbound: InboundTranslator, target: FormatName): number {
  const { outbound } = formatNamed(target);
  const body = requestBody(client);
  return measure(() => {
    const report = new TranslationReport();
    const request = inbound.decodeRequest(JSON.parse(decoder.decode(body)), report);
    return encoder.encode(JSON.stringify(outbound.encodeRequest(request, { report, targetTag: "t" })));
  }, REQUESTS);
}

/** Returns the microseconds per event. */
function measureStream(inbound: InboundTranslator, target: FormatName): number {
  const { outbound } = formatNamed(target);
  const events = streamOf(target);
  const perStream = measure(() => {
    const translation = new StreamTranslation(outbound, inbound, OPTIONS, CONTEXT);
    for (const event of events) translation.push(event);
    return [translation.ending(), translation.takeRest()];
  }, STREAMS);
  return perStream / events.length;
}

export function benchTranslate(): Promise<void> {
  const requests: Measurement[] = [];
  const streams: Measurement[] = [];
  for (const client of FORMAT_NAMES) {
    const { inbound } = formatNamed(client);
    if (inbound === null) continue;
    for (const target of FORMAT_NAMES) {
      if (client === target) continue;
      const value = measureRequest(client, inbound, target);
      requests.push({ what: `${client} → ${target}`, value, unit: "µs", atMost: MAX_REQUEST_US });
      const perEvent = measureStream(inbound, target);
      streams.push({ what: `${target} → ${client}`, value: perEvent, unit: "µs", atMost: MAX_EVENT_US });
    }
  }
  printTable(`Translation of a chat request of ${requestBody(HUB_FORMAT).byteLength} bytes`, requests);
  printTable("Translation of an event of a stream", streams);
  return Promise.resolve();
}
