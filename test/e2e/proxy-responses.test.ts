// Responses clients at targets of other formats: what a coding agent sends, reasoning between its tool calls, what is dropped,
// and errors.
import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import type { ResponseCreateParamsNonStreaming } from "openai/resources/responses/responses";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();

async function clientOf(target: { provider: string; format?: "responses" }): Promise<OpenAI> {
  const prefix = `/api-${crypto.randomUUID()}`;
  await seedRoute(gatehouse, {
    gateway: { error_format: "auto" },
    upstream: { targets: [targetAt(provider, target)], max_attempts: 1 },
    rule: { path: `${prefix}/*`, methods: ["*"] },
  });
  return new OpenAI({ apiKey: "none", baseURL: `${gatehouse.proxyUrl}${prefix}/v1`, maxRetries: 0 });
}

/** The fields and kinds of tools that Codex sends. */
const AGENT_REQUEST = {
  model: "claude-fake",
  input: [
    { type: "message", role: "developer", content: [{ type: "input_text", text: "You are an agent." }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Fix it." }] },
  ],
  tools: [
    {
      type: "function",
      name: "exec_command",
      strict: false,
      parameters: { type: "object", properties: { cmd: { type: "string" } } },
    },
    {
      type: "custom",
      name: "apply_patch",
      description: "Edits files.",
      format: { type: "grammar", syntax: "lark", definition: "start: A" },
    },
    {
      type: "namespace",
      name: "agents",
      description: "",
      tools: [
        { type: "function", name: "spawn", strict: false, parameters: { type: "object", properties: {} } },
      ],
    },
    { type: "web_search" },
  ],
  tool_choice: "auto",
  parallel_tool_calls: true,
  reasoning: { effort: "medium", summary: "auto" },
  store: false,
  include: ["reasoning.encrypted_content"],
  prompt_cache_key: "k",
} satisfies ResponseCreateParamsNonStreaming;

describe("a coding agent at an Anthropic target", () => {
  const TURNS = {
    turns: [
      {
        thinking: "I run it first.",
        calls: [
          { name: "exec_command", arguments: { cmd: "ls" } },
          { name: "apply_patch", arguments: { input: "*** Begin Patch" } },
          { name: "agents__spawn", arguments: {} },
        ],
      },
      { text: "Fixed." },
    ],
  };

  test.each([
    ["whole", false],
    ["streamed", true],
  ])("calls its tools, and thinks between them: %s", async (_, isStream) => {
    const client = await clientOf({ provider: "anthropic" });
    provider.behave(TURNS);
    const send = async (input: OpenAI.Responses.ResponseInputItem[]) => {
      const request = { ...AGENT_REQUEST, input };
      if (!isStream) return client.responses.create(request);
      return client.responses.stream(request).finalResponse();
    };
    const first = await send(AGENT_REQUEST.input);
    expect(first).toMatchObject({ status: "completed", store: false });
    const calls = first.output.filter(({ type }) => type !== "reasoning");
    expect(calls).toMatchObject([
      { type: "function_call", name: "exec_command", arguments: '{"cmd":"ls"}' },
      { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch" },
      { type: "function_call", name: "spawn", namespace: "agents" },
    ]);
    const outputs = calls.map((call) => ({
      type: call.type === "custom_tool_call" ? "custom_tool_call_output" : "function_call_output",
      call_id: "call_id" in call ? call.call_id : "",
      output: "ok",
    }));
    const items: OpenAI.Responses.ResponseInputItem[] = JSON.parse(
      JSON.stringify([...first.output, ...outputs]),
    );
    const second = await send([...AGENT_REQUEST.input, ...items]);
    expect(second.output_text).toBe("Fixed.");
    const [sent, sentAgain] = provider.requests.map((request) => request.json() as { messages: unknown[] });
    expect(sent).toMatchObject({
      tools: [{ name: "exec_command" }, { name: "apply_patch" }, { name: "agents__spawn" }],
    });
    expect(sentAgain?.messages).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I run it first.", signature: expect.any(String) },
          { type: "tool_use", name: "exec_command" },
          { type: "tool_use", name: "apply_patch", input: { input: "*** Begin Patch" } },
          { type: "tool_use", name: "agents__spawn" },
        ],
      },
      { role: "user", content: [{ type: "tool_result" }, { type: "tool_result" }, { type: "tool_result" }] },
    ]);
  });

  test("that refers to items as the AI SDK does continues the conversation, whole and streamed", async () => {
    const client = await clientOf({ provider: "anthropic" });
    const headers = { "User-Agent": "ai/6.0.326 ai-sdk/provider-utils/4.0.65" };
    for (const stream of [false, true]) {
      provider.reset();
      provider.behave({ text: "It is Paris.", thinking: "France?" });
      const request = { model: "claude-sonnet-4-5", reasoning: { effort: "low" as const } };
      const question = { role: "user" as const, content: "Which city?" };
      const first = stream
        ? await client.responses.stream({ ...request, input: [question] }, { headers }).finalResponse()
        : await client.responses.create({ ...request, input: [question] }, { headers });
      const references = first.output.map(({ id = "" }) => ({ type: "item_reference" as const, id }));
      expect(references.length).toBe(3);
      const input = [question, ...references, { role: "user" as const, content: "Sure?" }];
      const { response } = await client.responses.create({ ...request, input }, { headers }).withResponse();
      expect(response.headers.get("x-gw-translated")).toBe("dropped=store");
      const { messages } = provider.requests[1]?.json() as { messages: unknown[] };
      expect(messages[1]).toMatchObject({
        role: "assistant",
        content: [
          { type: "thinking", thinking: "France?" },
          { type: "text", text: "It is Paris." },
        ],
      });
    }
  });

  test("learns what was dropped", async () => {
    const client = await clientOf({ provider: "anthropic" });
    const { response } = await client.responses.create(AGENT_REQUEST).withResponse();
    expect(response.headers.get("x-gw-translated")).toBe("dropped=grammar,web_search,prompt_cache_key");
  });
});

describe.each(["anthropic", "mistral"])("errors of requests to %s", (name) => {
  const REQUEST = { model: "any", input: "Hi" };

  test.each([
    ["conversation", { conversation: "conv_1" }],
    ["background", { background: true }],
    ["tools[0]", { tools: [{ type: "file_search" as const, vector_store_ids: ["vs_1"] }] }],
    ["input[0]", { input: [{ type: "item_reference" as const, id: "msg_1" }] }],
  ])("400 untranslatable, naming %s", async (param, fields) => {
    const client = await clientOf({ provider: name });
    const error: unknown = await client.responses
      .create({ ...REQUEST, ...fields })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, code: "untranslatable", param });
    expect(provider.requestCount).toBe(0);
  });

  test("400 stateless_responses for previous_response_id", async () => {
    const client = await clientOf({ provider: name });
    const request = { ...REQUEST, previous_response_id: "resp_stateless_1" };
    const error: unknown = await client.responses.create(request).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 400, code: "stateless_responses" });
    expect(provider.requestCount).toBe(0);
  });

  test("an error in a stream is a failed response, and a cut stream has no end", async () => {
    const client = await clientOf({ provider: name });
    const stream = async () => {
      const types: string[] = [];
      try {
        for await (const { type } of await client.responses.create({ ...REQUEST, stream: true }))
          types.push(type);
      } catch {
        types.push("exception");
      }
      return types;
    };
    provider.behave({ errorAfterChunks: 4, chunks: 8 });
    expect((await stream()).at(-1)).toBe("response.failed");
    provider.behave({ cutAfterChunks: 4, chunks: 8 });
    expect((await stream()).at(-1)).not.toMatch(/^response\.(completed|incomplete)$/);
  });
});

test("a chat client learns that the response of a Responses target failed", async () => {
  const client = await clientOf({ provider: "openai", format: "responses" });
  const error = { code: "server_error", message: "Out of order." };
  provider.behave({
    body: JSON.stringify({ id: "resp_1", object: "response", status: "failed", output: [], error }),
  });
  const messages = [{ role: "user" as const, content: "Hi" }];
  const thrown: unknown = await client.chat.completions
    .create({ model: "any", messages })
    .catch((each: unknown) => each);
  expect(thrown).toMatchObject({ status: 502, code: "upstream_bad_answer" });
  expect(String(thrown)).toContain("The provider could not create the response. Out of order.");
});
