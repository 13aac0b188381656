// Section 5 of the contract, the body: which target a model goes to, what is changed in a body, and what never is.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { startFakeProvider, type FakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { CHAT, onlyRequest, rawCall, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";

const MAX_BODY_BYTES = 100_000;

let gatehouse: GatehouseProcess;
let ada: FakeProvider;
let bob: FakeProvider;
let cleo: FakeProvider;

beforeAll(async () => {
  [ada, bob, cleo] = await Promise.all([
    startFakeProvider({ name: "Ada" }),
    startFakeProvider({ name: "Bob" }),
    startFakeProvider({ name: "Cleo" }),
  ]);
  gatehouse = await startGatehouseProcess({ env: { MAX_BODY_BYTES: String(MAX_BODY_BYTES) } });
});
afterAll(async () => {
  await Promise.all([gatehouse.stop(), ada.stop(), bob.stop(), cleo.stop()]);
});
beforeEach(() => {
  for (const provider of [ada, bob, cleo]) provider.reset();
});

const messages = CHAT.messages;

/** A route to Ada (serves a1, a2; a1 by default), Bob (serves b1) and, where told, Cleo (serves everything). */
async function route(upstream: Record<string, unknown> = {}, withCleo = false): Promise<string> {
  const targets = [
    targetAt(ada, { default_model: "a1", models: ["a2"] }),
    targetAt(bob, { default_model: "b1", models: ["b1"] }),
    ...(withCleo ? [targetAt(cleo)] : []),
  ];
  return (await seedRoute(gatehouse, { upstream: { targets, ...upstream } })).path;
}

/** Who was asked and with which model, over so many requests. */
async function asked(path: string, body: object, times = 6): Promise<string[]> {
  for (let count = 0; count < times; count++) await rawJson(gatehouse.proxyUrl, path, body);
  const seen = [ada, bob, cleo].flatMap((provider) =>
    provider.requests.map(
      (request) => `${provider.name} ${(request.json() as { model?: string }).model ?? "-"}`,
    ),
  );
  return [...new Set(seen)].sort();
}

describe("the model", () => {
  test("absent, it is the target's default_model", async () => {
    const path = await route();
    expect(await asked(path, { messages })).toEqual(["Ada a1", "Bob b1"]);
  });

  test.each([{ model: null }, { model: "" }])("so it is when there is none in %p", async (model) => {
    const path = await route();
    expect(await asked(path, { ...model, messages })).toEqual(["Ada a1", "Bob b1"]);
  });

  test("absent, and without a default_model, it stays absent and the body as it was", async () => {
    const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(ada)] } });
    const body = `{ "messages":[{"role":"user","content":"Hi"}] }`;
    await rawJson(gatehouse.proxyUrl, path, body);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
  });

  test("default_model counts as one of models", async () => {
    const path = await route();
    expect(await asked(path, { model: "a1", messages })).toEqual(["Ada a1"]);
  });
});

describe("model_routing", () => {
  test("prefer is the default, and balances among the targets that serve the model", async () => {
    const path = await route();
    expect(await asked(path, { model: "a2", messages })).toEqual(["Ada a2"]);
    expect(await asked(path, { model: "b1", messages })).toEqual(["Ada a2", "Bob b1"]);
  });

  test("prefer: a target with no models serves all", async () => {
    const path = await route({}, true);
    expect(await asked(path, { model: "a2", messages })).toEqual(["Ada a2", "Cleo a2"]);
  });

  test("prefer: a model that only a target without models serves goes there alone", async () => {
    const path = await route({}, true);
    expect(await asked(path, { model: "unheard-of", messages })).toEqual(["Cleo unheard-of"]);
  });

  test("prefer: where none serves it, among all, each with its default_model", async () => {
    const path = await route({ model_routing: "prefer" });
    expect(await asked(path, { model: "unheard-of", messages })).toEqual(["Ada a1", "Bob b1"]);
  });

  test("prefer: where none of them is healthy, among all, each with its default_model", async () => {
    ada.behave({ status: 500 });
    const path = await route({
      health_checks: { passive: true, threshold: 1, interval: 600 },
      max_attempts: 1,
    });
    expect((await rawJson(gatehouse.proxyUrl, path, { model: "a2", messages })).status).toBe(500);
    ada.reset();
    expect(await asked(path, { model: "a2", messages })).toEqual(["Bob b1"]);
  });

  test("any balances among all, always, a target that does not serve the model getting its default_model", async () => {
    const path = await route({ model_routing: "any" }, true);
    expect(await asked(path, { model: "a2", messages })).toEqual(["Ada a2", "Bob b1", "Cleo a2"]);
  });

  test("require answers 404 model_not_found", async () => {
    const path = await route({ model_routing: "require" });
    const answer = await rawJson(gatehouse.proxyUrl, path, { model: "unheard-of", messages });
    expect(answer.status).toBe(404);
    expect(answer.json()).toMatchObject({
      code: "model_not_found",
      error: expect.stringContaining("unheard-of"),
    });
    expect(await asked(path, { model: "b1", messages })).toEqual(["Bob b1"]);
  });

  test("require: nobody else is asked when those that serve the model fail", async () => {
    const path = await route({ model_routing: "require" });
    bob.behave({ status: 503 });
    const answer = await rawJson(gatehouse.proxyUrl, path, { model: "b1", messages });
    expect(answer.status).toBe(503);
    expect(ada.requestCount).toBe(0);
  });

  test("failover within a request follows the same order: first those that serve the model", async () => {
    // The others are of a better tier, and come second all the same.
    const targets = [
      targetAt(ada, { default_model: "a1", models: ["a1"] }),
      targetAt(bob, { default_model: "b1", models: ["b1", "shared"], priority: 2 }),
      targetAt(cleo, { default_model: "c1", models: ["c1", "shared"], priority: 3 }),
    ];
    const { path } = await seedRoute(gatehouse, { upstream: { targets } });
    bob.behave({ status: 500 });
    cleo.behave({ status: 500 });
    const answer = await rawJson(gatehouse.proxyUrl, path, { model: "shared", messages });
    expect(answer.status).toBe(200);
    expect(answer.header("x-gw-attempts")).toBe("3");
    expect(answer.header("x-gw-model")).toBe("a1");
    expect(onlyRequest(bob).json()).toMatchObject({ model: "shared" });
    expect(onlyRequest(cleo).json()).toMatchObject({ model: "shared" });
    expect(onlyRequest(bob).startedAt).toBeLessThan(onlyRequest(cleo).startedAt);
    expect(onlyRequest(cleo).startedAt).toBeLessThan(onlyRequest(ada).startedAt);
    expect(onlyRequest(ada).json()).toMatchObject({ model: "a1" });
  });
});

describe("the body is re-serialised only when it changes", () => {
  const ODD =
    '{\n\t"zebra" : 12345678901234567890123, "float":1.0, "exp":1E5,"esc":"\\u00e9\\/",\r\n "model" : "MODEL",' +
    ' "messages":[ {"role":"user","content":"Hi \u{1F600}"} ] , "alpha":{"model":"inner"}, "list":[ ] }  \n';

  test("unchanged, its bytes are equal", async () => {
    const path = await route();
    const body = ODD.replace("MODEL", "a2");
    expect((await rawJson(gatehouse.proxyUrl, path, body)).status).toBe(200);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
  });

  test("changed, large numbers, key order and all but the model are as they were", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { default_model: "a1", models: ["a1"] })] },
    });
    expect((await rawJson(gatehouse.proxyUrl, path, ODD)).status).toBe(200);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(ODD.replace("MODEL", "a1"));
    expect(onlyRequest(ada).header("content-length")).toBe(String(Buffer.byteLength(ODD) - 3));
  });

  test("a model that is put in leaves the rest as it was", async () => {
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

describe("a body that is not JSON passes through untouched", () => {
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
    const answer = await rawCall(gatehouse.proxyUrl, {
      target: path,
      headers: [["Content-Type", type]],
      body,
    });
    expect(answer.status).toBe(200);
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe(body);
    expect(onlyRequest(ada).header("content-type")).toBe(type);
  });

  test("nor is one without a content type touched", async () => {
    await rawCall(gatehouse.proxyUrl, { target: path, body: '{"model": "other"' });
    expect(Buffer.from(onlyRequest(ada).body).toString()).toBe('{"model": "other"');
    expect(onlyRequest(ada).header("content-type")).toBeUndefined();
  });

  test.each(["[1, 2]", '"text"', "12345678901234567890", "null"])(
    "JSON that is no object has no model, and passes too: %s",
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
      const answer = await rawJson(gatehouse.proxyUrl, path, body);
      expect({ status: answer.status, code: answer.json().code }).toEqual({
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

  test("also where nothing in the body would be looked at", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { path: "/echo" })] },
    });
    expect((await rawJson(gatehouse.proxyUrl, path, "{")).json()).toMatchObject({ code: "invalid_json" });
  });
});

describe("larger bodies get 413, chunked ones too", () => {
  const path = "/too-large";
  beforeAll(async () => {
    await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { path: "/echo" })] },
      rule: { path },
    });
  });

  function chunks(total: number): ReadableStream<Uint8Array> {
    let left = total;
    return new ReadableStream({
      pull(controller) {
        if (left === 0) {
          controller.close();
          return;
        }
        const size = Math.min(left, 10_000);
        left -= size;
        controller.enqueue(new Uint8Array(size).fill(120));
      },
    });
  }

  test.each([
    ["declared", (size: number) => new Uint8Array(size).fill(120)],
    ["chunked", chunks],
  ] as const)("%s: MAX_BODY_BYTES pass, one byte more does not", async (_, make) => {
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
    const refused = await post(MAX_BODY_BYTES + 1);
    expect(refused.status).toBe(413);
    expect(await refused.json()).toMatchObject({ code: "body_too_large" });
    expect(ada.requestCount).toBe(0);
  });
});

describe("a body with a Content-Encoding", () => {
  const packed = Bun.gzipSync(JSON.stringify({ messages, model: "a2" }));
  const headers = { "Content-Type": "application/json", "Content-Encoding": "gzip" };

  test("passes untouched, still encoded, where nothing in it must be read", async () => {
    const { path } = await seedRoute(gatehouse, {
      upstream: { targets: [targetAt(ada, { path: "/echo" })] },
    });
    const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", headers, body: packed });
    expect(response.status).toBe(200);
    expect(onlyRequest(ada).header("content-encoding")).toBe("gzip");
    expect(Buffer.from(onlyRequest(ada).body).equals(packed)).toBe(true);
  });

  test("is refused with 415 where its model decides", async () => {
    const path = await route();
    const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", headers, body: packed });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ code: "unsupported_media_type" });
    expect(ada.requestCount + bob.requestCount).toBe(0);
  });

  test("identity is none, in any case", async () => {
    const path = await route();
    for (const encoding of ["identity", "Identity"]) {
      const header: HeaderPair = ["Content-Encoding", encoding];
      expect((await rawJson(gatehouse.proxyUrl, path, { model: "a2", messages }, [header])).status).toBe(200);
    }
  });
});
