// The default of model_routing, null: targets without a `path` get exactly the requested model, so that no other vendor's model
// serves a request by chance.
import { describe, expect, test } from "bun:test";
import { CHAT, onlyRequest, rawJson, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider({ name: "Ada" });
const other = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

const MESSAGES = { max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };

/** Creates a rule for all paths below a prefix, and returns the prefix. */
async function api(
  targets: readonly object[],
  { upstream = {} }: { upstream?: object } = {},
): Promise<string> {
  const prefix = `/api-${crypto.randomUUID()}`;
  await seedRoute(gatehouse, {
    upstream: { targets: targets.map((target) => ({ ...target })), max_attempts: 1, ...upstream },
    rule: { path: `${prefix}/*`, methods: ["*"] },
  });
  return prefix;
}

const post = (path: string, body: unknown) => rawJson(gatehouse.proxyUrl, path, body);

describe("by default, targets without a path get exactly the model that is requested", () => {
  const LISTED = () => [
    targetAt(provider, { models: ["gpt-fake", "gpt-fake-mini"], default_model: "gpt-fake" }),
    targetAt(other, { provider: "anthropic", models: ["claude-fake"], default_model: "claude-fake" }),
  ];
  const chat = (model: string | undefined) => ({ ...CHAT, model });

  test("an unknown model is 404 with the nearest names, and reaches no provider", async () => {
    const prefix = await api(LISTED());
    for (const end of ["/v1/chat/completions", "/v1/messages", "/v1/embeddings", "/ask"]) {
      const response = await post(prefix + end, { ...MESSAGES, model: "gpt-fakes" });
      expect([response.status, response.json().code]).toEqual([404, "model_not_found"]);
      expect(response.json().error).toBe(
        'No target serves the model "gpt-fakes". Did you mean "gpt-fake" or "gpt-fake-mini"?',
      );
    }
    const far = await post(`${prefix}/v1/chat/completions`, chat("zzz"));
    expect(far.json().error).toBe('No target serves the model "zzz".');
    expect([provider.requestCount, other.requestCount]).toEqual([0, 0]);
  });

  test("names that the API key may not use are not suggested", async () => {
    const prefix = `/api-${crypto.randomUUID()}`;
    const { gateway } = await seedRoute(gatehouse, {
      upstream: { targets: LISTED() },
      rule: { path: `${prefix}/*`, methods: ["*"] },
    });
    const { key } = await seedKey(gatehouse, gateway, { models: ["gpt-fake-mini", "gpt-fakes"] });
    const path = `${prefix}/v1/chat/completions`;
    const response = await rawJson(gatehouse.proxyUrl, path, chat("gpt-fakes"), [["X-GW-API-Key", key]]);
    expect(response.json().error).toBe(
      'No target serves the model "gpt-fakes". Did you mean "gpt-fake-mini"?',
    );
  });

  test("default_model is used only for requests that name no model", async () => {
    const prefix = await api([LISTED()[0] ?? {}]);
    await post(`${prefix}/v1/chat/completions`, chat(undefined));
    expect(onlyRequest(provider).json()).toMatchObject({ model: "gpt-fake" });
  });

  test("a target without models serves any name", async () => {
    const prefix = await api([LISTED()[1] ?? {}, targetAt(provider, { default_model: "gpt-fake" })]);
    await post(`${prefix}/v1/chat/completions`, chat("new-model"));
    expect(onlyRequest(provider).json()).toMatchObject({ model: "new-model" });
    expect(other.requestCount).toBe(0);
  });

  test("a target that fails is not replaced by one that serves another model", async () => {
    provider.behave({ status: 503 });
    const prefix = await api(LISTED(), { upstream: { max_attempts: 3 } });
    expect((await post(`${prefix}/v1/chat/completions`, chat("gpt-fake"))).status).toBe(503);
    expect(other.requestCount).toBe(0);
  });

  test.each(['{"Model":"gpt-fake","messages":[]}', '{"model":["gpt-fake"],"messages":[]}'])(
    "a body whose model servers may read differently is 400: %s",
    async (body) => {
      const prefix = await api(LISTED());
      const response = await post(`${prefix}/v1/chat/completions`, body);
      expect([response.status, response.json().code]).toEqual([400, "invalid_json"]);
      expect([provider.requestCount, other.requestCount]).toEqual([0, 0]);
    },
  );

  test.each(["prefer", "any"])(
    "with model_routing %s the default model replaces an unknown one",
    async (routing) => {
      const prefix = await api([LISTED()[0] ?? {}], { upstream: { model_routing: routing } });
      await post(`${prefix}/v1/chat/completions`, chat("unknown"));
      expect(onlyRequest(provider).json()).toMatchObject({ model: "gpt-fake" });
    },
  );

  test("a target with a path gets a request for a model that no target serves", async () => {
    const prefix = await api([LISTED()[1] ?? {}, { ...LISTED()[0], path: "/v1/chat/completions" }]);
    await post(`${prefix}/v1/chat/completions`, chat("unknown"));
    expect(onlyRequest(provider).json()).toMatchObject({ model: "gpt-fake" });
    expect(other.requestCount).toBe(0);
  });
});
