// The usage of bodies that are JSON and no stream of events, however they are split and wherever they are cut.
import { expect, test } from "bun:test";
import { formatNamed } from "../formats/registry.ts";
import type { FormatName } from "../formats/format-names.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { Usage } from "./usage-accumulator.ts";
import { tapResponse, usageOfBody } from "./usage-tap.ts";

function tapped(format: FormatName, body: Uint8Array | null) {
  return {
    upstreamResponse: { ok: true, headers: new Headers() } as unknown as UpstreamResponse,
    body,
    reader: { next: () => Promise.resolve(null), peek: () => Promise.resolve(null), cancel: () => undefined },
    isStream: false,
    isDecoded: false,
    isChat: true,
    hidesUsage: false,
    usageReader: formatNamed(format).usage,
    details: null,
  };
}

function relay(format: FormatName, chunks: readonly Uint8Array[], isComplete: boolean): Usage | null {
  const tap = tapResponse(tapped(format, null));
  for (const chunk of chunks) void tap?.push(chunk);
  if (isComplete) void tap?.end();
  return tap?.result(isComplete) ?? null;
}

const WORDS = "Good morning ".repeat(200);
const gemini = (output: number) =>
  JSON.stringify({
    candidates: [{ content: { parts: [{ text: WORDS }] } }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: output },
  });

test("the usage of an array of events that is cut between two of them is not the final one", () => {
  for (const cut of [`[${gemini(1)}`, `[${gemini(1)},`, `[${gemini(1)}\n,\r\n`, `[${gemini(1)},{`])
    for (const at of [0, 1, cut.length - 1]) {
      const bytes = Buffer.from(cut);
      const usage = relay("gemini", [bytes.subarray(0, at), bytes.subarray(at)], false);
      expect([cut.slice(-3), usage?.isPartial]).toEqual([cut.slice(-3), true]);
      expect(usage?.outputTokens).toBeGreaterThan(300);
    }
});

test("a byte order mark does not hide the usage of a body", () => {
  const body = Buffer.from(
    `\ufeff${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })}`,
  );
  const expected = { inputTokens: 3, outputTokens: 4, isPartial: false };
  expect(usageOfBody(tapped("openai", body))).toMatchObject(expected);
  for (let at = 0; at <= body.byteLength; at++)
    expect(relay("openai", [body.subarray(0, at), body.subarray(at)], true)).toMatchObject(expected);
});

const event = (value: object) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
const usageEvent = (output: number) =>
  event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output } });
const textEvent = event({ choices: [{ index: 0, delta: { content: WORDS } }] });
const DONE = Buffer.from("data: [DONE]\n\n");

function stream(chunks: readonly Uint8Array[], isComplete: boolean): Usage | null {
  const tap = tapResponse({ ...tapped("openai", null), isStream: true });
  for (const chunk of chunks) void tap?.push(chunk);
  if (isComplete) void tap?.end();
  else void tap?.abort();
  return tap?.result(isComplete) ?? null;
}

test.each([
  ["no tokens", [usageEvent(0), textEvent]],
  ["no tokens, in one chunk", [Buffer.concat([usageEvent(0), textEvent])]],
  ["few tokens", [usageEvent(1), textEvent, textEvent]],
])("text after an event of usage with %s counts", (_name, chunks) => {
  const usage = stream(chunks, false);
  expect(usage).toMatchObject({ inputTokens: 10, isPartial: true });
  expect(usage?.outputTokens).toBeGreaterThan(300);
});

test("the usage at the end of a stream is final, whether or not the rest arrives", () => {
  for (const chunks of [
    [textEvent, usageEvent(4)],
    [textEvent, usageEvent(4), DONE],
    [usageEvent(1), textEvent, usageEvent(4), DONE],
  ])
    for (const isComplete of [true, false])
      expect(stream(chunks, isComplete)).toMatchObject({ outputTokens: 4, isPartial: false });
});
