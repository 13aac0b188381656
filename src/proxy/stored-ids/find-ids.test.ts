import { describe, expect, test } from "bun:test";
import type { Operation } from "../../formats/operations.ts";
import { CITED_ID } from "../../formats/stored-ids.ts";
import { RequestBody } from "../request-body.ts";
import { findIds, mayContainIds } from "./find-ids.ts";

function idsIn(operation: Operation, body: unknown): string[] {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const searched = { bytes, operation };
  const found = mayContainIds(searched) ? findIds(searched) : [];
  // Other bodies are not searched.
  if (found.length > 0 && isJson(bytes)) expect(fieldsOf(bytes).mayHaveIds).toBe(true);
  return found.map(({ id, kind }) => (kind === CITED_ID ? `(${id})` : id));
}

function fieldsOf(bytes: Uint8Array): RequestBody["fields"] {
  return RequestBody.scan({ bytes, isJson: true, contentType: null, isTraced: false }).fields;
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

const inContent = (...content: unknown[]) => ({ messages: [{ role: "user", content }] });

describe("ids of stored objects in request bodies", () => {
  test.each([
    ["chat", inContent({ type: "file", file: { file_id: "f" } }), ["f"]],
    ["messages", inContent({ type: "document", source: { type: "file", file_id: "f" } }), ["f"]],
    ["messages", inContent({ type: "container_upload", file_id: "f" }), ["f"]],
    [
      "messages",
      inContent({ type: "tool_result", content: [{ type: "image", source: { file_id: "f" } }] }),
      ["f"],
    ],
    ["batches", { input_file_id: "f", endpoint: "/v1/responses", metadata: { file_id: "free" } }, ["f"]],
    ["batches", { requests: [{ params: inContent({ source: { file_id: "f" } }) }] }, ["f"]],
    ["fine_tuning", { training_file: "f", validation_file: "v", suffix: "x" }, ["f", "v"]],
    ["images", { images: [{ file_id: "f" }], mask: { file_id: "m" } }, ["f", "m"]],
    ["responses", { previous_response_id: "r", input: "Hi" }, ["r"]],
    [
      "responses",
      {
        input: [
          {
            role: "user",
            content: [
              { type: "input_file", file_id: "a" },
              { type: "input_image", file_id: "b" },
            ],
          },
          { type: "function_call_output", output: [{ type: "input_file", file_id: "c" }] },
        ],
        tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["d", "e"] } }],
        prompt: { id: "p", variables: { file_id: "text", doc: { type: "input_file", file_id: "g" } } },
      },
      ["a", "b", "c", "d", "e", "g"],
    ],
    [
      "responses",
      { input: [{ role: "assistant", content: [{ text: "x", annotations: [{ file_id: "cited" }] }] }] },
      ["(cited)"],
    ],
    [
      "messages",
      { messages: [{ role: "assistant", content: [{ content: { content: [{ file_id: "created" }] } }] }] },
      ["(created)"],
    ],
    ["other", { file_ids: ["f"], files: [{ file_id: "g", attributes: { file_id: "free" } }] }, ["f", "g"]],
    ["count_tokens", { previous_response_id: "r" }, ["r"]],
  ] as const)("%s %j", (operation, body, expected) => {
    expect(idsIn(operation, body)).toEqual([...expected]);
  });

  test("are found if keys and ids contain escape sequences", () => {
    expect(idsIn("chat", '{"messages":[{"content":[{"file":{"f\\u0069le\\u005fid":"\\u0066"}}]}]}')).toEqual([
      "f",
    ]);
  });

  test("are not searched in what clients define themselves", () => {
    const schema = { properties: { file_id: { type: "string", default: "x" } }, required: ["file_id"] };
    expect(
      idsIn("messages", {
        tools: [{ name: "read", input_schema: schema }],
        metadata: { file_id: "x" },
        messages: [
          { role: "assistant", content: [{ type: "tool_use", name: "read", input: { file_id: "x" } }] },
          { role: "user", content: 'a text with "file_id":"x"' },
        ],
      }),
    ).toEqual([]);
    expect(idsIn("chat", { tools: [{ function: { parameters: schema } }], messages: [] })).toEqual([]);
  });

  test("operations without them are not searched", () => {
    expect(idsIn("embeddings", { file_id: "x" })).toEqual([]);
    expect(mayContainIds({ operation: "chat", bytes: Buffer.from('{"messages":[]}') })).toBe(false);
  });

  test("a body that is nested too deeply to be searched is rejected", () => {
    const deep = `{"file_id":${"[".repeat(600)}{"file_id":"x"}${"]".repeat(600)}}`;
    expect(() => idsIn("chat", deep.replace("file_id", "a"))).toThrow("nested too deeply");
  });

  test("more than 1000 are rejected", () => {
    const file_ids = Array.from({ length: 1001 }, (_, index) => `file-${index}`);
    expect(() => idsIn("chat", { file_ids })).toThrow("more than 1000");
  });
});
