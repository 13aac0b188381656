// Requests that the fake provider rejects as OpenAI does: by the name of the model, with OpenAI's error.
import { afterAll, describe, expect, test } from "bun:test";
import { startFakeProvider, type Behavior } from "../server.ts";

const provider = await startFakeProvider();
afterAll(() => provider.stop());

async function send(path: string, body: object, behavior: Behavior = {}) {
  const response = await fetch(provider.url + path, {
    method: "POST",
    headers: { "x-fake": JSON.stringify(behavior) },
    body: JSON.stringify(body),
  });
  const { error = null } = (await response.json()) as { error?: object };
  return { status: response.status, error };
}

const messages = [{ role: "user", content: "Hi" }];
const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
const OK = { status: 200, error: null };
const refused = (param: string, code: string | null, text: string) => ({
  status: 400,
  error: { type: "invalid_request_error", param, code, message: expect.stringContaining(text) },
});

describe("chat completions", () => {
  const chat = (fields: object) => send("/v1/chat/completions", { messages, ...fields });
  const REFUSED_TOOLS = refused(
    "reasoning_effort",
    null,
    "use /v1/responses or set reasoning_effort to 'none'",
  );

  test.each([
    [{ model: "gpt-5.2", tools }, OK],
    [{ model: "gpt-5.4", tools }, REFUSED_TOOLS],
    [{ model: "gpt-5.4-mini-2026-03-17", tools, reasoning_effort: "low" }, REFUSED_TOOLS],
    [{ model: "gpt-5.6", tools, reasoning_effort: "none" }, OK],
    [{ model: "gpt-5.6" }, OK],
    [{ model: "gpt-6-astra", tools }, REFUSED_TOOLS],
    [
      { model: "gpt-6-astra", tools, reasoning_effort: "none" },
      refused("reasoning_effort", "unsupported_value", "'low'"),
    ],
    [
      { model: "gpt-5", max_tokens: 9 },
      refused("max_tokens", "unsupported_parameter", "max_completion_tokens"),
    ],
    [{ model: "gpt-5", max_completion_tokens: 9 }, OK],
    [{ model: "o3", stop: ["END"] }, refused("stop", "unsupported_parameter", "'stop'")],
    [{ model: "gpt-5.1", temperature: 0.5 }, OK],
    [
      { model: "gpt-5.1", temperature: 0.5, reasoning_effort: "low" },
      refused("temperature", "unsupported_parameter", ""),
    ],
    [{ model: "gpt-5.5", top_p: 0.5 }, refused("top_p", "unsupported_parameter", "")],
    [{ model: "gpt-5.5", temperature: 1 }, OK],
    [
      { model: "gpt-fake", tools, max_tokens: 9, stop: ["END"], temperature: 0.5, reasoning_effort: "ultra" },
      OK,
    ],
  ])("%p", async (fields, expected) => {
    expect(await chat(fields)).toEqual(expected);
  });

  test("do not serve all models", async () => {
    expect(await chat({ model: "gpt-5-codex" })).toMatchObject({ status: 404, error: { param: "model" } });
  });
});

describe("the Responses API", () => {
  const respond = (fields: object, behavior: Behavior = {}) =>
    send("/v1/responses", { input: "Hi", ...fields }, behavior);

  test.each([
    [{ model: "gpt-6-astra", tools: [{ type: "function", name: "f", parameters: {} }] }, OK],
    [{ model: "gpt-6-astra", reasoning: { effort: "max" } }, OK],
    [{ model: "o3", temperature: 1 }, refused("temperature", "unsupported_parameter", "")],
    [{ model: "gpt-fake", stop: ["END"] }, refused("stop", "unknown_parameter", "")],
    [
      { model: "gpt-fake", max_output_tokens: 15 },
      refused("max_output_tokens", "integer_below_min_value", ">= 16"),
    ],
    [
      { model: "gpt-5", reasoning: { effort: "none" } },
      refused("reasoning.effort", "unsupported_value", "'minimal'"),
    ],
  ])("%p", async (fields, expected) => {
    expect(await respond(fields)).toEqual(expected);
  });

  test("rejects summaries for organizations that are not verified, if the behavior says so", async () => {
    const request = { model: "gpt-5.6", reasoning: { effort: "low", summary: "auto" } };
    expect(await respond(request)).toEqual(OK);
    const message = "Your organization must be verified to generate reasoning summaries";
    expect(await respond(request, { unverified: true })).toEqual(
      refused("reasoning.summary", "unsupported_value", message),
    );
    expect(await respond({ model: "gpt-5.6" }, { unverified: true })).toEqual(OK);
  });
});
