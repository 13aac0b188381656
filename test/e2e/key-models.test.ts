// An API key with `models` may use only these models, and no form of request bypasses the check.
import { beforeAll, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { pluginsDirectory, type Fields } from "../support/plugin-fixtures.ts";
import {
  CHAT,
  onlyRequest,
  rawCall,
  seedKey,
  seedRoute,
  targetAt,
  type RawCall,
} from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const renaming = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "renaming",
    description: "Replaces the model.",
    stages: ["pre_request"],
    settings: z.strictObject({ model: z.string() }),
    create({ model }) {
      return {
        pre_request(context) {
          context.replaceBody(JSON.stringify({ ...context.json, model }));
        },
      };
    },
  });`;

const provider = await useFakeProvider();
const gatehouse = await useGatehouse({ env: { PLUGINS_DIR: pluginsDirectory({ "renaming.ts": renaming }) } });

const json = (model: unknown, fields: object = {}) => JSON.stringify({ ...CHAT, model, ...fields });
const FORM = "multipart/form-data; boundary=b";
const part = (disposition: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const form = (...parts: string[]) => `${parts.join("")}--b--\r\n`;
const AUDIO = part('name="file"; filename="a.wav"', "RIFF");
const JSON_TYPE: HeaderPair = ["Content-Type", "application/json"];

interface Client {
  readonly gateway: string;
  readonly path: string;
  readonly key: string;
  readonly send: (call: RawCall) => ReturnType<typeof rawCall>;
}

/** A route with its own gateway, and a client whose key may use "allowed" and everything that starts with "gpt-". */
async function client(
  targets: readonly Fields[],
  seed: { readonly gateway?: object; readonly upstream?: object; readonly rule?: object } = {},
): Promise<Client> {
  const { gateway, path } = await seedRoute(gatehouse, {
    ...(seed.gateway !== undefined && { gateway: { ...seed.gateway } }),
    upstream: { targets, ...seed.upstream },
    rule: { methods: ["GET", "POST", "DELETE"], ...seed.rule },
  });
  const { key } = await seedKey(gatehouse, gateway, { models: ["allowed", "gpt-*"] });
  const send = ({ headers = [JSON_TYPE], target = path, ...call }: RawCall) =>
    rawCall(gatehouse.proxyUrl, { ...call, target, headers: [...headers, ["X-GW-API-Key", key]] });
  return { gateway, path, key, send };
}

let echo: Client;
let anywhere: Client;
beforeAll(async () => {
  echo = await client([targetAt(provider, { path: "/echo" })]);
  anywhere = await client([targetAt(provider, { path: "" })], { rule: { path: "/any/*", strip_path: true } });
});

async function expectRefused(call: RawCall, named: string, by = echo): Promise<void> {
  const response = await by.send(call);
  expect(response.json()).toMatchObject({ code: "model_not_allowed", error: expect.stringContaining(named) });
  expect(response.status).toBe(403);
  expect(provider.requests).toEqual([]);
}

describe("a key with models", () => {
  test.each(["allowed", "gpt-", "gpt-4o", "gpt-*"])("may use %p", async (model) => {
    expect((await echo.send({ body: json(model) })).status).toBe(200);
    expect(onlyRequest(provider).target).toBe("/echo");
  });

  test.each([
    "other",
    "Allowed",
    "ALLOWED",
    "allowed ",
    " allowed",
    "allowed2",
    "allowe",
    "gpt",
    "GPT-4o",
    "*",
  ])("gets 403 for %p, and the error names it", (model) =>
    expectRefused({ body: json(model) }, `"${model}"`),
  );

  test("the model counts whatever the content type is", async () => {
    const types = ["text/plain", "application/octet-stream", "application/vnd.api+json", FORM, null];
    for (const type of types) {
      const headers: HeaderPair[] = type === null ? [] : [["Content-Type", type]];
      await expectRefused({ headers, body: json("other") }, '"other"');
    }
    const headers: HeaderPair[] = [["Content-Type", FORM]];
    await expectRefused({ headers, body: form(AUDIO, part('name="model"', "other")) }, '"other"');
    expect((await echo.send({ headers, body: form(AUDIO, part('name="model"', "gpt-x")) })).status).toBe(200);
    expect((await echo.send({ headers: [["Content-Type", "text/plain"]], body: json("gpt-x") })).status).toBe(
      200,
    );
  });

  test.each([
    ["application/json", '{"model":"allowed","model":"other"}', "invalid_json"],
    ["application/json", '{"model":"allowed","m\\u006fdel":"other"}', "invalid_json"],
    ["application/json", '{"model":"allowed","Model":"other"}', "invalid_json"],
    ["application/json", '{"model":["allowed"]}', "invalid_json"],
    ["application/json", '[{"model":"allowed"}]', "bad_request"],
    ["text/plain", '{"model":"allowed","model":"other"}', "invalid_json"],
    ["text/plain", "model: allowed", "bad_request"],
    ["application/x-www-form-urlencoded", "model=allowed", "bad_request"],
    [FORM, form(part('name="model"', "allowed"), part('name="model"', "other")), "bad_request"],
  ])("gets 400 for an ambiguous model in %s: %j", async (type, body, code) => {
    const response = await echo.send({ headers: [["Content-Type", type]], body });
    expect(response.json()).toMatchObject({ code });
    expect(response.status).toBe(400);
    expect(provider.requests).toEqual([]);
  });

  test("gets 415 for a compressed body", async () => {
    const headers = { "Content-Encoding": "gzip", "X-GW-API-Key": echo.key };
    const body = Bun.gzipSync(json("other"));
    const response = await fetch(gatehouse.proxyUrl + echo.path, { method: "POST", headers, body });
    expect(response.status).toBe(415);
    expect(provider.requests).toEqual([]);
  });

  test.each<[string, RawCall]>([
    ["a JSON object without a model", { body: "{}" }],
    ["a model that is null", { body: json(null) }],
    ["a model that is empty", { body: json("") }],
    ["a form without a model", { headers: [["Content-Type", FORM]], body: form(AUDIO) }],
    ["no body", {}],
  ])("gets 403 if no model is sent: %s", async (_, call) => {
    await expectRefused({ ...call }, "does not name a model");
  });

  test("may send requests without a body that use no model", async () => {
    for (const method of ["GET", "DELETE"])
      expect((await echo.send({ method, headers: [] })).status).toBe(200);
  });

  test.each([
    ["models", ["allowed", "other"], '"other"'],
    ["models", "other", '"other"'],
    ["models", [{ model: "allowed" }], "models"],
    ["fallbacks", ["other"], '"other"'],
  ])("gets 403 for further models in the field %s: %j", async (field, value, named) => {
    await expectRefused({ body: json("allowed", { [field]: value }) }, named);
  });

  test("may name further models that it may use", async () => {
    const body = json("allowed", { models: ["gpt-a", "allowed"], fallbacks: null });
    expect((await echo.send({ body })).status).toBe(200);
  });

  test.each([
    ["/any/openai/deployments/other/chat/completions", '"other"'],
    ["/any/openai/Deployments/%6fther/chat/completions", '"other"'],
    ["/any/v1/engines/other/completions", '"other"'],
    ["/any/v1beta/models/other:generateContent", '"other"'],
    ["/any/v1beta/models/allowed:8b/predictions", '"allowed:8b/predictions"'],
    ["/any/v1/publishers/google/models/other:streamRawPredict", '"other"'],
    ["/any/model/other/invoke", '"other"'],
    ["/any/ai/run/@cf/other", '"@cf/other"'],
    ["/any/v1/chat/completions?model=other", '"other"'],
    ["/any/v1/chat/completions?Model=allowed&mod%65l=other", '"other"'],
    ["/any/models/gpt-/deployments/other/chat/completions", '"other"'],
    ["/any/v1/messages/batche%73", "does not name a model"],
  ])("gets 403 if the path names another model than the body: %s", async (target, named) => {
    await expectRefused({ target, body: json("allowed") }, named, anywhere);
  });

  test("may use a path that names a model, and the endpoints of providers", async () => {
    for (const target of [
      "/any/openai/deployments/gpt-4o/chat/completions",
      "/any/v1beta/models/gpt-4o:generateContent",
      "/any/v1/chat/completions?model=gpt-4o",
    ])
      expect((await anywhere.send({ target, body: "{}" })).status).not.toBe(403);
    for (const target of [
      "/any/models/chat/completions",
      "/any/engines/v1/chat/completions",
      "/any/v1/embeddings",
      "/any/v1/models/",
    ])
      expect((await anywhere.send({ target, body: json("allowed") })).status).not.toBe(403);
    const get = { method: "GET", headers: [] };
    expect((await anywhere.send({ ...get, target: "/any/v1/models" })).status).not.toBe(403);
    expect((await anywhere.send({ ...get, target: "/any/v1/models/gpt-4o" })).status).not.toBe(403);
    expect((await anywhere.send({ ...get, target: "/any/v1/models/other" })).status).toBe(403);
  });

  test("a path that the operator configured is not searched for a model", async () => {
    const fixed = await client([targetAt(provider, { path: "/openai/deployments/prod/echo" })]);
    await fixed.send({ body: json("allowed") });
    expect(onlyRequest(provider).target).toBe("/openai/deployments/prod/echo");
    const remainder = await client([targetAt(provider, { path: "/openai/deployments" })], {
      rule: { path: "/fixed/*", strip_path: true },
    });
    const { status } = await remainder.send({
      target: "/fixed/other/chat/completions",
      body: json("allowed"),
    });
    expect(status).toBe(403);
  });
});

describe("the model that a target gets instead", () => {
  test("counts if the request names none", async () => {
    const allowed = await client([targetAt(provider, { path: "/echo", default_model: "gpt-default" })]);
    expect((await allowed.send({ body: json(undefined) })).status).toBe(200);
    expect(JSON.parse(onlyRequest(provider).body.toString())).toMatchObject({ model: "gpt-default" });
    provider.reset();
    const refused = await client([targetAt(provider, { path: "/echo", default_model: "other" })]);
    await expectRefused({ body: json(undefined) }, '"other"', refused);
    // A form is forwarded as it is: the default model is not put into it.
    await expectRefused(
      { headers: [["Content-Type", FORM]], body: form(AUDIO) },
      "does not name a model",
      allowed,
    );
  });

  test("makes the target ineligible if the key may not use it", async () => {
    const targets = [
      targetAt(provider, { path: "/other", models: ["x"], default_model: "other" }),
      targetAt(provider, { path: "/echo", models: ["y"], default_model: "gpt-default" }),
    ];
    const mixed = await client(targets, { upstream: { model_routing: "any", max_attempts: 5 } });
    for (let times = 0; times < 4; times++)
      expect((await mixed.send({ body: json("allowed") })).status).toBe(200);
    expect(new Set(provider.requests.map(({ target }) => target))).toEqual(new Set(["/echo"]));
    provider.reset();
    const target = targetAt(provider, { models: ["x"], default_model: "other" });
    const none = await client([target], { upstream: { model_routing: "any" } });
    await expectRefused({ body: json("allowed") }, '"other"', none);
  });

  test("counts if a plugin replaced it", async () => {
    const renamed = (model: string) =>
      client([targetAt(provider, { path: "/echo" })], {
        gateway: { required_plugins: [{ name: "renaming", stage: "pre_request", settings: { model } }] },
      });
    await expectRefused({ body: json("allowed") }, '"other"', await renamed("other"));
    await expectRefused({ body: json("other") }, '"other"', await renamed("gpt-x"));
    expect((await (await renamed("gpt-x")).send({ body: json("allowed") })).status).toBe(200);
  });
});

test("a key without models may use every model, in every form", async () => {
  const { gateway, path } = await seedRoute(gatehouse, {
    upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  });
  const { key } = await seedKey(gatehouse, gateway);
  for (const [type, body] of [
    ["application/json", json("other", { models: ["x"] })],
    ["application/json", "{}"],
    ["text/plain", "no JSON"],
    [FORM, form(AUDIO)],
  ] as const) {
    const headers: HeaderPair[] = [
      ["Content-Type", type],
      ["X-GW-API-Key", key],
    ];
    expect((await rawCall(gatehouse.proxyUrl, { target: path, headers, body })).status).toBe(200);
  }
});

test("GET /v1/models lists only the models that the key may use", async () => {
  const targets = [targetAt(provider, { models: ["allowed", "other", "gpt-a"], default_model: "gpt-b" })];
  const { send } = await client(targets);
  const response = await send({ method: "GET", target: "/v1/models", headers: [] });
  const { data } = response.json() as { data: { id: string }[] };
  expect(data.map(({ id }) => id).sort()).toEqual(["allowed", "gpt-a", "gpt-b"]);
});

test("explain shows that the key may not use the model, and which targets it excludes", async () => {
  const targets = [
    targetAt(provider, { models: ["x"], default_model: "other" }),
    targetAt(provider, { models: ["y"], default_model: "gpt-default" }),
  ];
  const { gateway, path, key } = await client(targets, { upstream: { model_routing: "any" } });
  const explain = async (model: string) =>
    (
      await gatehouse.api("POST", `/gateways/${gateway}/explain`, {
        path,
        headers: { "X-GW-API-Key": key },
        body: { ...CHAT, model },
      })
    ).body;
  expect(await explain("other")).toMatchObject({
    authentication: { verdict: "denied", reason: expect.stringContaining('"other"') },
    targets: [],
    answer: { status: 403, code: "model_not_allowed" },
  });
  expect(await explain("gpt-4o")).toMatchObject({
    authentication: { verdict: "allowed", reason: "the API key is valid for this rule and this model" },
    targets: [
      { eligible: false, model: "other", reason: 'This API key may not use the model "other".' },
      { eligible: true, next: true, model: "gpt-default" },
    ],
    answer: null,
  });
});
