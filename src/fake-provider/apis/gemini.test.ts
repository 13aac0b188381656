// The Gemini API of the fake provider, as its REST reference describes it.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { type Behavior, startFakeProvider } from "../server.ts";

const provider = await startFakeProvider({ name: "Ada" });
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

const BODY = { contents: [{ role: "user", parts: [{ text: "Good morning" }] }] };
const GREETING = 'Hello from Ada. You said: "Good morning".';
const tools = [
  {
    functionDeclarations: [
      {
        name: "get_weather",
        parameters: { type: "OBJECT", properties: { city: { type: "STRING" }, days: { type: "INTEGER" } } },
      },
    ],
  },
];

interface Part {
  text?: string;
  thought?: boolean;
  functionCall?: object;
  thoughtSignature?: string;
}

interface Chunk {
  candidates: [{ content: { role: string; parts: Part[] }; finishReason?: string }];
  usageMetadata: Record<string, unknown>;
  error?: object;
}

function send(method: string, body: unknown = BODY, behavior: Behavior = {}): Promise<Response> {
  return fetch(`${provider.url}/v1beta/models/gemini-fake:${method}`, {
    method: "POST",
    headers: { "x-goog-api-key": "good", "x-fake": JSON.stringify(behavior) },
    body: JSON.stringify(body),
  });
}

async function chunksOf(body: unknown, behavior: Behavior = {}): Promise<Chunk[]> {
  const response = await send("streamGenerateContent?alt=sse", body, behavior);
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  const events = (await response.text()).trim().split("\n\n");
  return events.map((event): Chunk => JSON.parse(event.slice("data: ".length)));
}

async function generated(response: Promise<Response>): Promise<Chunk> {
  return (await (await response).json()) as Chunk;
}

function partsOf(chunk: Chunk): Part[] {
  return chunk.candidates[0].content.parts;
}

describe("generateContent", () => {
  test("returns text and usage", async () => {
    const body = { ...BODY, systemInstruction: { parts: [{ text: "Be kind" }] } };
    expect(await (await send("generateContent", body)).json()).toEqual({
      candidates: [
        { content: { parts: [{ text: GREETING }], role: "model" }, finishReason: "STOP", index: 0 },
      ],
      usageMetadata: {
        promptTokenCount: 4,
        candidatesTokenCount: 7,
        totalTokenCount: 11,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: 4 }],
      },
      modelVersion: "gemini-fake",
      responseId: "fake1",
    });
  });

  test("returns thoughts, their signature and their tokens if the request includes them", async () => {
    const body = { ...BODY, generationConfig: { thinkingConfig: { includeThoughts: true } } };
    const usage = { input: 100, output: 20, cached: 60, reasoning: 15 };
    const response = await generated(send("generateContent", body, { thinking: "Hm", usage }));
    expect(partsOf(response)).toEqual([
      { text: "Hm", thought: true },
      { text: GREETING, thoughtSignature: expect.any(String) },
    ]);
    expect(response.usageMetadata).toMatchObject({
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 15,
      totalTokenCount: 120,
    });
  });

  test("calls a function, then quotes its result", async () => {
    const ask = { contents: [{ role: "user", parts: [{ text: "Use a tool" }] }], tools };
    const response = await generated(send("generateContent", ask));
    expect(partsOf(response)).toEqual([
      {
        functionCall: { id: expect.any(String), name: "get_weather", args: { city: "some city", days: 42 } },
        thoughtSignature: expect.any(String),
      },
    ]);
    const result = { functionResponse: { name: "get_weather", response: { result: "21 degrees" } } };
    const contents = [...ask.contents, response.candidates[0].content, { role: "user", parts: [result] }];
    const next = await generated(send("generateContent", { ...ask, contents }));
    expect(partsOf(next)[0]!.text).toBe('Hello from Ada. The tool returned: "21 degrees".');
  });

  test.each([
    ["NONE", "Use a tool", false],
    ["ANY", "Hi", true],
  ])("obeys the mode %s", async (mode, text, isCalled) => {
    const contents = [{ parts: [{ text }] }];
    const toolConfig = { functionCallingConfig: { mode } };
    const response = await generated(send("generateContent", { contents, tools, toolConfig }));
    expect("functionCall" in partsOf(response)[0]!).toBe(isCalled);
  });
});

describe("streamGenerateContent", () => {
  test("sends the text in chunks; the last one has the reason and the usage", async () => {
    const chunks = await chunksOf(BODY);
    expect(chunks).toHaveLength(7 + 1);
    expect(chunks.map((chunk) => partsOf(chunk)[0]!.text).join("")).toBe(GREETING);
    expect(chunks.map((chunk) => chunk.candidates[0].finishReason)).toEqual([
      ...Array.from({ length: 7 }, () => undefined),
      "STOP",
    ]);
    expect(chunks.at(-1)!.usageMetadata).toMatchObject({ candidatesTokenCount: 7, totalTokenCount: 9 });
  });

  test("without alt=sse sends a JSON array", async () => {
    const response = await send("streamGenerateContent");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    const chunks = (await response.json()) as Chunk[];
    expect(chunks.map((chunk) => partsOf(chunk)[0]!.text).join("")).toBe(GREETING);
  });

  test("sends thoughts first and function calls with the last chunk", async () => {
    const body = {
      contents: [{ role: "user", parts: [{ text: "Use a tool" }] }],
      tools,
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    };
    const chunks = await chunksOf(body);
    expect(partsOf(chunks[0]!)).toMatchObject([{ thought: true }]);
    expect(partsOf(chunks.at(-1)!)).toMatchObject([{ functionCall: { name: "get_weather" } }]);
    expect(chunks.at(-1)!.usageMetadata.thoughtsTokenCount).toBeGreaterThan(0);
  });

  test("ends with Gemini's error in mid-stream, or is cut", async () => {
    const chunks = await chunksOf(BODY, { errorAfterChunks: 2 });
    expect(chunks).toHaveLength(3);
    expect(chunks[2]!.error).toMatchObject({ code: 503, status: "UNAVAILABLE" });
    const cut = await send("streamGenerateContent?alt=sse", BODY, { cutAfterChunks: 2 });
    expect(await cut.text().catch((error: unknown) => error)).toBeInstanceOf(Error);
  });
});

test("countTokens counts contents, given directly or as a request", async () => {
  expect(await (await send("countTokens")).json()).toMatchObject({ totalTokens: 2 });
  const wrapped = { generateContentRequest: { ...BODY, model: "models/gemini-fake" } };
  expect(await (await send("countTokens", wrapped)).json()).toMatchObject({ totalTokens: 2 });
});

test("models are listed in Gemini's format under /v1beta", async () => {
  const list = await (await fetch(`${provider.url}/v1beta/models`)).json();
  expect(list).toMatchObject({ models: [{ name: "models/gemini-fake" }, {}] });
  expect((await fetch(`${provider.url}/v1beta/models/gemini-fake`)).status).toBe(200);
  expect((await fetch(`${provider.url}/v1beta/models/other`)).status).toBe(404);
});

describe("errors", () => {
  test("have Google's object", async () => {
    const invalid = await send("generateContent", { contents: [] });
    expect(invalid.status).toBe(400);
    expect(await invalid.json()).toEqual({
      error: { code: 400, message: "contents is not specified", status: "INVALID_ARGUMENT" },
    });
    const failing = await send("generateContent", BODY, { status: 503 });
    expect(failing.status).toBe(503);
    expect(await failing.json()).toMatchObject({ error: { status: "UNAVAILABLE" } });
    const missing = await fetch(`${provider.url}/v1beta/models/missing-model:generateContent`, {
      method: "POST",
      body: JSON.stringify(BODY),
    });
    expect(await missing.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
  });

  test("of a rate limit have the delay", async () => {
    const limited = await send("generateContent", BODY, { rateLimited: { retryAfter: 7 } });
    expect(limited.status).toBe(429);
    expect(await limited.json()).toMatchObject({
      error: { status: "RESOURCE_EXHAUSTED", details: [{ retryDelay: "7s" }] },
    });
  });

  test.each(["?key=invalid", ""])("of an invalid key are 400 (query %j)", async (query) => {
    const response = await fetch(`${provider.url}/v1beta/models/gemini-fake:generateContent${query}`, {
      method: "POST",
      headers: query === "" ? { "x-goog-api-key": "invalid" } : {},
      body: JSON.stringify(BODY),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { details: [{ reason: "API_KEY_INVALID" }] } });
  });
});
