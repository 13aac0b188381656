// Formats: which requests and responses are translated, and which are relayed unchanged.
import { describe, expect, test } from "bun:test";
import type { Behavior, HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import {
  CHAT,
  onlyRequest,
  rawJson,
  seedRoute,
  targetAt,
  type RawResponse,
} from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouse();
const upstream = { targets: [targetAt(provider, { provider: "anthropic" })], max_attempts: 1 };
// Paths of rules to an anthropic target. Their responses are translated to OpenAI chat, the format of the requests.
const plain = (await seedRoute(gatehouse, { upstream })).path;
const translated = (await seedRoute(gatehouse, { upstream, rule: { response_format: "openai" } })).path;

const post = (path: string, body: unknown, headers: readonly HeaderPair[] = []) =>
  rawJson(gatehouse.proxyUrl, path, body, headers);

/** Returns the chunks of an OpenAI stream, and whether the stream ended with [DONE]. */
function chunksOf(response: RawResponse): { chunks: Record<string, unknown>[]; done: boolean } {
  const events = response.body
    .toString()
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => event.replace(/^data: /, ""));
  const done = events.at(-1) === "[DONE]";
  return { chunks: (done ? events.slice(0, -1) : events).map((event) => JSON.parse(event)), done };
}

const SYSTEM_CHAT = {
  model: "claude-fake",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Good morning" },
  ],
};

describe("an OpenAI chat request to an anthropic target is translated", () => {
  test("system messages, max_tokens, and stop", async () => {
    const response = await post(plain, { ...SYSTEM_CHAT, max_completion_tokens: 77, stop: ["END"] });
    expect(response.status).toBe(200);
    const request = onlyRequest(provider);
    expect(request.target).toBe("/v1/messages");
    const body = request.json() as Record<string, unknown>;
    expect(JSON.stringify(body["system"])).toContain("Be brief.");
    expect(body).toMatchObject({ model: "claude-fake", max_tokens: 77, stop_sequences: ["END"] });
    expect((body["messages"] as { role: string }[]).map(({ role }) => role)).toEqual(["user"]);
    expect(body).not.toHaveProperty("stop");
    expect(body).not.toHaveProperty("max_completion_tokens");
  });

  test("max_tokens is added if absent, because Anthropic requires it", async () => {
    expect((await post(plain, CHAT)).status).toBe(200);
    expect((onlyRequest(provider).json() as { max_tokens: number }).max_tokens).toBeGreaterThan(0);
  });

  test("tools and tool results", async () => {
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    const response = await post(plain, {
      model: "claude-fake",
      tools: [
        { type: "function", function: { name: "weather", description: "Returns the weather", parameters } },
      ],
      tool_choice: "required",
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Ulm"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "21 degrees" },
      ],
    });
    expect(response.status).toBe(200);
    const body = onlyRequest(provider).json() as { tools: unknown[]; messages: { content: unknown }[] };
    expect(body.tools).toMatchObject([
      { name: "weather", description: "Returns the weather", input_schema: parameters },
    ]);
    expect(body).toMatchObject({ tool_choice: { type: "any" } });
    expect(body.messages[1]).toMatchObject({
      role: "assistant",
      content: [{ type: "tool_use", id: "call_1", name: "weather", input: { city: "Ulm" } }],
    });
    expect(JSON.stringify(body.messages[2])).toContain('"type":"tool_result","tool_use_id":"call_1"');
  });

  test("images", async () => {
    const url = "data:image/png;base64,iVBORw0KGgo=";
    const content = [
      { type: "text", text: "What is it?" },
      { type: "image_url", image_url: { url } },
    ];
    expect((await post(plain, { model: "claude-fake", messages: [{ role: "user", content }] })).status).toBe(
      200,
    );
    expect(JSON.stringify(onlyRequest(provider).json())).toContain(
      JSON.stringify({ type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" }),
    );
  });

  test("stream_options is omitted, because Anthropic does not have it", async () => {
    const response = await post(plain, {
      ...SYSTEM_CHAT,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(response.status).toBe(200);
    expect(onlyRequest(provider).json()).toMatchObject({ stream: true });
    expect(onlyRequest(provider).json()).not.toHaveProperty("stream_options");
  });

  test("the target's default_model replaces a model that the target does not serve", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(provider, { provider: "anthropic", default_model: "claude-d", models: ["x"] })],
        model_routing: "prefer",
      },
    });
    await post(path, SYSTEM_CHAT);
    expect(onlyRequest(provider).json()).toMatchObject({ model: "claude-d" });
  });

  test("a request that cannot be translated is 400 and is not sent", async () => {
    const content = [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }];
    const response = await post(plain, { model: "claude-fake", messages: [{ role: "user", content }] });
    expect({ status: response.status, code: response.json().code }).toEqual({
      status: 400,
      code: "untranslatable",
    });
    expect(provider.requestCount).toBe(0);
  });
});

describe("a request in the target's format is forwarded unchanged", () => {
  test.each([
    '{ "model":"claude-fake","max_tokens" : 10, "system":"Be brief.","messages":[{"role":"user","content":"Hi"}],"n1":12345678901234567890 }',
    '{"max_tokens":10,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.test/i.png"}}]}],"model":"m"}',
    '{"max_tokens":10,"messages":[{"role":"user","content":"Hi"}],"model":"m","stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":5}}',
    '{"max_tokens":10,"messages":[{"role":"user","content":"Hi"}],"model":"m","tools":[{"name":"t","input_schema":{"type":"object"}}]}',
  ])("Anthropic messages to an anthropic target: %#", async (body) => {
    const response = await post(plain, body);
    expect(response.status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });

  test("OpenAI chat to an openai target", async () => {
    const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const body = JSON.stringify(SYSTEM_CHAT, null, 3);
    await post(path, body);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
    expect(onlyRequest(provider).header("anthropic-version")).toBeUndefined();
  });

  test("a request that is not a chat to an anthropic target", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic", path: "/v1/other" })] },
    });
    const body = '{ "prompt" : "Hi" }';
    await post(path, body);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });
});

describe("a target with an empty path gets requests to other endpoints unchanged", () => {
  const other = async (rule: Record<string, unknown> = {}) =>
    seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic", path: "" })], max_attempts: 1 },
      rule: { path: `/any-${crypto.randomUUID()}/*`, methods: ["GET", "POST"], strip_path: true, ...rule },
    });

  test.each(["/v1/messages/count_tokens", "/v1/messages/batches", "/v1/chat/completions"])(
    "%s is not translated",
    async (end) => {
      const { path } = await other();
      const body = JSON.stringify({ ...CHAT, temperature: 0.5 });
      await post(path.replace("/*", end), JSON.parse(body));
      expect(onlyRequest(provider).target).toBe(end);
      expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
    },
  );

  test("the chat endpoint of the target's format is translated", async () => {
    const { path } = await other();
    expect((await post(path.replace("/*", "/v1/messages"), SYSTEM_CHAT)).status).toBe(200);
    expect(onlyRequest(provider).json()).toHaveProperty("system");
  });

  test("response_format translates no response but that to a chat", async () => {
    const { path } = await other({ response_format: "openai" });
    const fake = JSON.stringify({
      body: '{"input_tokens":7}',
      headers: [["content-type", "application/json"]],
    });
    const counted = await post(path.replace("/*", "/v1/messages/count_tokens"), CHAT, [["x-fake", fake]]);
    expect([counted.status, counted.body.toString()]).toEqual([200, '{"input_tokens":7}']);
    const models = await fetch(gatehouse.proxyUrl + path.replace("/*", "/v1/models"), {
      headers: { "x-fake": JSON.stringify({ body: '{"data":[]}' }) },
    });
    expect([models.status, await models.text()]).toEqual([200, '{"data":[]}']);
    const chat = await post(path.replace("/*", "/v1/messages"), SYSTEM_CHAT);
    expect(chat.json()).toMatchObject({ object: "chat.completion" });
  });
});

describe("anthropic-version", () => {
  test("is added when absent", async () => {
    await post(plain, SYSTEM_CHAT);
    expect(onlyRequest(provider).header("anthropic-version")).toBe("2023-06-01");
  });

  test("the client's value is kept, and the target's headers override it", async () => {
    await post(plain, SYSTEM_CHAT, [["Anthropic-Version", "2099-01-01"]]);
    expect(onlyRequest(provider).header("anthropic-version")).toBe("2099-01-01");
    provider.reset();
    const headers = { "Anthropic-Version": "2098-01-01" };
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic", headers })] },
    });
    await post(path, SYSTEM_CHAT, [["anthropic-version", "2099-01-01"]]);
    expect(onlyRequest(provider).header("anthropic-version")).toBe("2098-01-01");
  });
});

describe("without response_format a target with a path relays the provider's response unchanged", () => {
  test("response, error, and stream of an anthropic target, also if the request was translated", async () => {
    const target = targetAt(provider, { provider: "anthropic", path: "/v1/messages" });
    const { path: plain } = await seedRoute(gatehouse, { upstream: { targets: [target], max_attempts: 1 } });
    const response = await post(plain, SYSTEM_CHAT);
    expect(response.json()).toMatchObject({ type: "message", role: "assistant", usage: { input_tokens: 4 } });
    provider.behave({ status: 529 });
    const error = await post(plain, SYSTEM_CHAT);
    expect(error.status).toBe(529);
    expect(error.json()).toMatchObject({ type: "error", error: { type: "overloaded_error" } });
    provider.behave({});
    const stream = await post(plain, { ...SYSTEM_CHAT, stream: true });
    expect(stream.body.toString()).toStartWith("event: message_start\n");
    expect(stream.body.toString()).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  });
});

describe('a rule with response_format "openai" translates to OpenAI chat', () => {
  const behave = (behaviour: Behavior) => provider.behave(behaviour);

  test("a response, usage included", async () => {
    behave({ usage: { input: 11, output: 22 }, text: "Good day" });
    const response = await post(translated, SYSTEM_CHAT);
    expect(response.status).toBe(200);
    expect(response.header("content-type")).toStartWith("application/json");
    expect(response.json()).toMatchObject({
      object: "chat.completion",
      model: "claude-fake",
      choices: [{ index: 0, message: { role: "assistant", content: "Good day" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
    });
    expect(response.header("content-length")).toBe(String(response.body.length));
    expect(response.header("x-gw-provider")).toBe("anthropic");
    expect(response.header("x-gw-model")).toBe("claude-fake");
  });

  test("a response to a request that was in Anthropic's format", async () => {
    const body = { model: "m", max_tokens: 5, system: "Be brief.", messages: CHAT.messages };
    expect((await post(translated, body)).json()).toMatchObject({ object: "chat.completion" });
  });

  test("a compressed response, whatever the client accepts", async () => {
    behave({ gzip: true });
    const response = await post(translated, SYSTEM_CHAT, [["Accept-Encoding", "gzip"]]);
    expect(response.json()).toMatchObject({ object: "chat.completion" });
    expect(response.header("content-encoding")).toBeUndefined();
  });

  test("a response in several chunks", async () => {
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-fake",
      content: [{ type: "text", text: "In pieces" }],
      stop_reason: "max_tokens",
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 2 },
    };
    const text = JSON.stringify(message);
    behave({ body: [text.slice(0, 20), text.slice(20)] });
    expect((await post(translated, SYSTEM_CHAT)).json()).toMatchObject({
      choices: [{ message: { content: "In pieces" }, finish_reason: "length" }],
    });
  });

  test.each([400, 401, 403, 404, 413, 429, 500, 529])("an error: %d", async (status) => {
    behave({ status });
    const response = await post(translated, SYSTEM_CHAT);
    expect(response.status).toBe(status);
    const { error } = response.json();
    expect(error).toMatchObject({ message: expect.stringMatching(/\S/), type: expect.stringMatching(/\S/) });
    expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
    expect(response.json()).not.toHaveProperty("type");
  });

  test("an error that is not JSON", async () => {
    behave({ status: 502, body: "<html>Bad gateway</html>", headers: [["Content-Type", "text/html"]] });
    const response = await post(translated, SYSTEM_CHAT);
    expect(response.status).toBe(502);
    expect(response.json().error.message).toBeString();
    expect(response.header("content-type")).toStartWith("application/json");
  });

  test("the provider's other headers are relayed: Retry-After with a 429", async () => {
    behave({ rateLimited: { retryAfter: 7 } });
    const response = await post(translated, SYSTEM_CHAT);
    expect(response.status).toBe(429);
    expect(response.header("retry-after")).toBe("7");
  });

  test("a stream with usage if the client requests it", async () => {
    behave({ text: "One two three", usage: { input: 11, output: 22 } });
    const body = { ...SYSTEM_CHAT, stream: true, stream_options: { include_usage: true } };
    const response = await post(translated, body);
    expect(response.header("content-type")).toStartWith("text/event-stream");
    expect(response.header("x-accel-buffering")).toBe("no");
    const { chunks, done } = chunksOf(response);
    expect(done).toBe(true);
    expect(new Set(chunks.map((chunk) => chunk["object"]))).toEqual(new Set(["chat.completion.chunk"]));
    const choices = chunks.flatMap((chunk) => chunk["choices"] as { delta: { content?: string } }[]);
    expect(choices.map(({ delta }) => delta.content ?? "").join("")).toBe("One two three");
    expect(choices.at(-1)).toMatchObject({ finish_reason: "stop" });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
    });
  });

  test("a stream without usage if the client does not request it", async () => {
    const { chunks, done } = chunksOf(await post(translated, { ...SYSTEM_CHAT, stream: true }));
    expect(done).toBe(true);
    expect(chunks.filter((chunk) => (chunk["usage"] ?? null) !== null)).toEqual([]);
  });

  test("a compressed stream", async () => {
    behave({ gzip: true });
    const response = await post(translated, { ...SYSTEM_CHAT, stream: true }, [["Accept-Encoding", "gzip"]]);
    expect(response.header("content-encoding")).toBeUndefined();
    expect(chunksOf(response).done).toBe(true);
  });

  test("an error in the middle of a stream", async () => {
    behave({ errorAfterChunks: 4 });
    const response = await post(translated, { ...SYSTEM_CHAT, stream: true });
    const { chunks, done } = chunksOf(response);
    expect(done).toBe(false);
    expect(chunks.at(-1)).toMatchObject({ error: { message: "Overloaded" } });
  });

  test("an error instead of a stream", async () => {
    behave({ status: 401 });
    const response = await post(translated, { ...SYSTEM_CHAT, stream: true });
    expect(response.status).toBe(401);
    expect(response.header("content-type")).toStartWith("application/json");
    expect(response.json()).toMatchObject({ error: { message: "invalid x-api-key" } });
  });

  test("no response of an openai target, which is relayed byte for byte", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider)] },
      rule: { response_format: "openai" },
    });
    behave({ body: '{ "odd" : 1.0 }' });
    expect((await post(path, SYSTEM_CHAT)).body.toString()).toBe('{ "odd" : 1.0 }');
  });
});

describe("failover between formats", () => {
  test.each([
    ["anthropic", "openai"],
    ["openai", "anthropic"],
  ])("from %s to %s: each target gets the request in its format", async (failing, serving) => {
    const other = await startFakeProvider({ name: "Bob" });
    other.behave({ status: 503 });
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [
          targetAt(other, { provider: failing }),
          targetAt(provider, { provider: serving, priority: 2 }),
        ],
      },
      rule: { response_format: "openai" },
    });
    const body = JSON.stringify(SYSTEM_CHAT, null, 2);
    const response = await post(path, body);
    expect(response.json()).toMatchObject({ object: "chat.completion", model: "claude-fake" });
    expect(response.header("x-gw-provider")).toBe(serving);
    for (const [name, fake] of [
      [failing, other],
      [serving, provider],
    ] as const) {
      const request = onlyRequest(fake);
      const isAnthropic = name === "anthropic";
      expect(request.target).toBe(isAnthropic ? "/v1/messages" : "/v1/chat/completions");
      if (isAnthropic) expect(request.json()).toMatchObject({ system: expect.anything() });
      else expect(Buffer.from(request.body).toString()).toBe(body);
    }
    await other.stop();
  });

  test("a request that one target's format cannot express goes to a target whose format can", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [
          targetAt(provider, { provider: "anthropic" }),
          targetAt(provider, { provider: "openai", priority: 2 }),
        ],
      },
    });
    const content = [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }];
    const response = await post(path, { model: "m", messages: [{ role: "user", content }] });
    expect(response.status).toBe(200);
    expect(onlyRequest(provider).target).toBe("/v1/chat/completions");
  });
});
