// The other OpenAI APIs of the fake provider, and those that share its paths, through the official clients.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { startFakeProvider } from "../server.ts";

const provider = await startFakeProvider({ name: "Ada" });
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

const openai = new OpenAI({ apiKey: "sk-good", baseURL: `${provider.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "sk-ant-good", baseURL: provider.url, maxRetries: 0 });

function failure(promise: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(promise).catch((error: unknown) => error);
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(`${provider.url}${path}`, { method: "POST", body: JSON.stringify(body) });
}

describe("embeddings", () => {
  const create = (body: Partial<OpenAI.EmbeddingCreateParams> = {}) =>
    openai.embeddings.create({ model: "embedding-fake", input: "one two", ...body });

  test("are deterministic vectors of length 1, and the same as numbers and as base64", async () => {
    const numbers = await create({ encoding_format: "float", dimensions: 16 });
    // Without encoding_format the client requests base64 and decodes it.
    const decoded = await create({ dimensions: 16 });
    const vector = numbers.data[0]!.embedding;
    expect(decoded.data[0]!.embedding).toEqual(vector);
    expect(vector).toHaveLength(16);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect(numbers.usage).toEqual({ prompt_tokens: 2, total_tokens: 2 });
    expect((await create({ dimensions: 16, input: "other" })).data[0]!.embedding).not.toEqual(vector);
    const raw = await post("/v1/embeddings", { model: "m", input: "one two", encoding_format: "base64" });
    expect(((await raw.json()) as { data: { embedding: unknown }[] }).data[0]!.embedding).toBeString();
  });

  test("have one vector per input, texts or tokens", async () => {
    const texts = await create({ input: ["a", "b", "c"], dimensions: 4 });
    expect(texts.data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect((await create({ input: [1, 2, 3] })).data).toHaveLength(1);
    expect((await create({ input: [[1], [2, 3]] })).data).toHaveLength(2);
    expect((await create()).data[0]!.embedding).toHaveLength(1536);
  });

  test("reject a missing input and dimensions out of range", async () => {
    expect(await failure(create({ input: [] }))).toMatchObject({ status: 400 });
    expect(await failure(create({ dimensions: 5000 }))).toMatchObject({ status: 400, param: "dimensions" });
    expect(await failure(create({ model: "missing-model" }))).toMatchObject({ status: 404 });
  });
});

describe("models", () => {
  test("are returned one by one, and an unknown one is an error", async () => {
    expect(await openai.models.retrieve("gpt-fake")).toMatchObject({ id: "gpt-fake", object: "model" });
    expect(await failure(openai.models.retrieve("other"))).toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });

  test("have Anthropic's format for requests with anthropic-version", async () => {
    const models = await Array.fromAsync(anthropic.models.list());
    expect(models[0]).toMatchObject({ type: "model", id: "gpt-fake", display_name: "gpt-fake" });
    expect(await anthropic.models.retrieve("claude-fake")).toMatchObject({ id: "claude-fake" });
    expect(await failure(anthropic.models.retrieve("other"))).toBeInstanceOf(Anthropic.NotFoundError);
  });
});

test("Anthropic's count_tokens counts messages and the system prompt", async () => {
  const body = { model: "claude-fake", messages: [{ role: "user" as const, content: "one two" }] };
  expect(await anthropic.messages.countTokens({ ...body, system: "three" })).toEqual({ input_tokens: 3 });
  provider.behave({ status: 529 });
  expect(await failure(anthropic.messages.countTokens(body))).toMatchObject({ status: 529 });
});

describe("completions", () => {
  test("have one choice per prompt", async () => {
    const completion = await openai.completions.create({ model: "m", prompt: ["Hi", "Ho"] });
    expect(completion.choices.map((choice) => choice.text)).toEqual([
      'Hello from Ada. You said: "Hi".',
      'Hello from Ada. You said: "Ho".',
    ]);
    expect(completion.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 12, total_tokens: 14 });
  });

  test("are streamed, with usage if requested", async () => {
    const stream = await openai.completions.create({
      model: "m",
      prompt: "Hi",
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    const text = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.text)).join("");
    expect(text).toBe('Hello from Ada. You said: "Hi".');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 7 } });
  });
});

test("moderations flag violence", async () => {
  const { results } = await openai.moderations.create({ input: ["peace", "raw violence"] });
  expect(results.map((result) => result.flagged)).toEqual([false, true]);
  expect(results[1]!.categories).toMatchObject({ violence: true, hate: false });
  const parts = await openai.moderations.create({ input: [{ type: "text", text: "violence" }] });
  expect(parts.results).toHaveLength(1);
});

test("rerank orders documents by the words that they share with the query", async () => {
  const documents = ["snow in winter", { text: "rain in the city" }, "sun"];
  const body = { model: "rerank-fake", query: "rain city", documents, top_n: 2, return_documents: true };
  const ranked = await post("/v1/rerank", body);
  expect(await ranked.json()).toMatchObject({
    results: [
      { index: 1, relevance_score: 1, document: { text: "rain in the city" } },
      { index: 0, relevance_score: 0 },
    ],
    meta: { billed_units: { search_units: 1 } },
  });
  expect((await post("/v1/rerank", { query: "x" })).status).toBe(400);
});

test("images are base64, or URLs for the models that return those", async () => {
  const images = await openai.images.generate({ model: "gpt-image-fake", prompt: "A cat", n: 2 });
  expect(images.data).toHaveLength(2);
  const png = Buffer.from(images.data![0]!.b64_json!, "base64");
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  expect(images.usage).toMatchObject({ input_tokens: 2, output_tokens: 200, total_tokens: 202 });
  const linked = await openai.images.generate({ model: "dall-e-3", prompt: "A cat" });
  expect(linked.data![0]!.url).toStartWith("https://");
});

describe("audio", () => {
  test("speech is bytes with the type of the format", async () => {
    const speech = await openai.audio.speech.create({ model: "m", voice: "alloy", input: "Hello" });
    expect(speech.headers.get("content-type")).toBe("audio/mpeg");
    expect((await speech.arrayBuffer()).byteLength).toBe(500);
    const input = { model: "m", voice: "alloy", input: "Hello", response_format: "wav" as const };
    const wav = await openai.audio.speech.create(input);
    expect(wav.headers.get("content-type")).toBe("audio/wav");
  });

  test("transcriptions name the uploaded file, in each format and as a stream", async () => {
    const text = "The file a.mp3 has 5 bytes.";
    const body = async () => ({ model: "whisper-fake", file: await toFile(Buffer.from("bytes"), "a.mp3") });
    const json = await openai.audio.transcriptions.create(await body());
    expect(json).toMatchObject({ text, usage: { type: "tokens", output_tokens: 6 } });
    const srt = await openai.audio.transcriptions.create({ ...(await body()), response_format: "srt" });
    expect(srt).toContain(text);
    const verbose = { ...(await body()), response_format: "verbose_json" as const };
    expect(await openai.audio.transcriptions.create(verbose)).toMatchObject({ text, duration: 1 });
    const events = await Array.fromAsync(
      await openai.audio.transcriptions.create({ ...(await body()), stream: true }),
    );
    expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", text });
    expect((await post("/v1/audio/transcriptions", {})).status).toBe(400);
  });
});

async function upload(content: string, name = "a.jsonl"): Promise<OpenAI.FileObject> {
  return openai.files.create({ purpose: "batch", file: await toFile(Buffer.from(content), name) });
}

describe("files", () => {
  test("are uploaded, listed, read and deleted", async () => {
    const file = await upload("some bytes");
    expect(file).toMatchObject({ bytes: 10, filename: "a.jsonl", purpose: "batch", status: "processed" });
    expect(await openai.files.retrieve(file.id)).toEqual(file);
    expect(await (await openai.files.content(file.id)).text()).toBe("some bytes");
    expect(await openai.files.delete(file.id)).toEqual({ id: file.id, object: "file", deleted: true });
    expect(await failure(openai.files.content(file.id))).toMatchObject({ status: 404 });
  });

  test("are listed in pages, the newest first", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.unshift((await upload("x")).id);
    const listed = await Array.fromAsync(openai.files.list({ limit: 2 }));
    expect(listed.map(({ id }) => id)).toEqual(ids);
    expect(await Array.fromAsync(openai.files.list({ purpose: "vision" }))).toEqual([]);
  });

  test("are not stored if the upload fails", async () => {
    provider.behave({ rateLimited: { retryAfter: 1 } });
    expect(await failure(upload("x"))).toBeInstanceOf(OpenAI.RateLimitError);
    provider.behave({});
    expect(await Array.fromAsync(openai.files.list())).toEqual([]);
  });
});

describe("batches", () => {
  const endpoint = "/v1/chat/completions";
  const line = (id: string, messages: object[]) =>
    JSON.stringify({ custom_id: id, method: "POST", url: endpoint, body: { model: "m", messages } });
  const create = async (content: string) =>
    openai.batches.create({ input_file_id: (await upload(content)).id, endpoint, completion_window: "24h" });

  test("advance with each request for them and serve the requests of the input file", async () => {
    const batch = await create(`${line("a", [{ role: "user", content: "Hi" }])}\n${line("b", [])}\n`);
    expect(batch.status).toBe("validating");
    expect((await openai.batches.retrieve(batch.id)).status).toBe("in_progress");
    const done = await openai.batches.retrieve(batch.id);
    expect(done).toMatchObject({
      status: "completed",
      request_counts: { total: 2, completed: 1, failed: 1 },
    });
    const output = await (await openai.files.content(done.output_file_id!)).text();
    const results = output
      .trim()
      .split("\n")
      .map((one) => JSON.parse(one));
    expect(results).toMatchObject([
      { custom_id: "a", response: { status_code: 200, body: { object: "chat.completion" } } },
      { custom_id: "b", response: { status_code: 400 } },
    ]);
    expect(await Array.fromAsync(openai.batches.list())).toHaveLength(1);
  });

  test("are canceled once", async () => {
    const { id } = await create("{}");
    expect((await openai.batches.cancel(id)).status).toBe("cancelling");
    expect((await openai.batches.retrieve(id)).status).toBe("cancelled");
    expect(await failure(openai.batches.cancel(id))).toMatchObject({ status: 409 });
  });

  test("need an input file and a known endpoint", async () => {
    const body = { input_file_id: "file-none", completion_window: "24h" as const };
    expect(await failure(openai.batches.create({ ...body, endpoint }))).toMatchObject({
      status: 400,
      param: "input_file_id",
    });
    expect(await failure(openai.batches.create({ ...body, endpoint: "/v1/videos" }))).toMatchObject({
      status: 400,
      param: "endpoint",
    });
    expect(await failure(openai.batches.retrieve("batch_none"))).toMatchObject({ status: 404 });
  });
});
