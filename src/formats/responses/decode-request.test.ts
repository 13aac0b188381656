// What a Responses request becomes in the hub format, what is dropped, and what is refused.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../base/json.ts";
import { packDetail } from "../reasoning-details.ts";
import { TranslationError } from "../translation-error.ts";
import { TranslationReport } from "../translation-report.ts";
import { responsesInbound } from "./inbound.ts";

const SIGNED = { type: "reasoning.text", format: "anthropic", text: "Think.", signature: "c2ln" } as const;
const CALL = { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}' };
const HUB_CALL = { id: "call_1", type: "function", function: { name: "f", arguments: '{"a":1}' } };

function decode(fields: JsonObject) {
  const report = new TranslationReport();
  const request = responsesInbound.decodeRequest({ input: "Hi", store: false, ...fields }, report);
  return { request, dropped: report.dropped };
}

function messagesOf(...input: object[]): unknown {
  return decode({ input }).request.messages;
}

function errorOf(fields: JsonObject): TranslationError {
  try {
    decode(fields);
  } catch (error) {
    if (error instanceof TranslationError) return error;
    throw error;
  }
  throw new Error("The request was translated.");
}

describe("input", () => {
  test("a text is a user message", () => {
    expect(decode({}).request).toEqual({ messages: [{ role: "user", content: "Hi" }] });
  });

  test("instructions and the system messages at the beginning become one system message", () => {
    const input = [
      { role: "developer", content: [{ type: "input_text", text: "Two" }] },
      { type: "message", role: "system", content: "Three" },
      { role: "user", content: "Hi" },
      { role: "developer", content: "Four" },
    ];
    expect(decode({ instructions: "One", input }).request.messages).toEqual([
      { role: "system", content: "One\n\nTwo\n\nThree" },
      { role: "user", content: "Hi" },
      { role: "system", content: "Four" },
    ]);
  });

  test("images, files and cache breakpoints are carried", () => {
    const content = [
      { type: "input_text", text: "Look", prompt_cache_breakpoint: { mode: "explicit" } },
      { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "original" },
      { type: "input_image", image_url: "https://example.com/a.png", detail: "low" },
      { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" },
      { type: "input_file", file_url: "https://example.com/a.pdf" },
    ];
    expect(messagesOf({ role: "user", content })).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look", cache_control: { type: "ephemeral" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "high" } },
          { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
          { type: "file", file: { file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" } },
          { type: "file", file: { file_url: "https://example.com/a.pdf" } },
        ],
      },
    ]);
  });

  test("the items of one turn become one assistant message", () => {
    const turn = [
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: packDetail(SIGNED) },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        content: [{ type: "output_text", text: "I look." }],
      },
      CALL,
      { ...CALL, call_id: "call_2" },
      { type: "function_call_output", call_id: "call_1", output: "1" },
      { type: "function_call_output", call_id: "call_2", output: [{ type: "input_text", text: "2" }] },
    ];
    expect(messagesOf(...turn, CALL, { role: "user", content: "Hi" })).toEqual([
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [HUB_CALL, { ...HUB_CALL, id: "call_2" }],
        reasoning_details: [SIGNED],
      },
      { role: "tool", tool_call_id: "call_1", content: "1" },
      { role: "tool", tool_call_id: "call_2", content: "2" },
      { role: "assistant", content: null, tool_calls: [HUB_CALL] },
      { role: "user", content: "Hi" },
    ]);
  });

  test("a refusal is a part", () => {
    expect(messagesOf({ role: "assistant", content: [{ type: "refusal", refusal: "No." }] })).toEqual([
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
    ]);
  });

  test("reasoning without encrypted content is the text of a chat target", () => {
    const summary = [
      { type: "summary_text", text: "One" },
      { type: "summary_text", text: "Two" },
    ];
    expect(messagesOf({ type: "reasoning", summary }, CALL)).toEqual([
      { role: "assistant", content: null, tool_calls: [HUB_CALL], reasoning_content: "One\n\nTwo" },
    ]);
  });

  test.each([
    ["encrypted by OpenAI", [{ type: "reasoning", summary: [], encrypted_content: "gAAAAB" }, CALL]],
    ["without a turn", [{ type: "reasoning", summary: [], encrypted_content: packDetail(SIGNED) }]],
    [
      "before a user message",
      [
        { type: "reasoning", summary: [{ type: "summary_text", text: "x" }] },
        { role: "user", content: "Hi" },
      ],
    ],
  ])("reasoning %s is dropped and listed", (_, input) => {
    const { request, dropped } = decode({ input });
    expect(dropped).toEqual(["reasoning"]);
    expect(JSON.stringify(request.messages)).not.toContain("reasoning");
  });

  test("calls of tools that the provider ran are dropped and listed", () => {
    const input = [
      { type: "web_search_call", id: "ws_1" },
      { role: "assistant", content: "Found." },
    ];
    expect(decode({ input })).toEqual({
      request: { messages: [{ role: "assistant", content: "Found." }] },
      dropped: ["web_search_call"],
    });
  });
});

describe("tools", () => {
  const FUNCTION = {
    type: "function",
    name: "f",
    description: "d",
    parameters: { type: "object" },
    strict: true,
  };
  const HUB_FUNCTION = {
    type: "function",
    function: { name: "f", description: "d", parameters: { type: "object" }, strict: true },
  };

  test("functions", () => {
    expect(decode({ tools: [FUNCTION], parallel_tool_calls: false }).request).toMatchObject({
      tools: [HUB_FUNCTION],
      parallel_tool_calls: false,
    });
  });

  test("a custom tool is a function with one field; its grammar is part of the description", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: A" };
    const { request, dropped } = decode({
      tools: [{ type: "custom", name: "patch", description: "Patch.", format }],
    });
    expect(request.tools).toMatchObject([
      {
        type: "function",
        function: {
          name: "patch",
          description: "Patch.\n\nThe input must match this Lark grammar:\nstart: A",
          parameters: { type: "object", required: ["input"] },
        },
      },
    ]);
    expect(dropped).toEqual(["grammar"]);
  });

  test("calls of custom tools and their results", () => {
    const call = { type: "custom_tool_call", call_id: "call_1", name: "patch", input: 'a "b"' };
    expect(messagesOf(call, { type: "custom_tool_call_output", call_id: "call_1", output: "ok" })).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "patch", arguments: '{"input":"a \\"b\\""}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "ok" },
    ]);
  });

  test("the name of a namespace becomes part of the function's name, in tools and calls", () => {
    const tools = [{ type: "namespace", name: "agents", description: "", tools: [FUNCTION] }];
    const input = [{ ...CALL, namespace: "agents" }];
    const { request } = decode({ tools, input, tool_choice: { type: "function", name: "f" } });
    expect(request).toMatchObject({
      tools: [{ function: { name: "agents__f" } }],
      messages: [{ tool_calls: [{ function: { name: "agents__f" } }] }],
      tool_choice: { type: "function", function: { name: "agents__f" } },
    });
  });

  test("names that providers reject are shortened, and stay different", () => {
    const namesIn = (namespace: string) => {
      const { request } = decode({ tools: [{ type: "namespace", name: namespace, tools: [FUNCTION] }] });
      return (request.tools as { function: { name: string } }[]).map((tool) => tool.function.name);
    };
    const [one] = namesIn(`${"long".repeat(20)}.1`);
    const [other] = namesIn(`${"long".repeat(20)}.2`);
    expect(one).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(one).not.toBe(other);
  });

  test("a search that the client runs is a function, and the tools that it finds are added", () => {
    const tools = [
      { type: "tool_search", execution: "client", description: "Search", parameters: { type: "object" } },
    ];
    const input = [
      { type: "tool_search_call", call_id: "call_1", execution: "client", arguments: { query: "x" } },
      {
        type: "tool_search_output",
        call_id: "call_1",
        tools: [{ type: "namespace", name: "n", tools: [FUNCTION] }],
      },
      { type: "additional_tools", role: "developer", tools: [{ ...FUNCTION, name: "g" }] },
    ];
    const { request } = decode({ tools, input });
    expect(request).toMatchObject({
      tools: [
        { function: { name: "tool_search" } },
        { function: { name: "n__f" } },
        { function: { name: "g" } },
      ],
      messages: [
        {
          role: "assistant",
          tool_calls: [{ function: { name: "tool_search", arguments: '{"query":"x"}' } }],
        },
        { role: "tool", tool_call_id: "call_1", content: '{"tools":[{"name":"n__f","description":"d"}]}' },
      ],
    });
  });

  test.each([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [
      { type: "function", name: "f" },
      { type: "function", function: { name: "f" } },
    ],
    [
      { type: "custom", name: "c" },
      { type: "function", function: { name: "c" } },
    ],
  ])("tool_choice %j", (choice, expected) => {
    const tools = [FUNCTION, { type: "custom", name: "c" }];
    expect(decode({ tools, tool_choice: choice }).request.tool_choice).toEqual(expected);
  });

  test("allowed_tools leaves the other tools out", () => {
    const tools = [FUNCTION, { ...FUNCTION, name: "g" }, { type: "custom", name: "c" }];
    const allowed = [
      { type: "function", name: "g" },
      { type: "custom", name: "c" },
    ];
    const { request } = decode({
      tools,
      tool_choice: { type: "allowed_tools", mode: "required", tools: allowed },
    });
    expect(request).toMatchObject({
      tools: [{ function: { name: "g" } }, { function: { name: "c" } }],
      tool_choice: "required",
    });
  });

  test.each([
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "computer_use_preview",
    "local_shell",
    "shell",
    "apply_patch",
    "tool_search",
  ])("%s is refused with its place", (type) => {
    expect(errorOf({ tools: [FUNCTION, { type }] })).toMatchObject({
      path: "tools[1]",
      code: "untranslatable",
    });
  });

  test("a web search beside tools of the client is dropped and listed", () => {
    const { request, dropped } = decode({ tools: [FUNCTION, { type: "web_search" }] });
    expect(request.tools).toEqual([HUB_FUNCTION]);
    expect(dropped).toEqual(["web_search"]);
  });

  test("a web search alone is refused, and the error says how to turn it off in Codex", () => {
    expect(errorOf({ tools: [{ type: "web_search" }] }).message).toBe(
      'The tool "web_search" is run by OpenAI, and the provider of the target does not have it. Remove it; in Codex, set web_search = "disabled".',
    );
  });

  test("a choice of a hosted tool, or of one that the request lacks, is refused", () => {
    expect(errorOf({ tools: [FUNCTION], tool_choice: { type: "web_search_preview" } }).path).toBe(
      "tool_choice",
    );
    expect(errorOf({ tools: [FUNCTION], tool_choice: { type: "function", name: "g" } }).path).toBe(
      "tool_choice",
    );
  });

  test("two tools with the same name in the hub format are refused", () => {
    const tools = [
      { ...FUNCTION, name: "a__b" },
      { type: "namespace", name: "a", tools: [{ ...FUNCTION, name: "b" }] },
    ];
    expect(errorOf({ tools }).path).toBe("tools[1].tools[0]");
  });
});

describe("other fields", () => {
  test("are carried", () => {
    const fields = {
      model: "m",
      max_output_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      user: "u",
      safety_identifier: "s",
      reasoning: { effort: "high", summary: "auto" },
      text: {
        verbosity: "low",
        format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true },
      },
      include: ["reasoning.encrypted_content"],
      truncation: "disabled",
      stream: true,
      metadata: null,
    };
    const { request, dropped } = decode(fields);
    expect(request).toEqual({
      messages: [{ role: "user", content: "Hi" }],
      model: "m",
      max_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      user: "u",
      safety_identifier: "s",
      reasoning_effort: "high",
      verbosity: "low",
      response_format: {
        type: "json_schema",
        json_schema: { name: "n", schema: { type: "object" }, strict: true },
      },
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(dropped).toEqual([]);
  });

  test("json_object and text", () => {
    const formatOf = (type: string) => decode({ text: { format: { type } } }).request.response_format;
    expect(formatOf("json_object")).toEqual({ type: "json_object" });
    expect(formatOf("text")).toBeUndefined();
  });

  test.each([
    ["store", { store: true }],
    ["store", { store: undefined }],
    ["metadata", { metadata: { a: "b" } }],
    ["service_tier", { service_tier: "flex" }],
    ["prompt_cache_key", { prompt_cache_key: "k" }],
    ["truncation", { truncation: "auto" }],
    ["include", { include: ["web_search_call.results"] }],
    ["max_tool_calls", { max_tool_calls: 3 }],
    ["client_metadata", { client_metadata: { a: "b" } }],
    ["reasoning.context", { reasoning: { context: "all_turns" } }],
    ["stream_options", { stream_options: { include_obfuscation: true } }],
    ["something_new", { something_new: 1 }],
  ])("%s is dropped and listed: %j", (name, fields) => {
    expect(decode(fields).dropped).toEqual([name]);
  });

  test.each([
    ["background", { background: true }],
    ["conversation", { conversation: "conv_1" }],
    ["prompt", { prompt: { id: "pmpt_1" } }],
    ["moderation", { moderation: { model: "m" } }],
    ["top_logprobs", { top_logprobs: 2 }],
    ["include", { include: ["message.output_text.logprobs"] }],
    ["text.format.type", { text: { format: { type: "yaml" } } }],
    ["input", { input: 1 }],
    ["input[0]", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["input[0]", { input: [{ id: "msg_1" }] }],
    ["input[0].type", { input: [{ type: "computer_call_output" }] }],
    ["input[0].type", { input: [{ type: "compaction_trigger" }] }],
    ["input[0].role", { input: [{ role: "robot", content: "x" }] }],
    [
      "input[0].content[0].file_id",
      { input: [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }] },
    ],
    ["input[0].content[0].type", { input: [{ role: "user", content: [{ type: "video" }] }] }],
  ])("%s is refused: %j", (path, fields) => {
    expect(errorOf(fields)).toMatchObject({ path, code: "untranslatable" });
  });

  test("previous_response_id has a code of its own", () => {
    expect(errorOf({ previous_response_id: "resp_1" })).toMatchObject({
      path: "previous_response_id",
      code: "stateless_responses",
    });
  });
});

test("instructions of a wrong type, and required tools of which there are none, are refused", () => {
  expect(errorOf({ instructions: 5 }).path).toBe("instructions");
  const tools = [{ type: "function", name: "f" }];
  const tool_choice = { type: "allowed_tools", mode: "required", tools: [] };
  expect(errorOf({ tools, tool_choice }).path).toBe("tool_choice");
  expect(decode({ tools, tool_choice: { ...tool_choice, mode: "auto" } }).request["tools"]).toBeUndefined();
});
