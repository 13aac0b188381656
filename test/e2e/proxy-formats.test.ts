// Section 5 of the contract, formats and providers: what is translated, what is not, and where no request ever goes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Behavior, HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { expectFaultsAt } from "../support/admin-fixtures.ts";
import {
  LAUNCHER,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  waitFor,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";
import {
  CHAT,
  onlyRequest,
  rawCall,
  rawJson,
  seedRoute,
  targetAt,
  type RawAnswer,
} from "../support/proxy-fixtures.ts";

let provider: FakeProvider;
let gatehouse: GatehouseProcess;
/** To an anthropic target: the answer as it comes, and in OpenAI's chat shape. */
let plain: string;
let translated: string;

beforeAll(async () => {
  provider = await startFakeProvider({ name: "Ada" });
  gatehouse = await startGatehouseProcess();
  const upstream = { targets: [targetAt(provider, { provider: "anthropic" })], max_attempts: 1 };
  plain = (await seedRoute(gatehouse, { upstream })).path;
  translated = (await seedRoute(gatehouse, { upstream, rule: { response_format: "openai" } })).path;
});
afterAll(async () => {
  await Promise.all([gatehouse.stop(), provider.stop()]);
});
beforeEach(() => provider.reset());

const post = (path: string, body: unknown, headers: readonly HeaderPair[] = []) =>
  rawJson(gatehouse.proxyUrl, path, body, headers);

/** The events of a stream in OpenAI's shape, and whether it ended as it should. */
function chunksOf(answer: RawAnswer): { chunks: Record<string, unknown>[]; done: boolean } {
  const events = answer.body
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

describe("a chat-style body for an anthropic target is translated", () => {
  test("system messages, max_tokens, stop", async () => {
    const answer = await post(plain, { ...SYSTEM_CHAT, max_completion_tokens: 77, stop: ["END"] });
    expect(answer.status).toBe(200);
    const request = onlyRequest(provider);
    expect(request.target).toBe("/v1/messages");
    const body = request.json() as Record<string, unknown>;
    expect(JSON.stringify(body["system"])).toContain("Be brief.");
    expect(body).toMatchObject({ model: "claude-fake", max_tokens: 77, stop_sequences: ["END"] });
    expect((body["messages"] as { role: string }[]).map(({ role }) => role)).toEqual(["user"]);
    expect(body).not.toHaveProperty("stop");
    expect(body).not.toHaveProperty("max_completion_tokens");
  });

  test("max_tokens is put in where the chat has none: Anthropic asks for it", async () => {
    expect((await post(plain, CHAT)).status).toBe(200);
    expect((onlyRequest(provider).json() as { max_tokens: number }).max_tokens).toBeGreaterThan(0);
  });

  test("tools and tool results", async () => {
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    const answer = await post(plain, {
      model: "claude-fake",
      tools: [{ type: "function", function: { name: "weather", description: "Tells it", parameters } }],
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
    expect(answer.status).toBe(200);
    const body = onlyRequest(provider).json() as { tools: unknown[]; messages: { content: unknown }[] };
    expect(body.tools).toMatchObject([
      { name: "weather", description: "Tells it", input_schema: parameters },
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

  test("stream_options, which Anthropic does not know, is left out", async () => {
    const answer = await post(plain, {
      ...SYSTEM_CHAT,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(answer.status).toBe(200);
    expect(onlyRequest(provider).json()).toMatchObject({ stream: true });
    expect(onlyRequest(provider).json()).not.toHaveProperty("stream_options");
  });

  test("with the target's default_model where it must be", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(provider, { provider: "anthropic", default_model: "claude-d", models: ["x"] })],
      },
    });
    await post(path, SYSTEM_CHAT);
    expect(onlyRequest(provider).json()).toMatchObject({ model: "claude-d" });
  });

  test("what cannot be translated is 400, and goes nowhere", async () => {
    const content = [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }];
    const answer = await post(plain, { model: "claude-fake", messages: [{ role: "user", content }] });
    expect({ status: answer.status, code: answer.json().code }).toEqual({
      status: 400,
      code: "untranslatable",
    });
    expect(provider.requestCount).toBe(0);
  });
});

describe("a body already in the target's format is untouched", () => {
  test.each([
    '{ "model":"claude-fake","max_tokens" : 10, "system":"Be brief.","messages":[{"role":"user","content":"Hi"}],"n1":12345678901234567890 }',
    '{"max_tokens":10,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.test/i.png"}}]}],"model":"m"}',
    '{"max_tokens":10,"messages":[{"role":"user","content":"Hi"}],"model":"m","stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":5}}',
    '{"max_tokens":10,"messages":[{"role":"user","content":"Hi"}],"model":"m","tools":[{"name":"t","input_schema":{"type":"object"}}]}',
  ])("Anthropic's, for an anthropic target: %#", async (body) => {
    const answer = await post(plain, body);
    expect(answer.status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });

  test("a chat, for an openai target", async () => {
    const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    const body = JSON.stringify(SYSTEM_CHAT, null, 3);
    await post(path, body);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
    expect(onlyRequest(provider).header("anthropic-version")).toBeUndefined();
  });

  test("what is no chat at all, for an anthropic target", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "anthropic", path: "/v1/other" })] },
    });
    const body = '{ "prompt" : "Hi" }';
    await post(path, body);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });
});

describe("anthropic-version", () => {
  test("is added when absent", async () => {
    await post(plain, SYSTEM_CHAT);
    expect(onlyRequest(provider).header("anthropic-version")).toBe("2023-06-01");
  });

  test("is the client's own when it sends one, and the target's before that", async () => {
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

describe("the response is the provider's own", () => {
  test("answer, error and stream of an anthropic target, though the request was translated", async () => {
    const answer = await post(plain, SYSTEM_CHAT);
    expect(answer.json()).toMatchObject({ type: "message", role: "assistant", usage: { input_tokens: 4 } });
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

describe('a rule with response_format: "openai" turns into the OpenAI chat shape', () => {
  const behave = (behaviour: Behavior) => provider.behave(behaviour);

  test("every answer, usage included", async () => {
    behave({ usage: { input: 11, output: 22 }, text: "Good day" });
    const answer = await post(translated, SYSTEM_CHAT);
    expect(answer.status).toBe(200);
    expect(answer.header("content-type")).toStartWith("application/json");
    expect(answer.json()).toMatchObject({
      object: "chat.completion",
      model: "claude-fake",
      choices: [{ index: 0, message: { role: "assistant", content: "Good day" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 11, completion_tokens: 22, total_tokens: 33 },
    });
    expect(answer.header("content-length")).toBe(String(answer.body.length));
    expect(answer.header("x-gw-provider")).toBe("anthropic");
    expect(answer.header("x-gw-model")).toBe("claude-fake");
  });

  test("an answer to a body that was in Anthropic's format already", async () => {
    const body = { model: "m", max_tokens: 5, system: "Be brief.", messages: CHAT.messages };
    expect((await post(translated, body)).json()).toMatchObject({ object: "chat.completion" });
  });

  test("an answer that is compressed, whatever the client accepts", async () => {
    behave({ gzip: true });
    const answer = await post(translated, SYSTEM_CHAT, [["Accept-Encoding", "gzip"]]);
    expect(answer.json()).toMatchObject({ object: "chat.completion" });
    expect(answer.header("content-encoding")).toBeUndefined();
  });

  test("an answer that comes in chunks", async () => {
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

  test.each([400, 401, 403, 404, 413, 429, 500, 529])("every error: %d", async (status) => {
    behave({ status });
    const answer = await post(translated, SYSTEM_CHAT);
    expect(answer.status).toBe(status);
    const { error } = answer.json();
    expect(error).toMatchObject({ message: expect.stringMatching(/\S/), type: expect.stringMatching(/\S/) });
    expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
    expect(answer.json()).not.toHaveProperty("type");
  });

  test("an error that is not even JSON, as JSON that says so", async () => {
    behave({ status: 502, body: "<html>Bad gateway</html>", headers: [["Content-Type", "text/html"]] });
    const answer = await post(translated, SYSTEM_CHAT);
    expect(answer.status).toBe(502);
    expect(answer.json().error.message).toBeString();
    expect(answer.header("content-type")).toStartWith("application/json");
  });

  test("the provider's other headers stay: Retry-After with a 429", async () => {
    behave({ rateLimited: { retryAfter: 7 } });
    const answer = await post(translated, SYSTEM_CHAT);
    expect(answer.status).toBe(429);
    expect(answer.header("retry-after")).toBe("7");
  });

  test("every stream, with usage when it is asked for", async () => {
    behave({ text: "One two three", usage: { input: 11, output: 22 } });
    const body = { ...SYSTEM_CHAT, stream: true, stream_options: { include_usage: true } };
    const answer = await post(translated, body);
    expect(answer.header("content-type")).toStartWith("text/event-stream");
    expect(answer.header("x-accel-buffering")).toBe("no");
    const { chunks, done } = chunksOf(answer);
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

  test("every stream, without usage when it is not asked for", async () => {
    const { chunks, done } = chunksOf(await post(translated, { ...SYSTEM_CHAT, stream: true }));
    expect(done).toBe(true);
    expect(chunks.filter((chunk) => (chunk["usage"] ?? null) !== null)).toEqual([]);
  });

  test("a stream that is compressed", async () => {
    behave({ gzip: true });
    const answer = await post(translated, { ...SYSTEM_CHAT, stream: true }, [["Accept-Encoding", "gzip"]]);
    expect(answer.header("content-encoding")).toBeUndefined();
    expect(chunksOf(answer).done).toBe(true);
  });

  test("an error in the middle of a stream", async () => {
    behave({ errorAfterChunks: 4 });
    const answer = await post(translated, { ...SYSTEM_CHAT, stream: true });
    const { chunks, done } = chunksOf(answer);
    expect(done).toBe(false);
    expect(chunks.at(-1)).toMatchObject({ error: { message: "Overloaded" } });
  });

  test("an error instead of a stream", async () => {
    behave({ status: 401 });
    const answer = await post(translated, { ...SYSTEM_CHAT, stream: true });
    expect(answer.status).toBe(401);
    expect(answer.header("content-type")).toStartWith("application/json");
    expect(answer.json()).toMatchObject({ error: { message: "invalid x-api-key" } });
  });

  test("nothing of an openai target: that passes byte for byte", async () => {
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
  ])("from %s to %s: each target gets the body in its own format", async (failing, serving) => {
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
    const answer = await post(path, body);
    expect(answer.json()).toMatchObject({ object: "chat.completion", model: "claude-fake" });
    expect(answer.header("x-gw-provider")).toBe(serving);
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

  test("what one target's format cannot say goes to a target whose format can", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [
          targetAt(provider, { provider: "anthropic" }),
          targetAt(provider, { provider: "openai", priority: 2 }),
        ],
      },
    });
    const content = [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }];
    const answer = await post(path, { model: "m", messages: [{ role: "user", content }] });
    expect(answer.status).toBe(200);
    expect(onlyRequest(provider).target).toBe("/v1/chat/completions");
  });
});

describe("providers", () => {
  const createUpstream = async (target: Record<string, unknown>) => {
    const { gateway } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    return gatehouse.api("POST", `/gateways/${gateway}/upstreams`, { name: "u", targets: [target] });
  };

  test("known by name", async () => {
    const { body } = await gatehouse.api("GET", "/providers");
    const known = (body.providers as { name: string }[]).map(({ name }) => name).sort();
    expect(known).toEqual(
      (
        "openai anthropic azure google mistral groq deepseek openrouter together fireworks xai cohere " +
        "perplexity bedrock ollama vllm"
      )
        .split(" ")
        .sort(),
    );
  });

  test.each([
    "openai",
    "anthropic",
    "google",
    "mistral",
    "groq",
    "deepseek",
    "openrouter",
    "together",
    "fireworks",
  ])("%s needs no base_url", async (name) => {
    expect((await createUpstream({ provider: name })).status).toBe(201);
  });

  test.each(["azure", "bedrock", "ollama", "vllm", "some-other"])("%s asks for base_url", async (name) => {
    expectFaultsAt(await createUpstream({ provider: name }), "targets[0].base_url");
    expect((await createUpstream({ provider: name, base_url: "https://x.example.com" })).status).toBe(201);
  });

  test("each is asked at its own chat endpoint, below the base_url where one is given", async () => {
    const { body } = await gatehouse.api("GET", "/providers");
    const known = body.providers as { name: string; default_path: string }[];
    for (const { name, default_path } of known) {
      const { path } = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { provider: name, base_url: `${provider.url}/below` })] },
      });
      provider.reset();
      const answer = await post(path, CHAT);
      expect([name, answer.header("x-gw-provider")]).toEqual([name, name]);
      expect([name, onlyRequest(provider).target]).toEqual([name, `/below${default_path}`]);
    }
  });

  test("any other name is accepted with a base_url and taken as openai format", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(provider, { provider: "my-models" })] },
    });
    const body = JSON.stringify(SYSTEM_CHAT, null, 1);
    const answer = await post(path, body);
    expect(answer.json()).toMatchObject({ object: "chat.completion" });
    expect(answer.header("x-gw-provider")).toBe("my-models");
    expect(onlyRequest(provider).target).toBe("/v1/chat/completions");
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });

  test("unless format says otherwise: then it is translated", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(provider, { provider: "my-claude", format: "anthropic", path: "/v1/messages" })],
      },
    });
    expect((await post(path, SYSTEM_CHAT)).json()).toMatchObject({ type: "message" });
    expect(onlyRequest(provider).json()).toHaveProperty("system");
    expect(onlyRequest(provider).header("anthropic-version")).toBe("2023-06-01");
  });

  test.each([
    ["my-claude", "anthropic", "/v1/messages"],
    ["anthropic", "openai", "/v1/chat/completions"],
  ])(
    "absent, the path is the chat endpoint of the target's format: %s as %s",
    async (name, format, expected) => {
      const { path } = await seedRoute(gatehouse, {
        upstream: { targets: [targetAt(provider, { provider: name, format })] },
      });
      await post(path, SYSTEM_CHAT);
      expect(onlyRequest(provider).target).toBe(expected);
    },
  );

  test.each([
    "http://169.254.169.254",
    "http://169.254.1.2:8080/latest",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://0251.0376.0251.0376",
    "http://169.254.43518",
    "http://[fe80::1]",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[::ffff:0:169.254.169.254]",
    "http://[::169.254.169.254]",
    "http://[64:ff9b::169.254.169.254]",
    "http://[2002:a9fe:a9fe::1]",
    "http://[fd00:ec2::254]",
    "http://[fd00:ec2::23]",
    "http://100.100.100.200",
    "http://metadata.google.internal",
    "http://METADATA.google.internal.",
  ])("link-local and metadata addresses are refused when written as such: %s", async (base_url) => {
    expectFaultsAt(await createUpstream({ provider: "openai", base_url }), "targets[0].base_url");
  });
});

/** A private view of the file system, in which /etc/hosts is ours; it is gone with the process that has it. */
const inPrivateHosts = (hosts: string, command: readonly string[]) => [
  ...["unshare", "--map-root-user", "--mount", "sh", "-c"],
  ...['mount --bind "$0" /etc/hosts && exec "$@"', hosts, ...command],
];

const folder = temporaryDirectory();
const hostsFile = join(folder, "hosts");
/** Providers that need no base_url, and where they live. */
const HOMES = {
  openai: "api.openai.com",
  anthropic: "api.anthropic.com",
  google: "generativelanguage.googleapis.com",
  mistral: "api.mistral.ai",
  groq: "api.groq.com",
  deepseek: "api.deepseek.com",
  openrouter: "openrouter.ai",
  together: "api.together.xyz",
  fireworks: "api.fireworks.ai",
  xai: "api.x.ai",
  cohere: "api.cohere.ai",
  perplexity: "api.perplexity.ai",
};
writeFileSync(
  hostsFile,
  [
    "127.0.0.1 localhost good.test",
    "::ffff:169.254.169.254 mapped.test",
    ...["sneaky.test", ...Object.values(HOMES)].map((name) => `169.254.169.254 ${name}`),
  ].join("\n"),
);
afterAll(() => rmSync(folder, { recursive: true }));
const canUnshare = Bun.spawnSync(inPrivateHosts(hostsFile, ["true"])).exitCode === 0;
if (!canUnshare) {
  const sentence =
    "A private mount is not permitted here, so tests of resolving names are SKIPPED (run as root)";
  if (process.env["CI"] === "true") throw new Error(`${sentence}; in CI that is a failure`);
  process.stderr.write(`\n!!! ${sentence}\n\n`);
}

describe.skipIf(!canUnshare)("a name that resolves to a link-local or metadata address", () => {
  let proxy: ReturnType<typeof startProxy>;
  let proxyUrl: string;

  /** A second proxy on the same store, for which these names resolve. */
  function startProxy() {
    return Bun.spawn(inPrivateHosts(hostsFile, [LAUNCHER, "serve", "--role", "proxy"]), {
      env: {
        PATH: process.env["PATH"],
        PROXY_PORT: "0",
        DATA_DIR: gatehouse.dataDir,
        SERVER_SECRET_KEY: TEST_SECRET,
        LOG_FORMAT: "json",
      },
      stdout: "pipe",
      stderr: "inherit",
    });
  }

  beforeAll(async () => {
    proxy = startProxy();
    let printed = "";
    const decoder = new TextDecoder();
    void (async () => {
      for await (const chunk of proxy.stdout) printed += decoder.decode(chunk, { stream: true });
    })();
    proxyUrl = await waitFor(() => /"url":"([^"]+)","msg":"proxy listening"/.exec(printed)?.[1] ?? null);
  });
  afterAll(async () => {
    proxy.kill("SIGKILL");
    await proxy.exited;
  });

  /** The other process learns of a route within a second. */
  const answerAt = (path: string) =>
    waitFor(async () => {
      const answer = await rawCall(proxyUrl, { target: path });
      return answer.status === 404 ? null : answer;
    });

  const routeTo = (host: string) =>
    seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(provider, { base_url: `http://${host}:${provider.port}`, path: "/echo" })],
      },
    });

  test.each(["sneaky.test", "mapped.test", "SNEAKY.test"])("is 502 upstream_forbidden: %s", async (host) => {
    const { path } = await routeTo(host);
    const answer = await answerAt(path);
    expect({ status: answer.status, code: answer.json().code }).toEqual({
      status: 502,
      code: "upstream_forbidden",
    });
    expect((await rawCall(proxyUrl, { target: path })).json().code).toBe("upstream_forbidden");
  });

  test("while other names of the same file are served", async () => {
    const { path } = await routeTo("good.test");
    expect((await answerAt(path)).status).toBe(200);
  });

  test("without a base_url the provider's own is asked: here its name leads where none may go", async () => {
    const routes = await Promise.all(
      Object.keys(HOMES).map((name) => seedRoute(gatehouse, { upstream: { targets: [{ provider: name }] } })),
    );
    const codes = await Promise.all(
      routes.map(async ({ path }) => (await answerAt(path)).json().code as string),
    );
    expect(codes).toEqual(codes.map(() => "upstream_forbidden"));
  });
});
