// Scripted conversations: an agent that calls tools gets the same turns in every chat API.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { type Behavior, startFakeProvider } from "./server.ts";

const provider = await startFakeProvider({ name: "Ada" });
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

const openai = new OpenAI({ apiKey: "sk-good", baseURL: `${provider.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "sk-ant-good", baseURL: provider.url, maxRetries: 0 });

const TURNS: NonNullable<Behavior["turns"]> = [
  { text: "I read the file.", calls: [{ name: "read", arguments: { path: "a.txt" } }] },
  {
    calls: [
      { name: "read", arguments: { path: "b.txt" } },
      { name: "write", arguments: { path: "c.txt", text: "é\n" } },
    ],
  },
  { text: "Both are done." },
];
/** What the model did in each turn: its text, then the calls. */
const EXPECTED = [
  ["I read the file.", 'read {"path":"a.txt"}'],
  ['read {"path":"b.txt"}', 'write {"path":"c.txt","text":"é\\n"}'],
  ["Both are done."],
];

const parameters = { type: "object" as const, properties: {} };
const NAMES = ["read", "write"];

/** Sends requests until the model calls no tool; returns what it did in each turn. */
type Agent = (stream: boolean) => Promise<string[][]>;

async function chatAgent(stream: boolean): Promise<string[][]> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Go" }];
  const tools = NAMES.map((name) => ({ type: "function" as const, function: { name, parameters } }));
  const done: string[][] = [];
  for (;;) {
    const body = { model: "gpt-fake", messages, tools };
    const completion = stream
      ? await openai.chat.completions.stream(body).finalChatCompletion()
      : await openai.chat.completions.create(body);
    const { message } = completion.choices[0]!;
    const calls = (message.tool_calls ?? []).filter((call) => call.type === "function");
    done.push([
      ...(message.content === null ? [] : [message.content]),
      ...calls.map((call) => `${call.function.name} ${call.function.arguments}`),
    ]);
    messages.push(message);
    for (const { id } of calls) messages.push({ role: "tool", tool_call_id: id, content: "ok" });
    if (calls.length === 0) return done;
  }
}

async function messagesAgent(stream: boolean): Promise<string[][]> {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Go" }];
  const tools = NAMES.map((name) => ({ name, input_schema: parameters }));
  const done: string[][] = [];
  for (;;) {
    const body = { model: "claude-fake", max_tokens: 100, messages, tools };
    const { content } = stream
      ? await anthropic.messages.stream(body).finalMessage()
      : await anthropic.messages.create(body);
    done.push(
      content.map((block) =>
        block.type === "tool_use"
          ? `${block.name} ${JSON.stringify(block.input)}`
          : Reflect.get(block, "text"),
      ),
    );
    messages.push({ role: "assistant", content });
    const results = content
      .filter((block) => block.type === "tool_use")
      .map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "ok" }));
    if (results.length === 0) return done;
    messages.push({ role: "user", content: results });
  }
}

async function responsesAgent(stream: boolean): Promise<string[][]> {
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "Go" }];
  const tools = NAMES.map((name) => ({ type: "function" as const, name, parameters, strict: false }));
  const done: string[][] = [];
  for (;;) {
    const body = { model: "gpt-fake", input, tools, store: false, reasoning: { effort: "low" as const } };
    const { output } = stream
      ? await openai.responses.stream(body).finalResponse()
      : await openai.responses.create(body);
    const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    const texts = output.flatMap((item) => (item.type === "message" ? item.content : []));
    done.push([
      ...texts.map((part): string => Reflect.get(part, "text")),
      ...calls.map((call) => `${call.name} ${call.arguments}`),
    ]);
    input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
    for (const { call_id } of calls) input.push({ type: "function_call_output", call_id, output: "ok" });
    if (calls.length === 0) return done;
  }
}

interface GeminiPart {
  text?: string;
  functionCall?: { name: string; args: object };
  thoughtSignature?: string;
}

async function geminiAgent(stream: boolean): Promise<string[][]> {
  const contents: { role: string; parts: object[] }[] = [{ role: "user", parts: [{ text: "Go" }] }];
  const tools = [{ functionDeclarations: NAMES.map((name) => ({ name, parameters: { type: "OBJECT" } })) }];
  const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
  const done: string[][] = [];
  for (;;) {
    const response = await fetch(`${provider.url}/v1beta/models/gemini-fake:${method}`, {
      method: "POST",
      headers: { "x-goog-api-key": "good" },
      body: JSON.stringify({ contents, tools }),
    });
    const chunks = stream
      ? (await response.text())
          .trim()
          .split("\n\n")
          .map((event) => JSON.parse(event.replace("data: ", "")))
      : [await response.json()];
    const parts: GeminiPart[] = chunks.flatMap((chunk) => chunk.candidates[0].content.parts);
    const text = parts.map((part) => part.text ?? "").join("");
    const calls = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]));
    done.push([
      ...(text === "" ? [] : [text]),
      ...calls.map((call) => `${call.name} ${JSON.stringify(call.args)}`),
    ]);
    contents.push({ role: "model", parts });
    if (calls.length === 0) return done;
    const results = calls.map(({ name }) => ({ functionResponse: { name, response: { result: "ok" } } }));
    contents.push({ role: "user", parts: results });
  }
}

const AGENTS: [name: string, agent: Agent][] = [
  ["Chat Completions", chatAgent],
  ["Messages", messagesAgent],
  ["Responses", responsesAgent],
  ["Gemini", geminiAgent],
];

describe.each(AGENTS)("%s", (_name, agent) => {
  test.each([false, true])("an agent gets the scripted turns (stream: %p)", async (stream) => {
    provider.behave({ turns: TURNS });
    expect(await agent(stream)).toEqual(EXPECTED);
  });
});

test("a repeated request gets the same turn, and after the last turn replies are the default ones", async () => {
  provider.behave({ turns: [{ text: "first" }] });
  const ask = (...messages: OpenAI.ChatCompletionMessageParam[]) =>
    openai.chat.completions
      .create({ model: "gpt-fake", messages: [{ role: "user", content: "Hi" }, ...messages] })
      .then((completion) => completion.choices[0]!.message.content);
  expect(await ask()).toBe("first");
  expect(await ask()).toBe("first");
  const next = await ask({ role: "assistant", content: "first" }, { role: "user", content: "And then?" });
  expect(next).toBe('Hello from Ada. You said: "And then?".');
});

test("a request without tools gets no scripted call, and x-fake can carry the script", async () => {
  const headers = { "x-fake": JSON.stringify({ turns: [{ calls: [{ name: "read" }] }] }) };
  const body = { model: "claude-fake", max_tokens: 10, messages: [{ role: "user" as const, content: "Hi" }] };
  const title = await anthropic.messages.create(body, { headers });
  expect(title.content).toMatchObject([{ type: "text" }]);
  const tools = [{ name: "read", input_schema: parameters }];
  const turn = await anthropic.messages.create({ ...body, tools }, { headers });
  expect(turn.content).toMatchObject([{ type: "tool_use", name: "read", input: {} }]);
});

test("Messages has a thinking block if the request enables thinking", async () => {
  provider.behave({ turns: [{ thinking: "Hm", text: "Well" }], usage: { input: 10, output: 5, cached: 4 } });
  const body = {
    model: "claude-fake",
    max_tokens: 2000,
    messages: [{ role: "user" as const, content: "Hi" }],
    thinking: { type: "enabled" as const, budget_tokens: 1024 },
  };
  const expected = [
    { type: "thinking", thinking: "Hm", signature: expect.any(String) },
    { type: "text", text: "Well" },
  ];
  const whole = await anthropic.messages.create(body);
  expect(whole.content).toMatchObject(expected);
  expect(whole.usage).toMatchObject({ input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 5 });
  expect((await anthropic.messages.stream(body).finalMessage()).content).toMatchObject(expected);
});
