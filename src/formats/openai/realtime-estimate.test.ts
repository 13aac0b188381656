// Estimates of realtime responses without usage.
import { describe, expect, test } from "bun:test";
import { tokenCounts } from "../token-counts.ts";
import { tokensOfText } from "../text-tokens.ts";
import { RealtimeEstimate } from "./realtime-estimate.ts";

const NO_PARTS = {
  cachedInputTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
};
const TEXT = "The quick brown fox jumps over the lazy dog. ";
const deltaOf = (delta: string, type = "response.output_text.delta") => JSON.stringify({ type, delta });

describe("the output", () => {
  test("does not depend on how the text is split", () => {
    const text = TEXT.repeat(3000);
    for (const size of [1, 7, 4000, text.length]) {
      const estimate = new RealtimeEstimate();
      for (let at = 0; at < text.length; at += size)
        estimate.addServerMessage(deltaOf(text.slice(at, at + size)));
      const { outputTokens } = estimate.takeEstimate();
      expect(outputTokens).toBeWithin(tokensOfText(text) * 0.99, tokensOfText(text) * 1.01);
    }
  });

  test("is text, transcripts and arguments, and nothing else", () => {
    const outputOf = (...messages: string[]) => {
      const estimate = new RealtimeEstimate();
      for (const message of messages) estimate.addServerMessage(message);
      return estimate.takeEstimate().outputTokens;
    };
    const expected = Math.ceil(tokensOfText(TEXT));
    for (const kind of ["text", "output_audio_transcript", "audio_transcript", "function_call_arguments"])
      expect(outputOf(deltaOf(TEXT, `response.${kind}.delta`))).toBe(expected);
    expect(outputOf(deltaOf(TEXT, "conversation.item.input_audio_transcription.delta"))).toBe(0);
    expect(outputOf('{"type":"rate_limits.updated"}', '{"not JSON.delta"')).toBe(0);
  });
});

describe("the input", () => {
  test("is the conversation before, and what the client added since", () => {
    const estimate = new RealtimeEstimate();
    estimate.addClientMessage(JSON.stringify({ type: "session.update", session: { instructions: TEXT } }));
    expect(estimate.takeEstimate().inputTokens).toBeWithin(tokensOfText(TEXT), tokensOfText(TEXT) + 8);
    estimate.responseReported(tokenCounts(100, 20, NO_PARTS));
    estimate.addServerMessage(deltaOf(TEXT));
    const { outputTokens, inputTokens } = estimate.takeEstimate();
    expect(inputTokens).toBe(120);
    expect(estimate.takeEstimate().inputTokens).toBe(120 + outputTokens);
  });

  test("counts audio by its duration, and messages that are no JSON not at all", () => {
    const estimate = new RealtimeEstimate();
    const audio = Buffer.alloc(48_000).toString("base64");
    for (let sent = 0; sent < 10; sent++)
      estimate.addClientMessage(JSON.stringify({ type: "input_audio_buffer.append", audio }));
    estimate.addClientMessage("not JSON");
    estimate.addClientMessage(new Uint8Array(1000));
    const { inputTokens, audioInputTokens } = estimate.takeEstimate();
    expect(audioInputTokens).toBeWithin(100, 102);
    expect(inputTokens).toBe(audioInputTokens);
  });
});
