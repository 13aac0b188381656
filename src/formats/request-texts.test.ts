// The texts of requests in every format: their roles and kinds, and replacing them without changing another byte.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { RequestTexts } from "./request-texts.ts";
import { anyCharacter } from "../../test/support/characters.ts";

function read(body: unknown): string[] {
  const texts = RequestTexts.read(Buffer.from(JSON.stringify(body)))?.texts ?? [];
  return texts.map(({ role, kind, tool, message, text, isReadOnly, isJson }) =>
    [message, role, kind, tool ?? "-", text, isReadOnly ? "read-only" : "", isJson ? "json" : ""]
      .join(" ")
      .trim(),
  );
}

describe("texts by role", () => {
  test("chat completions", () => {
    const call = { id: "c1", type: "function", function: { name: "find", arguments: '{"q":"x"}' } };
    const messages = [
      { role: "system", content: "be kind" },
      {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          { type: "image_url", image_url: { url: "https://x" } },
        ],
      },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "found" },
    ];
    const tools = [{ type: "function", function: { name: "find", description: "Finds." } }];
    expect(read({ model: "m", messages, tools, user: "u" })).toEqual([
      "-1 other text - Finds.",
      "-1 other text - u",
      "0 system text - be kind",
      "1 user text - hello",
      '2 assistant tool_arguments find {"q":"x"}  json',
      "3 tool tool_result find found",
    ]);
  });

  test("Anthropic messages", () => {
    const assistant = [
      { type: "thinking", thinking: "hm", signature: "c2ln" },
      { type: "thinking", thinking: "unsigned", signature: "" },
      { type: "tool_use", id: "t1", name: "mail", input: { id: "a", name: "b", to: ["c"] } },
    ];
    const user = [
      { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "sent" }] },
      { type: "document", title: "T", source: { type: "text", media_type: "text/plain", data: "doc" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
    ];
    const messages = [
      { role: "assistant", content: assistant },
      { role: "user", content: user },
    ];
    expect(read({ messages, system: [{ type: "text", text: "rules" }] })).toEqual([
      "-1 system text - rules",
      "0 assistant text - hm read-only",
      "0 assistant text - unsigned",
      "0 assistant tool_arguments mail a",
      "0 assistant tool_arguments mail b",
      "0 assistant tool_arguments mail c",
      "1 tool tool_result mail sent",
      "1 user document - T",
      "1 user document - doc",
    ]);
  });

  test("Responses", () => {
    const input = [
      { role: "user", content: [{ type: "input_text", text: "hi" }] },
      { type: "reasoning", summary: [{ type: "summary_text", text: "why" }], encrypted_content: "gAAA" },
      { type: "function_call", call_id: "c9", name: "find", arguments: "{}" },
      { type: "function_call_output", call_id: "c9", output: "out" },
    ];
    expect(read({ input, instructions: "do" })).toEqual([
      "-1 system text - do",
      "0 user text - hi",
      "1 assistant text - why read-only",
      "2 assistant tool_arguments find {}  json",
      "3 tool tool_result find out",
    ]);
    expect(read({ input: "plain" })).toEqual(["0 user text - plain"]);
    // Tools that have no name; the call of the second one is stored at the provider.
    const nameless = [
      { type: "shell_call", id: "i1", call_id: "c1", action: { commands: ["ls"] } },
      { type: "shell_call_output", call_id: "c1", output: [{ stdout: "files" }] },
      { type: "local_shell_call_output", call_id: "c2", output: "done" },
    ];
    expect(read({ input: nameless })).toEqual([
      "0 assistant text shell ls",
      "1 tool tool_result shell files",
      "2 tool tool_result local_shell done",
    ]);
    const run = [
      { type: "mcp_call", id: "m1", name: "find", arguments: '{"q":1}', output: "found", error: null },
      { type: "code_interpreter_call", code: "1+1", outputs: [{ type: "logs", logs: "2" }] },
      { type: "file_search_call", queries: ["q"], results: [{ text: "part", file_id: "f1" }] },
      { type: "mcp_call", name: "find", arguments: "{}", output: null, error: "down" },
    ];
    expect(read({ input: run })).toEqual([
      '0 assistant tool_arguments find {"q":1}  json',
      "0 tool tool_result find found",
      "1 assistant text code_interpreter 1+1",
      "1 tool tool_result code_interpreter 2",
      "2 assistant text file_search q",
      "2 tool tool_result file_search part",
      "3 assistant tool_arguments find {}  json",
      "3 tool tool_result find down",
    ]);
  });

  test("numbers before the messages do not change their positions", () => {
    const messages = [{ role: "user", content: "hi" }];
    expect(read({ model: "m", max_tokens: 5, stream: true, messages })).toEqual(["0 user text - hi"]);
  });

  test("Gemini, completions and embeddings", () => {
    const contents = [
      { role: "user", parts: [{ text: "hi" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
      { role: "model", parts: [{ functionCall: { name: "find", args: { name: "x" } } }] },
      { role: "user", parts: [{ functionResponse: { name: "find", response: { name: "y" } } }] },
    ];
    expect(read({ contents, systemInstruction: { parts: [{ text: "sys" }] } })).toEqual([
      "-1 system text - sys",
      "0 user text - hi",
      "1 assistant tool_arguments find x",
      "2 tool tool_result find y",
    ]);
    const parts = [
      { executableCode: { language: "PYTHON", code: "print(1)" } },
      { code_execution_result: { outcome: "OUTCOME_OK", output: "1" } },
      { toolCall: { toolType: "GOOGLE_MAPS", args: { queries: ["q"] } } },
      { toolResponse: { toolType: "GOOGLE_MAPS", response: { places: ["p"] } } },
    ];
    expect(read({ contents: [{ role: "model", parts }] })).toEqual([
      "0 assistant tool_arguments code_execution PYTHON",
      "0 assistant tool_arguments code_execution print(1)",
      "0 tool tool_result code_execution 1",
      "0 assistant tool_arguments google_maps q",
      "0 tool tool_result google_maps p",
    ]);
    expect(read({ prompt: ["a", "b"], suffix: "c" })).toEqual([
      "0 user text - a",
      "1 user text - b",
      "2 user text - c",
    ]);
  });

  test("a message with two roles, and unknown fields, count as text of the user", () => {
    const body = '{"messages":[{"role":"assistant","role":"system","content":"x"}],"extra":{"deep":"y"}}';
    const texts = RequestTexts.read(Buffer.from(body))?.texts ?? [];
    expect(texts.map(({ role, text }) => [role, text])).toEqual([
      ["user", "x"],
      ["user", "y"],
    ]);
  });
});

describe("a text of a user stays one", () => {
  const type = fc.constantFrom(
    ..."text thinking redacted_thinking reasoning reasoning.text compaction tool_use x_call function_call mcp_call".split(
      " ",
    ),
    ..."message document input_file x_output x_tool_result model assistant".split(" "),
  );
  const members = fc.record(
    {
      type: fc.oneof(type, fc.string()),
      name: fc.constant("safe"),
      thought: fc.boolean(),
      signature: fc.constant("x"),
      thoughtSignature: fc.constant("x"),
      encrypted_content: fc.constant("x"),
      id: fc.constant("c1"),
      call_id: fc.constant("c1"),
      tool_call_id: fc.constant("c1"),
      tool_use_id: fc.constant("c1"),
      function: fc.constant({ name: "safe", arguments: "{}" }),
    },
    { requiredKeys: [] },
  );
  const TEXT = "zq7391x";

  function userTexts(body: unknown): void {
    const texts = RequestTexts.read(Buffer.from(JSON.stringify(body)))?.texts ?? [];
    const found = texts.filter(({ text }) => text === TEXT);
    expect(found).toHaveLength(1);
    expect(found).toMatchObject([{ role: "user", isReadOnly: false }]);
  }

  test("whatever members the message has", () => {
    fc.assert(
      fc.property(members, (more) => {
        const message = { ...more, role: "user", content: TEXT };
        for (const list of ["messages", "input", "contents"]) userTexts({ [list]: [message] });
      }),
    );
  });

  test("whatever members the part has whose type is not known to be that of a result", () => {
    const key = fc.constantFrom("text", "content", "thinking", "summary", "x");
    fc.assert(
      fc.property(members, key, (more, name) => {
        userTexts({ messages: [{ role: "user", content: [{ ...more, [name]: TEXT }] }] });
      }),
      { examples: [[{ type: "thinking", signature: "x" }, "thinking"]] },
    );
  });
});

test("replacing changes the selected strings and no other byte", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: anyCharacter, minLength: 1 }), { minLength: 1 }),
      fc.string(),
      (contents, text) => {
        const body = { n: 1, messages: contents.map((content) => ({ role: "user", content })) };
        const source = JSON.stringify(body).replace('"n":1', '"n" :  1.0');
        const texts = RequestTexts.read(Buffer.from(source));
        expect(texts?.texts.map((each) => each.text)).toEqual(contents.map((each) => each.toWellFormed()));
        expect(Buffer.from(texts?.replace(new Map()) ?? []).toString()).toBe(source.toWellFormed());
        const replaced = Buffer.from(texts?.replace(new Map([[contents.length - 1, text]])) ?? []).toString();
        const expected = [...contents.slice(0, -1), text].map((content) => ({ role: "user", content }));
        expect(replaced).toStartWith('{"n" :  1.0,');
        expect(JSON.parse(replaced)).toEqual({ n: 1, messages: expected });
      },
    ),
    { numRuns: 30 },
  );
});
