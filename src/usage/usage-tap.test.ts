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

test("a byte order mark does not hide the usage of a body", () => {
  const body = Buffer.from(
    `\ufeff${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } })}`,
  );
  const expected = { inputTokens: 3, outputTokens: 4, isPartial: false };
  expect(usageOfBody(tapped("openai", body))).toMatchObject(expected);
  for (let at = 0; at <= body.byteLength; at++)
    expect(relay("openai", [body.subarray(0, at), body.subarray(at)], true)).toMatchObject(expected);
});
