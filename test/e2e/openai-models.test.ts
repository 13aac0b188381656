// Messages clients at OpenAI's models: the provider refuses what the real one refuses, by model, so the
// gateway has to choose the endpoint, the efforts and the parameters.
import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";

const {
  gatehouse,
  clock,
  providers: [provider],
} = await startWithProviders("Ada");

const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";
const TOOL = {
  name: "get_weather",
  description: "The weather of a city",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
};
const TOOL_TURNS = {
  turns: [
    { text: "I look.", calls: [{ name: "get_weather", arguments: { city: "Paris" } }] },
    { text: "It is sunny." },
  ],
};

async function connect(fields: object, upstream: object = {}) {
  const route = await seedRoute(gatehouse, {
    gateway: { error_format: "auto" },
    upstream: { targets: [targetAt(provider, { ...fields })], max_attempts: 1, ...upstream },
    rule: { path: "/v1/*", methods: ["*"] },
  });
  const { key } = await seedKey(gatehouse, route.gateway);
  return {
    route,
    anthropic: new Anthropic({ apiKey: key, baseURL: gatehouse.proxyUrl, maxRetries: 0 }),
    openai: new OpenAI({ apiKey: key, baseURL: `${gatehouse.proxyUrl}/v1`, maxRetries: 0 }),
  };
}

type Client = Awaited<ReturnType<typeof connect>>["anthropic"];
type Params = Partial<Anthropic.MessageCreateParamsNonStreaming>;

/** Runs a conversation with one tool call. Returns the last text, and the headers of the first response. */
async function toolLoop(client: Client, model: string, params: Params = {}) {
  provider.behave(TOOL_TURNS);
  const request = { model, max_tokens: 20_000, tools: [TOOL], ...params };
  const question = { role: "user" as const, content: "The weather?" };
  const { data: first, response } = await client.messages
    .create({ ...request, messages: [question] })
    .withResponse();
  const call = first.content.find(({ type }) => type === "tool_use");
  if (call?.type !== "tool_use") throw new Error("no tool call");
  const result = { type: "tool_result" as const, tool_use_id: call.id, content: "sunny" };
  const messages = [
    question,
    { role: "assistant" as const, content: first.content },
    { role: "user" as const, content: [result] },
  ];
  const last = await client.messages.stream({ ...request, messages }).finalMessage();
  return { texts: last.content.flatMap((block) => (block.type === "text" ? block.text : [])), response };
}

const paths = ({ requests }: FakeProvider) => requests.map(({ target }) => target);
const bodies = ({ requests }: FakeProvider) =>
  requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);

describe("a messages client with tools", () => {
  test.each([
    ["gpt-4o", CHAT],
    ["gpt-4.1-mini-2025-04-14", CHAT],
    ["o3", RESPONSES],
    ["gpt-5", RESPONSES],
    ["gpt-5.2", RESPONSES],
    ["gpt-5.4", RESPONSES],
    ["gpt-5.4-2026-03-05", RESPONSES],
    ["gpt-5.4-mini", RESPONSES],
    ["openai/gpt-5.4", RESPONSES],
    ["gpt-5.5", RESPONSES],
    ["gpt-5.6", RESPONSES],
    ["gpt-5.6-terra", RESPONSES],
    ["gpt-5.3-codex", RESPONSES],
    ["gpt-5.4-pro", RESPONSES],
    ["gpt-6-astra", RESPONSES],
    ["gpt-6-luna", RESPONSES],
    // A later model.
    ["gpt-7-mini", RESPONSES],
  ])("gets responses of %s from %s", async (model, path) => {
    for (const params of [{}, { thinking: { type: "enabled" as const, budget_tokens: 9000 } }]) {
      provider.reset();
      const { anthropic } = await connect({ provider: "openai", models: [model] });
      expect((await toolLoop(anthropic, model, params)).texts).toEqual(["It is sunny."]);
      expect(paths(provider)).toEqual([path, path]);
    }
  });

  test("gets them at Azure, whatever the deployment of the model is named after it", async () => {
    const model = "gpt-5.4-mini-DataZoneStandard";
    const { anthropic } = await connect({ provider: "azure", models: [model] });
    await toolLoop(anthropic, model);
    expect(paths(provider)).toEqual(["/openai/v1/responses", "/openai/v1/responses"]);
  });

  test("gets them if the model is the default of the target, or that of a virtual model", async () => {
    const fields = { provider: "openai", models: ["gpt-5.4", "gpt-5.6-sol"], default_model: "gpt-5.4" };
    const { anthropic, route } = await connect(fields, { model_routing: "prefer" });
    const service = `/gateways/${route.gateway}/services/${route.service}`;
    await gatehouse.api("PATCH", service, { virtual_models: "any" });
    await create(gatehouse, `/gateways/${route.gateway}/models`, {
      name: "claude-best",
      targets: [{ upstream: route.upstream, model: "gpt-5.6-sol" }],
    });
    expect((await toolLoop(anthropic, "claude-opus-5")).texts).toEqual(["It is sunny."]);
    expect((await toolLoop(anthropic, "claude-best")).texts).toEqual(["It is sunny."]);
    expect(paths(provider)).toEqual(new Array(4).fill(RESPONSES));
    expect(bodies(provider).map(({ model }) => model)).toEqual([
      "gpt-5.4",
      "gpt-5.4",
      "gpt-5.6-sol",
      "gpt-5.6-sol",
    ]);
  });

  test("gets them without reasoning, which is listed, if the target has chat completions only", async () => {
    const { anthropic } = await connect({ provider: "openai", format: "openai", models: ["gpt-5.4"] });
    const thinking = { type: "enabled" as const, budget_tokens: 9000 };
    const { texts, response } = await toolLoop(anthropic, "gpt-5.4", { thinking });
    expect(texts).toEqual(["It is sunny."]);
    expect(response.headers.get("x-gw-translated")).toBe("dropped=reasoning_effort");
    expect(bodies(provider)[0]).toMatchObject({ reasoning_effort: "none" });
    expect(paths(provider)).toEqual([CHAT, CHAT]);
  });
});

test("a chat client's request to such a model is sent as it is, and the error of the provider returned", async () => {
  const { openai } = await connect({ provider: "openai", models: ["gpt-5.6"] });
  const { name, description, input_schema: parameters } = TOOL;
  const request = openai.chat.completions.create({
    model: "gpt-5.6",
    messages: [{ role: "user", content: "The weather?" }],
    tools: [{ type: "function", function: { name, description, parameters } }],
  });
  const error: unknown = await request.catch((cause: unknown) => cause);
  expect(String(error)).toContain("use /v1/responses or set reasoning_effort to 'none'");
  expect(paths(provider)).toEqual([CHAT]);
});

describe("parameters that the model refuses are left out and listed", () => {
  test.each([
    ["gpt-4o", { temperature: 0.5, top_p: 0.9 }, null],
    ["gpt-5.1", { temperature: 0.5 }, null],
    ["gpt-5.5", { temperature: 0.5, top_p: 0.9 }, "dropped=temperature,top_p"],
    ["gpt-6-astra", { temperature: 0.5 }, "dropped=temperature"],
    ["o3", { temperature: 1 }, null],
    ["gpt-5.4", { max_tokens: 1 }, "dropped=max_tokens"],
  ])("%s with %p", async (model, params, listed) => {
    provider.behave({ text: "Good day." });
    const { anthropic } = await connect({ provider: "openai", models: [model] });
    const request = {
      model,
      max_tokens: 100,
      messages: [{ role: "user" as const, content: "Hi" }],
      ...params,
    };
    const { data, response } = await anthropic.messages.create(request).withResponse();
    expect(data.content).toMatchObject([{ type: "text", text: "Good day." }]);
    expect(response.headers.get("x-gw-translated")).toBe(listed);
  });
});

describe("a messages client that asks for thinking", () => {
  const thinking = { type: "enabled" as const, budget_tokens: 9000 };
  const ask = (client: Client, model: string, params: Params = {}) =>
    client.messages
      .create({ model, max_tokens: 10_000, messages: [{ role: "user", content: "Hi" }], thinking, ...params })
      .withResponse();

  test("sees a summary of the reasoning of a model at the Responses API, whole and streamed", async () => {
    provider.behave({ text: "Good day.", thinking: "The user greets." });
    const { anthropic } = await connect({ provider: "openai", models: ["gpt-5.6"] });
    const { data } = await ask(anthropic, "gpt-5.6");
    expect(data.content).toMatchObject([
      { type: "thinking", thinking: "The user greets." },
      { type: "redacted_thinking", data: expect.stringMatching(/^gw1\./) },
      { type: "text", text: "Good day." },
    ]);
    const messages = [{ role: "user" as const, content: "Hi" }];
    const stream = anthropic.messages.stream({ model: "gpt-5.6", max_tokens: 10_000, messages, thinking });
    const texts: string[] = [];
    stream.on("thinking", (text) => texts.push(text));
    await stream.finalMessage();
    expect(texts.join("")).toBe("The user greets.");
    expect(bodies(provider).map(({ reasoning }) => reasoning)).toEqual(
      new Array(2).fill({ effort: "medium", summary: "auto" }),
    );
  });

  test.each([
    ["gemini-2.5-flash", { thinkingBudget: 9000, includeThoughts: true }, null],
    ["gemini-3.1-pro", { thinkingLevel: "medium", includeThoughts: true }, null],
  ])("has its budget kept at %s, or mapped to the nearest level", async (model, config, listed) => {
    provider.behave({ text: "Good day.", thinking: "The user greets." });
    const { anthropic } = await connect({ provider: "google", format: "gemini", models: [model] });
    const { data, response } = await ask(anthropic, model);
    expect(data.content[0]).toMatchObject({ type: "thinking", thinking: "The user greets." });
    expect(response.headers.get("x-gw-translated")).toBe(listed);
    expect(bodies(provider)[0]).toMatchObject({ generationConfig: { thinkingConfig: config } });
  });

  test("sees none if it wants none", async () => {
    provider.behave({ text: "Good day." });
    const { anthropic } = await connect({ provider: "openai", models: ["gpt-5.6"] });
    await ask(anthropic, "gpt-5.6", { thinking: { type: "disabled" } });
    await ask(anthropic, "gpt-5.6", { thinking: { type: "adaptive", display: "omitted" } });
    expect(bodies(provider).map(({ reasoning }) => reasoning)).toEqual([
      { effort: "none" },
      { effort: "medium" },
    ]);
  });

  test("gets a response without summary from an account that may not request one, remembered for an hour", async () => {
    provider.behave({ text: "Good day.", unverified: true });
    const { anthropic } = await connect({ provider: "openai", models: ["gpt-5.6"] });
    const minute = 60_000;
    for (const [elapsed, sent] of [
      [0, 2],
      [59 * minute, 3],
      [minute, 5],
    ] as const) {
      clock.advance(elapsed);
      const { data, response } = await ask(anthropic, "gpt-5.6");
      expect(data.content.at(-1)).toMatchObject({ type: "text", text: "Good day." });
      expect(response.headers.get("x-gw-translated")).toBe("dropped=reasoning.summary");
      expect(response.headers.get("x-gw-attempts")).toBe("1");
      expect(provider.requestCount).toBe(sent);
    }
    expect(bodies(provider).map(({ reasoning }) => reasoning)).toEqual([
      { effort: "medium", summary: "auto" },
      { effort: "medium" },
      { effort: "medium" },
      { effort: "medium", summary: "auto" },
      { effort: "medium" },
    ]);
  });

  test("gets the error of the provider if that does not name the summary", async () => {
    provider.behave({ status: 400 });
    const { anthropic } = await connect({ provider: "openai", models: ["gpt-5.6"] });
    const error: unknown = await ask(anthropic, "gpt-5.6").catch((cause: unknown) => cause);
    expect(error).toMatchObject({ status: 400 });
    expect(provider.requestCount).toBe(1);
  });
});
