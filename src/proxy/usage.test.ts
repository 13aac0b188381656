// Usage is read from either wire format, whole and streamed, however the stream is split.
import { describe, expect, test } from "bun:test";
import { UsageTap } from "./usage.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

function read(isStream: boolean, text: string, size: number) {
  const tap = new UsageTap(isStream);
  const all = bytes(text);
  for (let at = 0; at < all.length; at += size) tap.push(all.slice(at, at + size));
  return tap.result();
}

describe.each([1, 7, 1000])("in chunks of %d bytes", (size) => {
  test("a whole answer of either format", () => {
    const chat = JSON.stringify({ usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } });
    const message = JSON.stringify({ usage: { input_tokens: 5, output_tokens: 6 } });
    expect(read(false, chat, size)).toEqual({ inputTokens: 3, outputTokens: 4 });
    expect(read(false, message, size)).toEqual({ inputTokens: 5, outputTokens: 6 });
  });

  test("a chat stream that ends with its usage", () => {
    const stream =
      event({ choices: [], usage: null }) +
      event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } });
    expect(read(true, `${stream}data: [DONE]\n\n`, size)).toEqual({ inputTokens: 1, outputTokens: 2 });
  });

  test("a message stream that tells it in two places", () => {
    const start = event({ type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } });
    const end = event({ type: "message_delta", delta: {}, usage: { output_tokens: 8 } });
    expect(read(true, start + end, size)).toEqual({ inputTokens: 9, outputTokens: 8 });
  });

  test("nothing where nothing is told", () => {
    for (const text of ["", "not json", "{}", '{"usage":"many"}', "data: {}\n\n"]) {
      expect(read(false, text, size)).toBeNull();
      expect(read(true, text, size)).toBeNull();
    }
  });
});
