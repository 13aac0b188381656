// What reading the usage costs: of a whole answer, beside parsing all of it; and of a stream, chunk by chunk.
import { UsageAccumulator } from "../src/usage/usage.ts";
import { usageInJson } from "../src/usage/usage-in-json.ts";
import { StreamUsage } from "../src/usage/stream-usage.ts";
import { median, printTable, type Measured } from "./report.ts";

const ROUNDS = 9;
const CALLS = 20_000;
const USAGE = {
  prompt_tokens: 19,
  completion_tokens: 10,
  total_tokens: 29,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};

function answerOf(bytes: number): Uint8Array {
  const message = { role: "assistant", content: "some words, ".repeat(bytes / 12), refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
  const frame = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-4o" };
  return Buffer.from(JSON.stringify({ ...frame, choices, usage: USAGE, system_fingerprint: "fp_1" }));
}

function streamOf(chunks: number, end: string): Uint8Array[] {
  const event = (fields: object) =>
    Buffer.from(`data: ${JSON.stringify({ id: "chatcmpl-1", ...fields })}${end}`);
  const content = { choices: [{ index: 0, delta: { content: " word" }, finish_reason: null }], usage: null };
  return [...Array<Uint8Array>(chunks).fill(event(content)), event({ choices: [], usage: USAGE })];
}

/** Microseconds of one call. */
function measure(work: () => unknown, calls = CALLS): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    for (let call = 0; call < calls; call++) work();
    return ((performance.now() - started) * 1000) / calls;
  });
  return median(rounds);
}

export function benchUsage(): Promise<void> {
  const rows: Measured[] = [];
  const decoder = new TextDecoder();
  for (const bytes of [600, 6000, 60_000]) {
    const answer = answerOf(bytes);
    const calls = Math.min(CALLS, 60_000_000 / bytes);
    rows.push(
      {
        what: `whole answer of ${bytes} bytes`,
        value: measure(() => usageInJson(answer), calls),
        unit: "µs",
      },
      {
        what: "  parsing all of it",
        value: measure(() => JSON.parse(decoder.decode(answer)) as unknown, calls),
        unit: "µs",
      },
    );
  }
  for (const [name, end] of [
    ["LF", "\n\n"],
    ["CRLF", "\r\n\r\n"],
  ] as const) {
    const stream = streamOf(100, end);
    const play = () => {
      const usage = new StreamUsage(new UsageAccumulator(), true);
      for (const chunk of stream) usage.push(chunk);
    };
    rows.push({
      what: `a chunk of a stream (${name})`,
      value: measure(play, 500) / stream.length,
      unit: "µs",
    });
  }
  printTable("Usage", rows);
  return Promise.resolve();
}
