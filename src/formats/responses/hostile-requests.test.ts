// Requests that are valid JSON, but larger or deeper than those of any client: they are translated or refused, and overflow no
// stack.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../base/json.ts";
import { TranslationReport } from "../translation-report.ts";
import { responsesInbound } from "./inbound.ts";
import { responsesOutbound } from "./outbound.ts";

const MANY = 250_000;
const OPTIONS = () => ({ report: new TranslationReport(), targetTag: "t" });

function decode(body: JsonObject): JsonObject {
  responsesInbound.contextOf(body);
  return responsesInbound.decodeRequest(body, new TranslationReport());
}

function nested(depth: number): JsonObject {
  let tool: JsonObject = { type: "function", name: "f" };
  for (let level = 0; level < depth; level++) tool = { type: "namespace", name: "n", tools: [tool] };
  return tool;
}

describe("clients", () => {
  test.each(["assistant", "system", "user"])("many parts of one %s message", (role) => {
    const content = Array<object>(MANY).fill({ type: "input_text", text: "x" });
    expect(decode({ input: [{ role, content }] })["messages"]).toHaveLength(1);
  });

  test("namespaces inside of namespaces are refused", () => {
    for (const depth of [2, 50_000]) {
      const error = "tools[0].tools[0] is a namespace inside of a namespace.";
      expect(() => decode({ input: "Hi", tools: [nested(depth)] })).toThrow(error);
      const item = { type: "tool_search_output", call_id: "c", tools: [nested(depth)] };
      expect(() => decode({ input: [item] })).toThrow(`input[0].${error}`);
    }
  });
});

describe("targets", () => {
  test("many parts and reasoning details of one message", () => {
    const content = Array<object>(MANY).fill({ type: "text", text: "x" });
    const detail = { type: "reasoning.encrypted", format: "responses", data: "x", target: "t" };
    const reasoning_details = Array<object>(MANY).fill(detail);
    const messages = [{ role: "assistant", content, reasoning_details }];
    const { input } = responsesOutbound.encodeRequest({ messages }, OPTIONS()) as { input: object[] };
    expect(input).toHaveLength(MANY + 1);
  });
});
