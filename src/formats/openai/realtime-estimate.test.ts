// Estimates of realtime responses without usage.
import { describe, expect, test } from "bun:test";
import { NO_TOKENS } from "../../usage/usage-accumulator.ts";
import { tokensOfText } from "../text-tokens.ts";
import {
  countEvent,
  countOutput,
  hasOutput,
  inputTokensOf,
  RealtimeConversation,
  RealtimeOutput,
  responseIdIn,
} from "./realtime-estimate.ts";
import { clientEventIn, type ClientEvent } from "./realtime-requests.ts";

const eventOf = (message: string): ClientEvent<string> => {
  const event = clientEventIn(message);
  if (event === null || event === "invalid") throw new Error(`${message} is no event`);
  return event;
};
const instruct = (instructions: string) =>
  JSON.stringify({ type: "session.update", session: { instructions } });
const NO_INPUT = { inputTokens: 0, audioInputTokens: 0 };
const TEXT = "The quick brown fox jumps over the lazy dog. ";
const deltaOf = (delta: string, type = "response.output_text.delta") => JSON.stringify({ type, delta });

describe("the output", () => {
  test("does not depend on how the text is split", () => {
    const text = TEXT.repeat(3000);
    for (const size of [1, 7, 4000, text.length]) {
      const estimate = new RealtimeOutput();
      for (let at = 0; at < text.length; at += size)
        estimate.addServerMessage(deltaOf(text.slice(at, at + size)));
      const { outputTokens } = estimate.estimateWith(NO_INPUT);
      expect(outputTokens).toBeWithin(tokensOfText(text) * 0.99, tokensOfText(text) * 1.01);
    }
  });

  test("is text, transcripts and arguments, and nothing else", () => {
    const outputOf = (...messages: string[]) => {
      const estimate = new RealtimeOutput();
      for (const message of messages) if (hasOutput(message)) estimate.addServerMessage(message);
      return estimate.estimateWith(NO_INPUT).outputTokens;
    };
    const expected = Math.ceil(tokensOfText(TEXT));
    for (const kind of ["text", "output_audio_transcript", "audio_transcript", "function_call_arguments"])
      expect(outputOf(deltaOf(TEXT, `response.${kind}.delta`))).toBe(expected);
    expect(outputOf(deltaOf(TEXT, "conversation.item.input_audio_transcription.delta"))).toBe(0);
    expect(outputOf('{"type":"rate_limits.updated"}', '{"not JSON.delta"')).toBe(0);
  });
});

describe("what was counted in a message is estimated like the message:", () => {
  const messages = [
    instruct(TEXT),
    JSON.stringify({ type: "session.update", session: { tools: [{ name: TEXT }], instructions: "short" } }),
    JSON.stringify({
      type: "conversation.item.create",
      item: { type: "message", content: [{ text: TEXT }] },
    }),
    JSON.stringify({ type: "response.create", response: { instructions: TEXT } }),
    JSON.stringify({ type: "input_audio_buffer.append", audio: "QUJD".repeat(5000) }),
  ];

  test.each(messages)("%s", (message) => {
    const event = eventOf(message);
    const counted: ClientEvent = { ...event, text: countEvent(event) };
    const [plain, other] = [event, counted].map((added) => {
      const conversation = new RealtimeConversation();
      conversation.addClientEvent(eventOf(instruct("Be brief.")));
      conversation.addClientEvent(added);
      const { characters } = conversation;
      return [
        characters,
        conversation.nextInput(),
        conversation.nextInput(0, true),
        inputTokensOf(added.text),
      ];
    });
    expect(other).toEqual(plain);
  });

  test("output", () => {
    const audio = deltaOf("QUJD".repeat(5000), "response.output_audio.delta");
    const [plain, other] = [(message: string) => message, countOutput].map((read) => {
      const output = new RealtimeOutput();
      for (const message of [deltaOf(TEXT), audio]) output.addServerMessage(read(message));
      return output.estimateWith(NO_INPUT);
    });
    expect(other).toEqual(plain);
  });
});

describe("the input", () => {
  const used = (inputTokens: number, outputTokens: number) => ({ ...NO_TOKENS, inputTokens, outputTokens });

  test("is the conversation before, and what the client added since", () => {
    const conversation = new RealtimeConversation();
    conversation.addClientEvent(eventOf(instruct(TEXT)));
    const input = conversation.nextInput();
    expect(input.inputTokens).toBeWithin(tokensOfText(TEXT), tokensOfText(TEXT) + 8);
    conversation.responseEnded(input, used(100, 20));
    expect(conversation.nextInput().inputTokens).toBe(120);
    expect(conversation.nextInput(7).inputTokens).toBe(127);
  });

  test("has what the client added after the start of the response that has ended", () => {
    const conversation = new RealtimeConversation();
    const input = conversation.nextInput();
    conversation.addClientEvent(eventOf(instruct(TEXT)));
    conversation.responseEnded(input, used(100, 50));
    expect(conversation.nextInput().inputTokens).toBe(150 + inputTokensOf(instruct(TEXT)));
  });

  test("has the output of each response that was generated beside others once", () => {
    const conversation = new RealtimeConversation();
    const inputs = [1, 2, 3].map(() => conversation.nextInput());
    for (const input of inputs) conversation.responseEnded(input, used(1000, 50));
    expect(conversation.nextInput().inputTokens).toBe(1150);
    conversation.responseEnded(conversation.nextInput(), used(400, 1));
    expect(conversation.nextInput().inputTokens).toBe(401);
  });

  test("of a response with its own items is without the conversation, but with the settings", () => {
    const conversation = new RealtimeConversation();
    conversation.responseEnded(conversation.nextInput(), used(50_000, 0));
    for (let sent = 0; sent < 3; sent++) conversation.addClientEvent(eventOf(instruct(TEXT)));
    expect(conversation.nextInput(5, true).inputTokens).toBe(5 + inputTokensOf(instruct(TEXT)));
  });

  test("counts audio by its duration", () => {
    const conversation = new RealtimeConversation();
    const audio = Buffer.alloc(48_000).toString("base64");
    for (let sent = 0; sent < 10; sent++)
      conversation.addClientEvent(eventOf(JSON.stringify({ type: "input_audio_buffer.append", audio })));
    const { inputTokens, audioInputTokens } = conversation.nextInput();
    expect(audioInputTokens).toBeWithin(100, 102);
    expect(inputTokens).toBe(audioInputTokens);
  });

  test("may be audio as far as the client and earlier responses have added any", () => {
    const conversation = new RealtimeConversation();
    const audio = Buffer.alloc(480_000).toString("base64");
    conversation.addClientEvent(eventOf(JSON.stringify({ type: "input_audio_buffer.append", audio })));
    const input = conversation.nextInput();
    expect(input.maxAudioTokens).toBe(input.inputTokens);
    conversation.responseEnded(input, { ...used(500, 80), audioOutputTokens: 60 });
    const { inputTokens, maxAudioTokens } = conversation.nextInput();
    expect(inputTokens).toBe(580);
    expect(maxAudioTokens).toBeWithin(160, 162);
    expect(conversation.nextInput(5, true).maxAudioTokens).toBe(0);
  });
});

test("the response that a message belongs to is not one that its text names", () => {
  expect(responseIdIn('{"type":"response.output_text.delta","response_id" : "resp_1","delta":"x"}')).toBe(
    "resp_1",
  );
  expect(responseIdIn(deltaOf('"response_id":"resp_2"'))).toBeNull();
});
