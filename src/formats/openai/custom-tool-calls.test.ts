// Chat clients with custom tools get calls of custom tools, whole and streamed, whatever the format of the target.
import { expect, test } from "bun:test";
import { TranslationReport } from "../translation-report.ts";
import { responsesOutbound } from "../responses/outbound.ts";
import { StreamTranslation } from "../stream-translation.ts";
import { openaiInbound } from "./inbound.ts";

const REQUEST = {
  model: "m",
  messages: [{ role: "user", content: "Hi" }],
  tools: [
    {
      type: "custom",
      custom: {
        name: "patch",
        format: { type: "grammar", grammar: { syntax: "lark", definition: "start: A" } },
      },
    },
    { type: "function", function: { name: "f" } },
  ],
};
const INPUT = 'a "b"\n😀\\';
const OUTPUT = [
  {
    type: "custom_tool_call",
    id: "ctc_1",
    call_id: "call_1",
    name: "patch",
    input: INPUT,
    status: "completed",
  },
  { type: "function_call", id: "fc_1", call_id: "call_2", name: "f", arguments: "{}", status: "completed" },
];
const OPTIONS = { createdAt: 1, targetTag: "t" };

test("the tool is a custom tool of the Responses API", () => {
  const request = responsesOutbound.encodeRequest(REQUEST, {
    report: new TranslationReport(),
    targetTag: "t",
  });
  expect(request).toMatchObject({
    tools: [
      { type: "custom", name: "patch", format: { type: "grammar", syntax: "lark", definition: "start: A" } },
      { name: "f" },
    ],
  });
});

test("a whole response", () => {
  const completion = responsesOutbound.decodeResponse(
    { object: "response", id: "r", model: "m", output: OUTPUT },
    OPTIONS,
  );
  expect(openaiInbound.encodeResponse(completion!, openaiInbound.contextOf(REQUEST))).toMatchObject({
    choices: [
      {
        message: {
          tool_calls: [
            { id: "call_1", type: "custom", custom: { name: "patch", input: INPUT } },
            { id: "call_2", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        finish_reason: "tool_calls",
      },
    ],
  });
});

test("a stream whose input arrives in pieces that split characters", () => {
  const events: object[] = [{ type: "response.created", response: { id: "r", model: "m" } }];
  for (const [index, item] of OUTPUT.entries()) {
    events.push({
      type: "response.output_item.added",
      output_index: index,
      item: { ...item, input: "", arguments: "" },
    });
    if (index === 0)
      for (const unit of INPUT.split(""))
        events.push({ type: "response.custom_tool_call_input.delta", output_index: 0, delta: unit });
    events.push({ type: "response.output_item.done", output_index: index, item });
  }
  events.push({ type: "response.completed", response: { id: "r", status: "completed" } });
  const translation = new StreamTranslation(
    responsesOutbound,
    openaiInbound,
    OPTIONS,
    openaiInbound.contextOf(REQUEST),
  );
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const written = new TextDecoder().decode(translation.push(new TextEncoder().encode(text)) ?? undefined);
  expect(translation.ending()).toBe("complete");
  const calls: Record<string, unknown>[] = written
    .split("\n\n")
    .filter((line) => line.startsWith("data: {"))
    .flatMap((line) => JSON.parse(line.slice(6)).choices[0].delta.tool_calls ?? []);
  expect(calls).toEqual([
    { index: 0, id: "call_1", type: "custom", custom: { name: "patch", input: "" } },
    { index: 1, id: "call_2", type: "function", function: { name: "f", arguments: "" } },
    { index: 1, function: { arguments: "{}" } },
    { index: 0, custom: { input: INPUT } },
  ]);
});
