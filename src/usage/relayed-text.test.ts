import { describe, expect, test } from "bun:test";
import type { FormatName } from "../formats/format-names.ts";
import { formatNamed } from "../formats/registry.ts";
import { estimateTokens } from "../formats/token-estimate.ts";
import { RelayedText } from "./relayed-text.ts";

const WORDS = "The committee of the Northern harbor will decide on the new bridge tomorrow, if it rains. ";

/** A stream of this many events that have one word each, and the whole text. */
function streamOf(events: number, eventOf: (word: string) => string): { chunks: string[]; text: string } {
  const words = Array.from({ length: events }, (_, at) => WORDS.split(/(?<= )/)[at % 16] ?? "");
  return { chunks: words.map(eventOf), text: words.join("") };
}

function estimate(chunks: readonly (string | Uint8Array)[], format: FormatName): number {
  const relayed = new RelayedText();
  for (const chunk of chunks) relayed.push(Buffer.from(chunk));
  return relayed.estimate(formatNamed(format).usage).tokens;
}

const EVENTS: [string, FormatName, (word: string) => string][] = [
  [
    "chat completions",
    "openai",
    (content) =>
      `data: ${JSON.stringify({ id: "chatcmpl-1", model: "m", choices: [{ index: 0, delta: { content } }] })}\n\n`,
  ],
  [
    "reasoning",
    "openai",
    (text) =>
      `data: ${JSON.stringify({ choices: [{ delta: { reasoning_content: text, reasoning: text } }] })}\n\n`,
  ],
  [
    "thinking of other servers",
    "openai",
    (thinking) => `data: ${JSON.stringify({ choices: [{ delta: { thinking } }] })}\n\n`,
  ],
  [
    "transcripts of audio",
    "openai",
    (audio_transcript) => `data: ${JSON.stringify({ choices: [{ delta: { audio_transcript } }] })}\n\n`,
  ],
  [
    "arguments of tools",
    "openai",
    (text) =>
      `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] })}\n\n`,
  ],
  [
    "line separators of Unicode",
    "openai",
    (content) => `data: ${JSON.stringify({ id: "\u2028", choices: [{ delta: { content } }] })}\n\n`,
  ],
  [
    "several lines of data",
    "openai",
    (text) => `data: {"choices":\ndata: ${JSON.stringify([{ delta: { content: text } }])}}\n\n`,
  ],
  ["completions", "openai", (text) => `data: ${JSON.stringify({ choices: [{ text }] })}\r\n\r\n`],
  [
    "responses",
    "responses",
    (delta) =>
      `event: response.output_text.delta\ndata: ${JSON.stringify({ type: "response.output_text.delta", delta })}\n\n`,
  ],
  [
    "messages",
    "anthropic",
    (text) =>
      `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}\n\n`,
  ],
  [
    "thinking",
    "anthropic",
    (thinking) =>
      `data: ${JSON.stringify({ type: "content_block_delta", delta: { type: "thinking_delta", thinking } })}\n\n`,
  ],
  [
    "Gemini",
    "gemini",
    (text) => `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] } }] })}\r\n\r\n`,
  ],
];

describe("the estimate of the relayed text is close to that of the whole text", () => {
  for (const [name, format, eventOf] of EVENTS)
    test(`${name}, short and long, however the stream is split`, () => {
      for (const events of [1, 10, 100, 5000]) {
        const { chunks, text } = streamOf(events, eventOf);
        const expected = estimateTokens(text);
        const bytes = Buffer.from(chunks.join(""));
        for (const size of [0, 100, 1000, 20_000]) {
          const pieces =
            size === 0
              ? chunks
              : Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
                  bytes.subarray(at * size, (at + 1) * size),
                );
          const found = estimate(pieces, format);
          expect(found).toBeGreaterThanOrEqual(Math.floor(expected * 0.8));
          expect(found).toBeLessThanOrEqual(Math.ceil(expected * 1.25));
        }
      }
    });
});

test("events without text count as nothing, and an event larger than all samples counts", () => {
  const done = { type: "response.output_text.done", text: "The whole text again." };
  expect(estimate([`data: ${JSON.stringify(done)}\n\n`, "data: [DONE]\n\n", ": comment\n\n"], "openai")).toBe(
    0,
  );
  expect(estimate(["data: {half"], "openai")).toBe(0);
  expect(estimate([], "openai")).toBe(0);
  const text = WORDS.repeat(200);
  const large = `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
  expect(estimate([large], "openai") / estimateTokens(text)).toBeCloseTo(1, 0);
});

test("an event larger than all samples counts after smaller ones, also if it is cut off in an escape sequence", () => {
  const text = WORDS.repeat(200);
  // An event that has its text twice is read up to the middle of the first one.
  for (const [name, format, eventOf] of EVENTS.filter(([each]) => each !== "reasoning"))
    for (const content of [text, text.replaceAll(" ", "\n"), text.replaceAll("e", "\u0001")]) {
      const large = eventOf(content);
      for (const chunks of [
        [eventOf(""), large],
        [eventOf(""), large, large, eventOf("")],
        [large.slice(0, 9000)],
      ]) {
        const share = chunks.join("").length / large.length;
        const found = estimate(chunks, format) / estimateTokens(content);
        expect([name, found, found > 0.7 * share && found < 1.3 * share]).toEqual([name, found, true]);
      }
    }
});

test("what is no output does not count, however large", () => {
  const created = { type: "response.created", response: { instructions: WORDS.repeat(200) } };
  const done = { type: "response.output_text.done", text: WORDS.repeat(200) };
  const delta = { type: "response.output_text.delta", delta: "Hello" };
  const chunks = [created, delta, done].map((event) => `data: ${JSON.stringify(event)}\n\n`);
  expect(estimate(chunks, "responses")).toBeLessThan(50);
});

test("audio and images are found, and are not read as text", () => {
  const base64 = Buffer.from(Array.from({ length: 30_000 }, (_, at) => (at * 7919) % 251)).toString("base64");
  const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
  const image = data({ type: "image_generation.partial_image", b64_json: base64 });
  const audio = data({ choices: [{ index: 0, delta: { audio: { data: base64 } } }] });
  const words = data({ choices: [{ index: 0, delta: { audio: { transcript: "Good morning" } } }] });
  const cases = [
    [image],
    [image, image],
    [words, audio],
    [audio.replace(base64, base64.slice(0, 600)), words],
  ];
  for (const chunks of cases) {
    const relayed = new RelayedText();
    for (const chunk of chunks) relayed.push(Buffer.from(chunk));
    const { tokens, hasMedia } = relayed.estimate(formatNamed("openai").usage);
    expect([tokens < 50, hasMedia]).toEqual([true, true]);
  }
});

test("signatures and encrypted reasoning are no media", () => {
  const base64 = Buffer.alloc(3000, 0x5a).toString("base64");
  const events: [FormatName, object][] = [
    ["anthropic", { type: "content_block_delta", delta: { type: "signature_delta", signature: base64 } }],
    [
      "anthropic",
      { type: "content_block_start", content_block: { type: "redacted_thinking", data: base64 } },
    ],
    [
      "responses",
      { type: "response.output_item.done", item: { type: "reasoning", encrypted_content: base64 } },
    ],
    ["gemini", { candidates: [{ content: { parts: [{ text: "", thoughtSignature: base64 }] } }] }],
  ];
  for (const [format, event] of events) {
    const relayed = new RelayedText();
    relayed.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    expect([event, relayed.estimate(formatNamed(format).usage)]).toEqual([
      event,
      { tokens: 0, hasMedia: false },
    ]);
  }
});

test("text counts if log probabilities after it fill all samples, wherever they are cut", () => {
  const candidate = { token: " committee", logprob: -12.847362, bytes: [...Buffer.from(" committee")] };
  const logprobs = { content: [{ ...candidate, top_logprobs: Array.from({ length: 20 }, () => candidate) }] };
  const start = `data: ${JSON.stringify({ choices: [{ delta: { role: "assistant", content: "" } }] })}\n\n`;
  for (let length = 0; length < 300; length += 20) {
    const chunk = { id: "c".repeat(length), choices: [{ delta: { content: " committee" }, logprobs }] };
    const event = `data: ${JSON.stringify(chunk)}\n\n`;
    const found = estimate([start, ...Array.from({ length: 100 }, () => event)], "openai");
    expect([length, found > 80 && found < 300]).toEqual([length, true]);
  }
});

test("the first event after a byte order mark counts", () => {
  const event = `data: ${JSON.stringify({ choices: [{ delta: { content: WORDS } }] })}\n\n`;
  const bytes = Buffer.from(`\ufeff${event}`);
  const expected = estimate([event], "openai");
  for (let at = 0; at <= bytes.byteLength; at++)
    expect(estimate([bytes.subarray(0, at), bytes.subarray(at)], "openai")).toBe(expected);
});
