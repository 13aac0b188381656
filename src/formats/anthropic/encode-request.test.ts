// What the golden files do not cover: hostile input, and that invalid input throws only TranslationError.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { isAnthropicRequest } from "./recognize-request.ts";
import { encodeRequest } from "./encode-request.ts";
import type { ChatRequest } from "../openai/wire-types.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { runs } from "../../../test/support/long-form.ts";

const USER = { role: "user", content: "Hi" };

const encode = (request: ChatRequest) => encodeRequest(request, { report: new TranslationReport() });

test("a schema nested too deeply is rejected", () => {
  let schema: object = { type: "string" };
  for (let depth = 0; depth < 20_000; depth += 1) schema = { type: "array", items: schema };
  const response_format = { type: "json_schema", json_schema: { name: "deep", strict: true, schema } };
  expect(() => encode({ messages: [USER], response_format })).toThrow("more than 64 levels deep");
});

test("a data URL of several megabytes is translated quickly", () => {
  const url = `data:image/png;base64,${"A".repeat(8_000_000)}`;
  const request = encode({
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
  });
  expect(request.messages[0]?.content).toHaveLength(1);
});

test("any JSON either translates to messages with alternating roles or throws a TranslationError", () => {
  const content = fc.oneof(
    fc.string(),
    fc.jsonValue(),
    fc.array(fc.record({ type: fc.constantFrom("text", "image_url", "file", "x"), text: fc.string() })),
  );
  const message = fc.record(
    {
      role: fc.constantFrom("system", "developer", "user", "assistant", "tool", "other"),
      content,
      tool_call_id: fc.string(),
      tool_calls: fc.array(
        fc.record({ id: fc.string(), function: fc.record({ name: fc.string(), arguments: fc.json() }) }),
      ),
    },
    { requiredKeys: ["role"] },
  );
  const body = fc.record(
    {
      messages: fc.oneof(
        { weight: 9, arbitrary: fc.array(message) },
        { weight: 1, arbitrary: fc.jsonValue() },
      ),
      tools: fc.jsonValue(),
      tool_choice: fc.jsonValue(),
      stop: fc.jsonValue(),
      temperature: fc.oneof(fc.double({ noNaN: true }), fc.jsonValue()),
      response_format: fc.jsonValue(),
    },
    { requiredKeys: ["messages"] },
  );
  fc.assert(
    fc.property(body, (input) => {
      isAnthropicRequest(input);
      try {
        const roles = encode(input).messages.map(({ role }) => role);
        expect(roles.every((role, index) => role !== roles[index - 1])).toBe(true);
      } catch (error) {
        if (!(error instanceof TranslationError)) throw error;
        expect(error.path).not.toBe("");
      }
    }),
    { numRuns: runs({ short: 200, long: 1000 }) },
  );
});

test("texts of whitespace, which Anthropic rejects, are dropped and reported", () => {
  const report = new TranslationReport();
  const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
  const messages = [
    { role: "system", content: " " },
    {
      role: "user",
      content: [
        { type: "text", text: "Hi" },
        { type: "text", text: "\n" },
      ],
    },
    { role: "assistant", content: "\n\n", tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "" },
  ];
  const request = encodeRequest({ messages }, { report });
  expect(request.system).toBeUndefined();
  expect(request.messages).toEqual([
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "f", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "" }] },
  ]);
  expect(report.dropped).toEqual(["content"]);
  expect(() => encode({ messages: [{ role: "user", content: " " }] })).toThrow("a message that is not empty");
});
