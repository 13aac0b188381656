// The request body: which target serves a model, and which bytes of a body are changed.
import { beforeAll, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { CHAT, onlyRequest, rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const MAX_BODY_BYTES = 100_000;
const MAX_UPLOAD_BYTES = 1_000_000;

const [ada, bob, cleo] = await Promise.all([
  useFakeProvider({ name: "Ada" }),
  useFakeProvider({ name: "Bob" }),
  useFakeProvider({ name: "Cleo" }),
]);
const gatehouse = await useGatehouse({
  env: { MAX_BODY_BYTES: String(MAX_BODY_BYTES), MAX_UPLOAD_BYTES: String(MAX_UPLOAD_BYTES) },
});

const messages = CHAT.messages;

/** Creates a route to Ada (a1 and a2; default a1), Bob (b1) and optionally Cleo (all models). */
async function route(upstream: Record<string, unknown> = {}, withCleo = false): Promise<string> {
  const targets = [
    targetAt(ada, { default_model: "a1", models: ["a2"] }),
    targetAt(bob, { default_model: "b1", models: ["b1"] }),
    ...(withCleo ? [targetAt(cleo)] : []),
  ];
  return (await seedRoute(gatehouse, { upstream: { targets, ...upstream } })).path;
}

/** Sends requests. Resolves to the providers that received them, each with the model. */
async function recipients(path: string, body: object, times = 6): Promise<string[]> {
  for (let count = 0; count < times; count++) await rawJson(gatehouse.proxyUrl, path, body);
  const seen = [ada, bob, cleo].flatMap((provider) =>
    provider.requests.map(
      (request) => `${provider.name} ${(request.json() as { model?: string }).model ?? "-"}`,
    ),
  );
  return [...new Set(seen)].sort();
}

describe("the model", () => {
  test("is the target's default_model if absent", async () => {
    const path = await route();
    expect(await recipients(path, { messages })).toEqual(["Ada a1", "Bob b1"]);
  });

  test.each([{ model: null }, { model: "" }])("is the target's default_model in %p", async (model) => {
    const path = await route();
    expect(await recipients(path, { ...model, messages })).toEqual(["Ada a1", "Bob b1"]);
  });

  test("stays absent without a default_model, and the body stays unchanged", async () => {
    const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(ada)] } });
    const body = `{ "messages":[{"role":"user","content":"Hi"}] }`;
    await rawJson(gatehouse.proxyUrl, path, body);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
  });

  test("default_model counts as one of models", async () => {
    const path = await route();
    expect(await recipients(path, { model: "a1", messages })).toEqual(["Ada a1"]);
  });
});

describe("model_routing", () => {
  test.each([null, "prefer"])("%p balances over the targets that serve the model", async (model_routing) => {
    const path = await route({ model_routing });
    expect(await recipients(path, { model: "a2", messages })).toEqual(["Ada a2"]);
    expect(await recipients(path, { model: "b1", messages })).toEqual(["Ada a2", "Bob b1"]);
  });

  test("prefer: a target without models serves all models", async () => {
    const path = await route({ model_routing: "prefer" }, true);
    expect(await recipients(path, { model: "a2", messages })).toEqual(["Ada a2", "Cleo a2"]);
  });

  test("prefer: a model that only a target without models serves goes to that target", async () => {
    const path = await route({ model_routing: "prefer" }, true);
    expect(await recipients(path, { model: "unknown-model", messages })).toEqual(["Cleo unknown-model"]);
  });

  test("prefer: if none serves the model, over all targets, each with its default_model", async () => {
    const path = await route({ model_routing: "prefer" });
    expect(await recipients(path, { model: "unknown-model", messages })).toEqual(["Ada a1", "Bob b1"]);
  });

  test("prefer: if none that serves it is healthy, over all targets, each with its default_model", async () => {
    ada.behave({ status: 500 });
    const path = await route({
      health_checks: { passive: true, threshold: 1, interval: 600 },
      max_attempts: 1,
      model_routing: "prefer",
    });
    expect((await rawJson(gatehouse.proxyUrl, path, { model: "a2", messages })).status).toBe(500);
    ada.reset();
    expect(await recipients(path, { model: "a2", messages })).toEqual(["Bob b1"]);
  });

  test("any always balances over all targets; one that does not serve the model gets its default_model", async () => {
    const path = await route({ model_routing: "any" }, true);
    expect(await recipients(path, { model: "a2", messages })).toEqual(["Ada a2", "Bob b1", "Cleo a2"]);
  });

  test("require responds 404 model_not_found", async () => {
    const path = await route({ model_routing: "require" });
    const response = await rawJson(gatehouse.proxyUrl, path, { model: "unknown-model", messages });
    expect(response.status).toBe(404);
    expect(response.json()).toMatchObject({
      code: "model_not_found",
      error: expect.stringContaining("unknown-model"),
    });
    const long = await rawJson(gatehouse.proxyUrl, path, { model: "m".repeat(10_000), messages });
    expect(long.json()).toMatchObject({
      error: `No target serves the model "${"m".repeat(200)}…".`,
    });
    expect(await recipients(path, { model: "b1", messages })).toEqual(["Bob b1"]);
  });

  test("require: no other target is tried if those that serve the model fail", async () => {
    const path = await route({ model_routing: "require" });
    bob.behave({ status: 503 });
    const response = await rawJson(gatehouse.proxyUrl, path, { model: "b1", messages });
    expect(response.status).toBe(503);
    expect(ada.requestCount).toBe(0);
  });

  test("failover follows the same order: first the targets that serve the model", async () => {
    // The others have a lower priority value, and are still tried second.
    const targets = [
      targetAt(ada, { default_model: "a1", models: ["a1"] }),
      targetAt(bob, { default_model: "b1", models: ["b1", "shared"], priority: 2 }),
      targetAt(cleo, { default_model: "c1", models: ["c1", "shared"], priority: 3 }),
    ];
    const { path } = await seedRoute(gatehouse, { upstream: { targets, model_routing: "prefer" } });
    bob.behave({ status: 500 });
    cleo.behave({ status: 500 });
    const response = await rawJson(gatehouse.proxyUrl, path, { model: "shared", messages });
    expect(response.status).toBe(200);
    expect(response.header("x-gw-attempts")).toBe("3");
    expect(response.header("x-gw-model")).toBe("a1");
    expect(onlyRequest(bob).json()).toMatchObject({ model: "shared" });
    expect(onlyRequest(cleo).json()).toMatchObject({ model: "shared" });
    expect(onlyRequest(bob).startedAt).toBeLessThan(onlyRequest(cleo).startedAt);
    expect(onlyRequest(cleo).startedAt).toBeLessThan(onlyRequest(ada).startedAt);
    expect(onlyRequest(ada).json()).toMatchObject({ model: "a1" });
  });
});

describe("the body is changed only where necessary", () => {
  const ODD =
    '{\n\t"zebra" : 12345678901234567890123, "float":1.0, "exp":1E5,"esc":"\\u00e9\\/",\r\n "model" : "MODEL",' +
    ' "messages":[ {"role":"user","content":"Hi \u{1F600}"} ] , "alpha":{"model":"inner"}, "list":[ ] }  \n';

  test("an unchanged body has equal bytes", async () => {
    const path = await route();
    const body = ODD.replace("MODEL", "a2");
    expect((await rawJson(gatehouse.proxyUrl, path, body)).status).toBe(200);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
  });

  test("a changed model leaves large numbers, key order and everything else unchanged", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: {
        targets: [targetAt(ada, { default_model: "a1", models: ["a1"] })],
        model_routing: "prefer",
      },
    });
    expect((await rawJson(gatehouse.proxyUrl, path, ODD)).status).toBe(200);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(ODD.replace("MODEL", "a1"));
    expect(onlyRequest(ada).header("content-length")).toBe(String(Buffer.byteLength(ODD) - 3));
  });

  test("an added model leaves the rest unchanged", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { default_model: 'a "quoted" é' })] },
    });
    const body = '{ "n": 12345678901234567890, "messages":[{"role":"user","content":"Hi"}] }';
    await rawJson(gatehouse.proxyUrl, path, body);
    const text = Buffer.from(onlyRequest(ada).body).toString();
    expect(onlyRequest(ada).json()).toMatchObject({ model: 'a "quoted" é' });
    expect(text).toContain(body.slice(1, -1));
  });

  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application/vnd.acme+json",
  ])("%s is a JSON content type", async (type) => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { default_model: "a1" })] },
    });
    const body = JSON.stringify({ messages });
    await rawCall(gatehouse.proxyUrl, { target: path, headers: [["Content-Type", type]], body });
    expect(onlyRequest(ada).json()).toMatchObject({ model: "a1" });
    expect(onlyRequest(ada).header("content-type")).toBe(type);
  });
});

describe("a body that is not JSON is forwarded unchanged", () => {
  const path = "/not-json";
  beforeAll(async () => {
    const targets = [targetAt(ada, { path: "/echo", default_model: "a1", models: ["a1"] })];
    await seedRoute(gatehouse, { upstream: { targets }, rule: { path } });
  });

  test.each([
    ["text/plain", '{"model":"other"}'],
    ["application/x-www-form-urlencoded", "model=other&x=%20"],
    ["application/octet-stream", "\u0000\u0001{not json"],
    [
      "multipart/form-data; boundary=b",
      '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n--b--\r\n',
    ],
    ["application/jsonlines", '{"a":1}\n{"b":2}\n'],
    ["application/json-seq", "\u001e{}\n"],
  ])("%s", async (type, body) => {
    const response = await rawCall(gatehouse.proxyUrl, {
      target: path,
      headers: [["Content-Type", type]],
      body,
    });
    expect(response.status).toBe(200);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
    expect(onlyRequest(ada).header("content-type")).toBe(type);
  });

  test("also without a content type", async () => {
    await rawCall(gatehouse.proxyUrl, { target: path, body: '{"model": "other"' });
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe('{"model": "other"');
    expect(onlyRequest(ada).header("content-type")).toBeUndefined();
  });

  test.each(["[1, 2]", '"text"', "12345678901234567890", "null"])(
    "also JSON that is not an object: %s",
    async (body) => {
      await rawJson(gatehouse.proxyUrl, path, body);
      expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
    },
  );
});

describe("JSON content type with invalid JSON: 400 invalid_json", () => {
  test.each(["{", "{'a':1}", '{"a":1,}', "nonsense", '{"a":1}{"b":2}', "\u0000", '{"a":\u0001}'])(
    "%p",
    async (body) => {
      const path = await route();
      const response = await rawJson(gatehouse.proxyUrl, path, body);
      expect({ status: response.status, code: response.json().code }).toEqual({
        status: 400,
        code: "invalid_json",
      });
      expect(ada.requestCount + bob.requestCount).toBe(0);
    },
  );

  test("bytes that are not UTF-8", async () => {
    const path = await route();
    const body = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]);
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", headers, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_json" });
  });

  test("also if nothing in the body is read", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { path: "/echo" })] },
    });
    expect((await rawJson(gatehouse.proxyUrl, path, "{")).json()).toMatchObject({ code: "invalid_json" });
  });
});

describe("too large bodies get 413, also chunked ones", () => {
  const path = "/too-large";
  beforeAll(async () => {
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { path: "/echo" })] },
      rule: { path },
    });
  });

  function chunks(total: number): ReadableStream<Uint8Array> {
    let remaining = total;
    return new ReadableStream({
      pull(controller) {
        if (remaining === 0) {
          controller.close();
          return;
        }
        const size = Math.min(remaining, 10_000);
        remaining -= size;
        controller.enqueue(new Uint8Array(size).fill(120));
      },
    });
  }

  test.each([
    ["declared", (size: number) => new Uint8Array(size).fill(120)],
    ["chunked", chunks],
  ] as const)("%s: MAX_BODY_BYTES are accepted, one byte more is not", async (_, make) => {
    const post = (size: number) =>
      fetch(gatehouse.proxyUrl + path, {
        method: "POST",
        headers: { "Content-Type": "text/plain" },
        body: make(size),
      });
    const fits = await post(MAX_BODY_BYTES);
    expect(fits.status).toBe(200);
    await fits.bytes();
    expect(onlyRequest(ada).body.length).toBe(MAX_BODY_BYTES);
    ada.reset();
    const rejected = await post(MAX_BODY_BYTES + 1);
    expect(rejected.status).toBe(413);
    expect(await rejected.json()).toMatchObject({ code: "body_too_large" });
    expect(ada.requestCount).toBe(0);
  });
});

describe("uploads of files have their own limit, MAX_UPLOAD_BYTES", () => {
  const upload = async (end: string, size: number) => {
    const prefix = `/uploads-${crypto.randomUUID()}`;
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { provider: "openai" })] },
      rule: { path: `${prefix}/*`, operations: ["files"] },
    });
    const form = new FormData();
    form.set("file", new File([new Uint8Array(size)], "speech.mp3"));
    form.set("model", "whisper-1");
    return fetch(gatehouse.proxyUrl + prefix + end, { method: "POST", body: form });
  };

  test.each(["/v1/audio/transcriptions", "/v1/files", "/v1/images/edits"])("%s", async (end) => {
    expect((await upload(end, 3 * MAX_BODY_BYTES)).status).not.toBe(413);
    expect(onlyRequest(ada).body.length).toBeGreaterThan(3 * MAX_BODY_BYTES);
    ada.reset();
    const rejected = await upload(end, MAX_UPLOAD_BYTES);
    expect(rejected.status).toBe(413);
    expect(await rejected.json()).toMatchObject({
      code: "body_too_large",
      error: `The body is larger than ${MAX_UPLOAD_BYTES} bytes (MAX_UPLOAD_BYTES).`,
    });
  });

  test("a form to another endpoint has the limit of other bodies", async () => {
    expect((await upload("/v1/chat/completions", MAX_BODY_BYTES)).status).toBe(413);
    expect(ada.requestCount).toBe(0);
  });
});

describe("a body with a Content-Encoding", () => {
  const packed = Bun.gzipSync(JSON.stringify({ messages, model: "a2" }));
  const headers = { "Content-Type": "application/json", "Content-Encoding": "gzip" };

  test("is forwarded unchanged if nothing in it is read", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { path: "/echo" })] },
    });
    const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", headers, body: packed });
    expect(response.status).toBe(200);
    expect(onlyRequest(ada).header("content-encoding")).toBe("gzip");
    expect(Buffer.from(onlyRequest(ada).body).equals(packed)).toBe(true);
  });

  test("is rejected with 415 if its model is needed", async () => {
    const path = await route();
    const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", headers, body: packed });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ code: "unsupported_media_type" });
    expect(ada.requestCount + bob.requestCount).toBe(0);
  });

  test("identity is no encoding, in upper and lower case", async () => {
    const path = await route();
    for (const encoding of ["identity", "Identity"]) {
      const header: HeaderPair = ["Content-Encoding", encoding];
      expect((await rawJson(gatehouse.proxyUrl, path, { model: "a2", messages }, [header])).status).toBe(200);
    }
  });
});
