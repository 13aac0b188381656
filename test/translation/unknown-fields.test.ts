// Fields inside of requests that the target's format has no place for, or that providers added later: they are listed.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { FORMAT_NAMES, type FormatName } from "../../src/formats/format-names.ts";
import { translateRequest } from "../../src/proxy/translate-request.ts";

const SCHEMA = { type: "object", properties: {}, additionalProperties: false };
const ADDED = { added: "later" };

/** Requests with a field `added` at each level, and at no other place. */
const PLACES: Partial<Record<FormatName, Readonly<Record<string, JsonObject>>>> = {
  openai: {
    "a message": { messages: [{ role: "user", content: "Hi", ...ADDED }] },
    "a part": { messages: [{ role: "user", content: [{ type: "text", text: "Hi", ...ADDED }] }] },
    "an image": {
      messages: [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: "https://a.test/b.png", ...ADDED } }],
        },
      ],
    },
    "a call": {
      messages: [
        {
          role: "assistant",
          content: "Hm",
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" }, ...ADDED }],
        },
        { role: "tool", tool_call_id: "c", content: "" },
      ],
    },
    "a function": {
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ type: "function", function: { name: "f", parameters: SCHEMA, ...ADDED } }],
    },
  },
  anthropic: {
    "a message": { messages: [{ role: "user", content: "Hi", ...ADDED }] },
    "a block": { messages: [{ role: "user", content: [{ type: "text", text: "Hi", ...ADDED }] }] },
    "a block of the system prompt": {
      system: [{ type: "text", text: "Be brief.", ...ADDED }],
      messages: [{ role: "user", content: "Hi" }],
    },
    "a block of a tool result": {
      messages: [
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: ADDED }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c", content: [{ type: "text", text: "1", ...ADDED }] },
          ],
        },
      ],
    },
    "a tool": {
      messages: [{ role: "user", content: "Hi" }],
      tools: [{ name: "f", input_schema: SCHEMA, ...ADDED }],
    },
  },
  responses: {
    "a message": { input: [{ role: "user", content: "Hi", ...ADDED }] },
    "a part": { input: [{ role: "user", content: [{ type: "input_text", text: "Hi", ...ADDED }] }] },
    "a call": {
      input: [
        { type: "function_call", call_id: "c", name: "f", arguments: "{}", ...ADDED },
        { type: "function_call_output", call_id: "c", output: "" },
      ],
    },
    "a tool of a namespace": {
      input: "Hi",
      tools: [
        {
          type: "namespace",
          name: "n",
          tools: [{ type: "function", name: "f", parameters: SCHEMA, ...ADDED }],
        },
      ],
    },
    "the format of the text": {
      input: "Hi",
      text: { format: { type: "json_schema", name: "n", schema: SCHEMA, ...ADDED } },
    },
  },
};

/** What requests of a format need besides the fields that are tested. */
const REQUIRED: Partial<Record<FormatName, JsonObject>> = {
  anthropic: { max_tokens: 100 },
  responses: { store: false },
};

function translate(from: FormatName, to: FormatName, body: JsonObject) {
  const { bytes, dropped } = translateRequest(
    { model: "m", ...REQUIRED[from], ...body },
    { from, to, model: null, targetTag: "t", pathNamesFormat: true },
  );
  return { sent: Buffer.from(bytes ?? "").toString(), dropped };
}

const CASES = Object.entries(PLACES).flatMap(([from, places]) =>
  FORMAT_NAMES.filter((to) => to !== from).flatMap((to) =>
    Object.entries(places).map(([place, body]) => [from as FormatName, to, place, body] as const),
  ),
);

describe("an unknown field is listed", () => {
  test.each(CASES)("%s client, %s target: of %s", (from, to, _, body) => {
    expect(translate(from, to, body).dropped).toContain("added");
  });
});

const TARGETS = FORMAT_NAMES.filter((to) => to !== "openai");

describe.each(TARGETS)("chat client, %s target", (to) => {
  test("what messages of earlier responses have is listed, except if it is empty", () => {
    const send = (fields: JsonObject) =>
      translate("openai", to, {
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: "Hm", ...fields },
          { role: "user", content: "So?" },
        ],
      }).dropped;
    expect(send({ annotations: [], audio: null, function_call: null })).toEqual([]);
    expect(send({ annotations: [{ type: "url_citation" }], audio: { id: "a" } })).toEqual([
      "annotations",
      "audio",
    ]);
  });

  test("a refusal is sent, also beside an empty content and beside a text", () => {
    for (const content of [null, "", "Well,"]) {
      const { sent, dropped } = translate("openai", to, {
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content, refusal: "I cannot." },
          { role: "user", content: "Why?" },
        ],
      });
      expect([sent.includes("I cannot."), dropped]).toEqual([true, []]);
    }
  });
});

test.each(["anthropic", "gemini"] as const)(
  "the description of an output schema is listed: %s target",
  (to) => {
    const json_schema = { name: "n", description: "A place.", schema: SCHEMA, strict: true };
    const { dropped } = translate("openai", to, {
      messages: [{ role: "user", content: "Hi" }],
      response_format: { type: "json_schema", json_schema },
    });
    expect(dropped).toEqual(["json_schema.description"]);
  },
);

test("citations of search results are listed", () => {
  const result = { type: "search_result", source: "a", title: "b", content: [{ type: "text", text: "c" }] };
  const { dropped } = translate("anthropic", "gemini", {
    messages: [{ role: "user", content: [{ ...result, citations: { enabled: true } }] }],
  });
  expect(dropped).toEqual(["citations"]);
});

test("a second identifier of the user is listed", () => {
  const messages = [{ role: "user", content: "Hi" }];
  const droppedOf = (user: string) =>
    translate("openai", "anthropic", { messages, user, safety_identifier: "b" }).dropped;
  expect([droppedOf("a"), droppedOf("b")]).toEqual([["safety_identifier"], []]);
});
