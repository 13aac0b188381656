// Measures the cost of reading usage: from a whole body, compared with parsing it, and from a stream, per chunk. Also measures
// the cost of finding the first content of a stream, per stream.
import { systemClock } from "../src/base/clock.ts";
import { FirstContent } from "../src/formats/first-content.ts";
import { formatNamed } from "../src/formats/registry.ts";
import { StreamUsageFilter } from "../src/usage/stream-usage-filter.ts";
import { UsageAccumulator } from "../src/usage/usage-accumulator.ts";
import { median, printTable, type Measurement } from "./report.ts";

const ROUNDS = 9;
const CALLS = 20_000;
const USAGE = {
  prompt_tokens: 19,
  completion_tokens: 10,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};
const { usage: reader, content } = formatNamed("openai");

function bodyOf(bytes: number): Uint8Array {
  const message = { role: "assistant", content: "some words, ".repeat(bytes / 12), refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
  const fields = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-4o" };
  return Buffer.from(JSON.stringify({ ...fields, choices, usage: USAGE, system_fingerprint: "fp_1" }));
}

function streamOf(chunks: number, eventEnd: string): Uint8Array[] {
  const event = (fields: object) =>
    Buffer.from(`data: ${JSON.stringify({ id: "chatcmpl-1", ...fields })}${eventEnd}`);
  const content = { choices: [{ index: 0, delta: { content: " word" }, finish_reason: null }], usage: null };
  return [...Array<Uint8Array>(chunks).fill(event(content)), event({ choices: [], usage: USAGE })];
}

const ROLE_EVENT = Buffer.from(
  'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null}}]}\n\n',
);
const CONTENT_EVENT = streamOf(1, "\n\n")[0] ?? ROLE_EVENT;

function findFirstContent(): number | null {
  const first = new FirstContent(content, systemClock);
  first.push(ROLE_EVENT);
  first.push(CONTENT_EVENT);
  return first.seenAt;
}

/** Returns the microseconds per call. */
function measure(work: () => unknown, calls = CALLS): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    for (let call = 0; call < calls; call++) work();
    return ((performance.now() - started) * 1000) / calls;
  });
  return median(rounds);
}

export function benchUsage(): Promise<void> {
  const rows: Measurement[] = [];
  const decoder = new TextDecoder();
  for (const bytes of [600, 6000, 60_000]) {
    const body = bodyOf(bytes);
    const calls = Math.min(CALLS, 60_000_000 / bytes);
    rows.push(
      {
        what: `whole body of ${bytes} bytes`,
        value: measure(() => reader.readBody(body), calls),
        unit: "µs",
      },
      {
        what: "  parsing it",
        value: measure(() => JSON.parse(decoder.decode(body)) as unknown, calls),
        unit: "µs",
      },
    );
  }
  for (const [name, eventEnd] of [
    ["LF", "\n\n"],
    ["CRLF", "\r\n\r\n"],
  ] as const) {
    const stream = streamOf(100, eventEnd);
    const relay = () => {
      const filter = new StreamUsageFilter(reader, new UsageAccumulator(reader), true);
      for (const chunk of stream) filter.push(chunk);
    };
    rows.push({
      what: `chunk of a stream (${name})`,
      value: measure(relay, 500) / stream.length,
      unit: "µs",
    });
  }
  rows.push({ what: "first content of a stream", value: measure(findFirstContent), unit: "µs" });
  printTable("Usage", rows);
  return Promise.resolve();
}
