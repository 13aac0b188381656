// Responses to chat clients: what the hub format changes for them. Everything else is passed on.
import { expect, test } from "bun:test";
import type { ReasoningDetail } from "../chat-extensions.ts";
import { NO_CONTEXT } from "../translator.ts";
import { openaiInbound } from "./inbound.ts";
import type { ChatCompletionChunk, ChatDelta } from "./wire-types.ts";

function chunk(delta: ChatDelta): ChatCompletionChunk {
  return {
    id: "1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  };
}

/** Returns the choices that the client receives. */
function encode(chunks: ChatCompletionChunk[]): unknown[] {
  const encoder = openaiInbound.encodeStream(NO_CONTEXT);
  for (const each of chunks) encoder.chunk(each);
  const events = encoder.take().trim().split("\n\n");
  return events.map((event): unknown => JSON.parse(event.slice("data: ".length)).choices[0]);
}

test("reasoning details in streams are numbered, so that SDKs can merge them", () => {
  const detail = (data: string): ReasoningDetail => ({
    type: "reasoning.encrypted",
    format: "anthropic",
    data,
  });
  const deltas = encode([
    chunk({ reasoning_details: [detail("a"), detail("b")] }),
    chunk({ reasoning_details: [detail("c")] }),
  ]);
  expect(deltas).toMatchObject([
    {
      delta: {
        reasoning_details: [
          { data: "a", index: 0 },
          { data: "b", index: 1 },
        ],
      },
    },
    { delta: { reasoning_details: [{ data: "c", index: 2 }] } },
  ]);
});
