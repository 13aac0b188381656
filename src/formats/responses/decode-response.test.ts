// Responses whose status is 200 and whose body says that they failed, and streams of servers that send few events.
import { expect, test } from "bun:test";
import { GatehouseError } from "../../base/errors.ts";
import { ReplyCollector, replyOf } from "../../../test/translation/reply.ts";
import { decodeResponse } from "./decode-response.ts";
import type { ChatCompletionChunk } from "../openai/wire-types.ts";
import { ResponseStreamDecoder } from "./decode-stream.ts";

test("a failed response is an error with the provider's message", () => {
  const body = {
    object: "response",
    status: "failed",
    output: [],
    error: { code: "server_error", message: "Out of order." },
  };
  const decode = () => decodeResponse(body, { createdAt: 1, targetTag: "t" });
  expect(decode).toThrow(GatehouseError);
  expect(decode).toThrow("The provider could not create the response. Out of order.");
});

test("output that a stream contains only in its complete items, or in its last event, is not lost", () => {
  const output = [
    { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
    { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hello" }] },
    { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: '{"a":1}' },
  ];
  const response = { id: "resp_1", object: "response", status: "completed", model: "m", output };
  const items = output.map((item, output_index) => ({
    type: "response.output_item.done",
    output_index,
    item,
  }));
  const options = { createdAt: 1, targetTag: "t" };
  const whole = decodeResponse(response, options);
  if (whole === null) throw new Error("the response was not recognized");
  for (const events of [items, []]) {
    const collector = new ReplyCollector();
    const decoder = new ResponseStreamDecoder(options, collector);
    for (const event of [...events, { type: "response.completed", response }])
      decoder.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    expect(decoder.ending()).toBe("complete");
    expect(collector.reply).toEqual(replyOf(whole));
  }
});

test("encrypted reasoning that the last event repeats is written once", () => {
  const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "AAAA" };
  const ended = { id: "resp_1", incomplete_details: { reason: "max_output_tokens" }, output: [item] };
  const chunks: ChatCompletionChunk[] = [];
  const sink = {
    chunk: (chunk: ChatCompletionChunk) => void chunks.push(chunk),
    error: () => undefined,
    done: () => undefined,
  };
  const decoder = new ResponseStreamDecoder({ createdAt: 1, targetTag: "t" }, sink);
  for (const event of [
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.incomplete", response: ended },
  ])
    decoder.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  const details = chunks.flatMap(({ choices }) => choices[0]?.delta.reasoning_details ?? []);
  expect(details).toMatchObject([{ data: "AAAA", id: "rs_1" }]);
});

test("reasoning is written once, also if all items end together", () => {
  const collector = new ReplyCollector();
  const decoder = new ResponseStreamDecoder({ createdAt: 1, targetTag: "t" }, collector);
  const texts = ["First.", "Second."];
  const item = (text: string) => ({ type: "reasoning", summary: [{ type: "summary_text", text }] });
  for (const event of [
    ...texts.flatMap((delta, output_index) => [
      { type: "response.output_item.added", output_index, item: { type: "reasoning", summary: [] } },
      { type: "response.reasoning_summary_text.delta", output_index, delta },
    ]),
    ...texts.map((text, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item: item(text),
    })),
    { type: "response.completed", response: { id: "resp_1", output: texts.map(item) } },
  ])
    decoder.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  expect(collector.reply.reasoning).toBe("First.\n\nSecond.");
});
