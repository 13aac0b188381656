// Ids of objects that providers store (files, batches): clients get sealed ids, which name the target and are valid for one
// gateway and one API key.
import { describe, expect, test } from "bun:test";
import zlib from "node:zlib";
import { ApiClient, EVERYTHING, seedApi, type Json } from "../support/api-client.ts";
import { seedKey, targetAt } from "../support/proxy-fixtures.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const ada = await useFakeProvider({ name: "Ada" });
const bea = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

const api = (
  targets: readonly Record<string, unknown>[] = [targetAt(ada)],
  options: { rule?: object } = {},
) => seedApi(gatehouse, targets, options);
const clientWith = (prefix: string, key: string | null, url = gatehouse.proxyUrl) =>
  new ApiClient(url, prefix, key);

/** Returns the last request that the provider received. */
const lastRequest = (provider = ada) => provider.requests.at(-1);

describe("files", () => {
  test("are uploaded and read with a sealed id, without any permission of the rule", async () => {
    const { client } = await api();
    const id = await client.upload("the content");
    expect(id).toMatch(/^file-gw1[\w-]{40,}$/);
    expect((await client.json("GET", `/v1/files/${id}`))["id"]).toBe(id);
    expect(lastRequest()?.target).toMatch(/^\/v1\/files\/file-(?!gw1)[\w]+$/);
    const content = await client.call("GET", `/v1/files/${id}/content`);
    expect(await content.text()).toBe("the content");
  });

  test("raw ids are 404, and no request reaches the provider", async () => {
    const { client } = await api();
    await client.upload();
    const raw = /file-\w+/.exec(JSON.stringify(await rawFiles()))?.[0] ?? "";
    const before = ada.requests.length;
    const found = await client.json("GET", `/v1/files/${raw}`);
    expect(found).toMatchObject({ status: 404, code: "not_found" });
    expect(found["error"]).toContain(`"${raw}"`);
    expect(await client.json("GET", `/v1/files/${raw}/content`)).toMatchObject({ status: 404 });
    const chat = fileMessage(raw);
    expect(await client.json("POST", "/v1/chat/completions", chat)).toMatchObject({
      status: 404,
      code: "not_found",
    });
    expect(ada.requests.length).toBe(before);
  });

  test("sealed ids are 404 for another API key, without a key, at another gateway, and if the target was deleted", async () => {
    const { client, route, prefix } = await api();
    const [first, second] = [
      await seedKey(gatehouse, route.gateway),
      await seedKey(gatehouse, route.gateway),
    ];
    const owner = clientWith(prefix, first.key);
    const id = await owner.upload();
    const path = `/v1/files/${id}`;
    expect((await owner.json("GET", path))["id"]).toBe(id);
    expect(await clientWith(prefix, second.key).json("GET", path)).toMatchObject({ status: 404 });
    expect(await client.json("GET", path)).toMatchObject({ status: 404 });
    const anonymous = await client.upload();
    expect(await (await api()).client.json("GET", `/v1/files/${anonymous}`)).toMatchObject({ status: 404 });
    const at = `/gateways/${route.gateway}/upstreams/${route.upstream}`;
    const { body: upstream } = await gatehouse.api("GET", at);
    const replaced = await gatehouse.api("PATCH", at, { targets: [targetAt(ada)] });
    expect(replaced.status).toBe(200);
    expect(replaced.body.targets[0].id).not.toBe(upstream.targets[0].id);
    expect(await owner.json("GET", path)).toMatchObject({ status: 404, code: "not_found" });
  });

  test("a rotated API key keeps its ids", async () => {
    const { route, prefix } = await api();
    const { id: keyId, key } = await seedKey(gatehouse, route.gateway);
    const id = await clientWith(prefix, key).upload();
    const rotated = await gatehouse.api("POST", `/iam/api-keys/${keyId}/rotate`);
    expect((await clientWith(prefix, rotated.body.key).json("GET", `/v1/files/${id}`))["id"]).toBe(id);
  });

  test("listing and deleting need the rule's permission", async () => {
    const refused = await api();
    const id = await refused.client.upload();
    for (const [method, path] of [
      ["GET", "/v1/files"],
      ["HEAD", "/v1/files"],
      ["DELETE", `/v1/files/${id}`],
    ] as const)
      expect((await refused.client.call(method, path)).status).toBe(403);
    const { client } = await api(undefined, { rule: EVERYTHING });
    const uploaded = await client.upload();
    const list = await client.json("GET", "/v1/files");
    expect(list["data"].map((file: Json) => file["id"])).toContain(uploaded);
    expect(list["first_id"]).toBe(uploaded);
    const next = await client.json("GET", `/v1/files?limit=5&after=${uploaded}`);
    expect(next["data"].map((file: Json) => file["id"])).not.toContain(uploaded);
    expect(lastRequest()?.target).toMatch(/^\/v1\/files\?limit=5&after=file-(?!gw1)\w+$/);
    expect(await client.json("DELETE", `/v1/files/${uploaded}`)).toMatchObject({
      id: uploaded,
      deleted: true,
    });
  });

  test("requests go to the target that has the file, whatever the balancing", async () => {
    const { client } = await api([targetAt(ada), targetAt(bea)]);
    const ids = [await client.upload("one"), await client.upload("two")];
    expect([ada.requests.length, bea.requests.length]).toEqual([1, 1]);
    for (const [index, id] of ids.entries())
      for (let repeat = 0; repeat < 3; repeat++)
        expect(await (await client.call("GET", `/v1/files/${id}/content`)).text()).toBe(
          ["one", "two"][index] ?? "",
        );
  });

  test("a request with ids of two targets is 400", async () => {
    const { client } = await api([targetAt(ada), targetAt(bea)]);
    const ids = [await client.upload(), await client.upload()];
    const response = await client.json("POST", "/v1/chat/completions", fileMessage(...ids));
    expect(response).toMatchObject({ status: 400, code: "bad_request" });
    expect(response["error"]).toContain("another provider account");
  });

  test("in chat requests, the sealed id becomes the provider's, and all other bytes stay", async () => {
    const { client } = await api([targetAt(ada), targetAt(bea)]);
    const id = await client.upload();
    const target = ada.requests.length > 0 ? ada : bea;
    const raw = rawIdOf(target);
    const body = (fileId: string) =>
      `{ "model":"gpt-fake", "messages":[ {"role":"user","content":[{"type":"file","file":{"file_id" : "${fileId}"}},` +
      `{"type":"text","text":"\\u0048i ${fileId}"}]}], "seed": 1.50 }`;
    for (let repeat = 0; repeat < 3; repeat++) {
      const response = await client.call("POST", "/v1/chat/completions", body(id));
      expect(response.status).toBe(200);
      const expected = body(id).replace(`"${id}"`, `"${raw}"`);
      expect(Buffer.from(lastRequest(target)?.body ?? []).toString()).toBe(expected);
    }
    // A body that is searched in a worker thread.
    const large = { ...fileMessage(id), pad: "x".repeat(400_000) };
    expect((await client.call("POST", "/v1/chat/completions", large)).status).toBe(200);
    expect(Buffer.from(lastRequest(target)?.body ?? []).toString()).toBe(
      JSON.stringify(large).replace(id, raw),
    );
  });

  test.each(["/v1/chat/completions", "/v1/unknown"])(
    "ids in compressed bodies cannot be checked, so these are 415: %s",
    async (path) => {
      const { client } = await api([targetAt(ada)], { rule: EVERYTHING });
      const response = await postGzip(`${client.prefix}${path}`, fileMessage("file-raw"));
      expect(response.status).toBe(415);
      expect(ada.requests).toEqual([]);
    },
  );

  test("a compressed body for an unknown endpoint is forwarded as it is if it has no ids", async () => {
    const { client } = await api([targetAt(ada)], { rule: EVERYTHING });
    await (await postGzip(`${client.prefix}/v1/unknown`, { input: "hello" })).bytes();
    expect(ada.requests.map(({ body }) => zlib.gunzipSync(body).toString())).toEqual(['{"input":"hello"}']);
  });

  test("ids before the invalid part of a compressed body are found", async () => {
    const { client } = await api([targetAt(ada)], { rule: EVERYTHING });
    const body = Buffer.concat([Bun.gzipSync(JSON.stringify(fileMessage("file-raw"))), Buffer.from("x")]);
    expect((await sendGzip(`${client.prefix}/v1/unknown`, body)).status).toBe(415);
    const uncompressed = Buffer.from(JSON.stringify(fileMessage("file-raw")));
    expect((await sendGzip(`${client.prefix}/v1/unknown`, uncompressed)).status).toBe(415);
    expect(ada.requests).toEqual([]);
  });

  test("a target with a path gets and returns the provider's own ids, as before", async () => {
    const { client, prefix } = await api([targetAt(ada, { path: "" })], { rule: { strip_path: true } });
    const id = await client.upload();
    expect(id).toMatch(/^file-(?!gw1)\w+$/);
    expect((await client.json("GET", `/v1/files/${id}`))["id"]).toBe(id);
    expect(lastRequest()?.target).toBe(`/v1/files/${id}`);
    expect(prefix).not.toBe("");
  });

  test("beside a target without a path, only a target with one gets raw ids", async () => {
    const { client } = await api([targetAt(ada), targetAt(bea, { path: "/v1/chat/completions" })]);
    for (let repeat = 0; repeat < 3; repeat++)
      expect((await client.call("POST", "/v1/chat/completions", fileMessage("file-raw"))).status).toBe(200);
    expect([ada.requests.length, bea.requests.length]).toEqual([0, 3]);
    expect((await client.call("GET", "/v1/files/file-raw")).status).toBe(404);
  });

  test("in a long list, all ids are sealed, and all other bytes stay", async () => {
    const { client } = await api(undefined, { rule: EVERYTHING });
    const list = (idOf: (serial: number) => string) => {
      const file = (_: unknown, serial: number) =>
        `{ "id" : "${idOf(serial)}", "filename":"file-${serial}", "bytes":1.0}`;
      return `{"object":"list","data":[${Array.from({ length: 8000 }, file).join(",\n")}]}`;
    };
    const raw = list((serial) => `file-${serial}`);
    expect(raw.length).toBeGreaterThan(400_000);
    ada.behave({ body: raw });
    const text = await (await client.call("GET", "/v1/files")).text();
    const ids = [...text.matchAll(/"id" : "(file-gw1[\w-]+)"/g)].map(([, id = ""]) => id);
    expect(new Set(ids).size).toBe(8000);
    expect(text === list((serial) => ids[serial] ?? "")).toBe(true);
    ada.behave({});
    await client.call("GET", `/v1/files/${ids[7999]}`);
    expect(lastRequest()?.target).toBe("/v1/files/file-7999");
  });

  test("two nodes with the same server secret accept each other's ids", async () => {
    const { client } = await api();
    const id = await client.upload("shared");
    const other = await startGatehouseProcess({ dataDir: gatehouse.dataDir, keepData: true });
    try {
      const there = clientWith(client.prefix, null, other.proxyUrl);
      expect(await (await there.call("GET", `/v1/files/${id}/content`)).text()).toBe("shared");
      expect((await there.json("GET", `/v1/files/${id}`))["id"]).toBe(id);
    } finally {
      await other.stop();
    }
  });

  test("explain shows the target that has the file, and the provider's id", async () => {
    const { client, route } = await api([targetAt(ada), targetAt(bea)]);
    const id = await client.upload();
    const target = ada.requests.length > 0 ? ada : bea;
    const explain = (path: string) =>
      gatehouse.api("POST", `/gateways/${route.gateway}/explain`, {
        method: "GET",
        path: client.prefix + path,
      });
    const { body } = await explain(`/v1/files/${id}`);
    expect(body.upstream_request.url).toBe(`${target.url}/v1/files/${rawIdOf(target)}`);
    expect(body.targets.filter((each: Json) => each["eligible"])).toHaveLength(1);
    expect(body.targets.find((each: Json) => !each["eligible"])?.reason).toContain("at another target");
    expect((await explain("/v1/files/file-raw")).body.answer).toMatchObject({
      status: 404,
      code: "not_found",
    });
  });
});

describe("batches", () => {
  test("go to the target of their input file, and all their ids are sealed", async () => {
    const { client } = await api([targetAt(ada), targetAt(bea)], { rule: EVERYTHING });
    const line = { custom_id: "1", method: "POST", url: "/v1/chat/completions", body: fileMessage() };
    const input = await client.upload(JSON.stringify(line));
    let batch: Json = await client.json("POST", "/v1/batches", {
      input_file_id: input,
      endpoint: "/v1/chat/completions",
      metadata: { file_id: "my own" },
    });
    expect(batch["id"]).toMatch(/^batch_gw1/);
    expect(batch).toMatchObject({
      input_file_id: input,
      output_file_id: null,
      metadata: { file_id: "my own" },
    });
    const { id } = batch;
    // The fake provider advances a batch with each request for it.
    while (batch["status"] !== "completed") batch = await client.json("GET", `/v1/batches/${id}`);
    expect([batch["id"], batch["input_file_id"]]).toEqual([id, input]);
    expect(batch["output_file_id"]).toMatch(/^file-gw1/);
    const output = await client.call("GET", `/v1/files/${batch["output_file_id"]}/content`);
    expect(await output.text()).toContain('"custom_id":"1"');
    expect(await client.json("POST", `/v1/batches/${id}/cancel`)).toMatchObject({ status: 409 });
    expect([...ada.requests, ...bea.requests].every(({ target }) => !target.includes("gw1"))).toBe(true);
  });

  test("a raw input_file_id is 404", async () => {
    const { client } = await api();
    const batch = { input_file_id: "file-raw", endpoint: "/v1/chat/completions" };
    expect(await client.json("POST", "/v1/batches", batch)).toMatchObject({ status: 404, code: "not_found" });
    expect(ada.requests).toEqual([]);
  });

  test("of messages: the results_url leads to the gateway, with the sealed id", async () => {
    const { client } = await api([targetAt(ada, { provider: "anthropic" })]);
    ada.behave({
      body: '{"id": "msgbatch_01x", "type":"message_batch", "results_url": "https://api.example.com/v1/messages/batches/msgbatch_01x/results"}',
    });
    const batch = await client.json("POST", "/v1/messages/batches", { requests: [] });
    expect(batch["id"]).toMatch(/^msgbatch_gw1/);
    expect(batch["results_url"]).toBe(
      `${gatehouse.proxyUrl}${client.prefix}/v1/messages/batches/${batch["id"]}/results`,
    );
    ada.behave({ body: '{"custom_id":"a","id":"b"}\n{"id":"c"}\n' });
    expect(await (await fetch(batch["results_url"])).text()).toBe('{"custom_id":"a","id":"b"}\n{"id":"c"}\n');
    expect(lastRequest()?.target).toBe("/v1/messages/batches/msgbatch_01x/results");
  });
});

describe("fine-tuning", () => {
  test("needs the rule's permission, and its ids are sealed", async () => {
    const { client } = await api(undefined, { rule: EVERYTHING });
    const file = await client.upload();
    ada.behave({
      body: '{"object":"list","data":[{"id":"ftjob-1","training_file":"file-1","validation_file":null,"result_files":["file-2"]}]}',
    });
    const jobs = await client.json("POST", "/v1/fine_tuning/jobs", { training_file: file, model: "m" });
    expect(lastRequest()?.json()).toEqual({ training_file: rawIdOf(ada), model: "m" });
    const [job] = jobs["data"];
    expect([job.id, job.training_file, ...job.result_files]).toEqual([
      expect.stringMatching(/^ftjob-gw1/),
      expect.stringMatching(/^file-gw1/),
      expect.stringMatching(/^file-gw1/),
    ]);
    await client.call("POST", `/v1/fine_tuning/jobs/${job.id}/cancel`);
    expect(lastRequest()?.target).toBe("/v1/fine_tuning/jobs/ftjob-1/cancel");
    expect((await (await api()).client.call("GET", "/v1/fine_tuning/jobs")).status).toBe(403);
  });
});

test("files of a vector store are not files of the files API", async () => {
  const refused = await api();
  expect((await refused.client.call("GET", "/v1/vector_stores/vs_1/files")).status).toBe(403);
  const { client } = await api(undefined, { rule: { ...EVERYTHING, strip_path: true } });
  await client.call("GET", "/v1/vector_stores/vs_1/files");
  expect(lastRequest()?.target).toBe("/v1/vector_stores/vs_1/files");
});

test("endpoints that the gateway does not know get the provider's ids", async () => {
  const { client } = await api([targetAt(ada), targetAt(bea)], {
    rule: { ...EVERYTHING, strip_path: true },
  });
  const id = await client.upload();
  const target = ada.requests.length > 0 ? ada : bea;
  const raw = rawIdOf(target);
  for (let repeat = 0; repeat < 2; repeat++) {
    await client.call("POST", "/v1/vector_stores", { file_ids: [id, "file-raw"] });
    expect(lastRequest(target)?.json()).toEqual({ file_ids: [raw, "file-raw"] });
    await client.call("DELETE", `/v1/vector_stores/vs_1/files/${id}`);
    expect(lastRequest(target)?.target).toBe(`/v1/vector_stores/vs_1/files/${raw}`);
  }
});

test("files that code of the model created have sealed ids, and the conversation can be continued", async () => {
  const { client } = await api([targetAt(ada, { provider: "anthropic" })]);
  const tools = [{ type: "code_execution_20250825", name: "code_execution" }];
  const result = (id: string) =>
    `{"type":"bash_code_execution_tool_result","content":{"content":[{"type":"output","file_id":"${id}"}]}}`;
  const message = `{"type":"message","role":"assistant","content":[${result("file_01")}], "id":"msg_1"}`;
  ada.behave({ body: message });
  const question = { role: "user", content: "Plot it" };
  const response = await client.call("POST", "/v1/messages", { max_tokens: 9, messages: [question], tools });
  const text = await response.text();
  const id = /file_gw1[\w-]+/.exec(text)?.[0] ?? "";
  expect(text).toBe(message.replace("file_01", id));
  const { content } = JSON.parse(text) as Json;
  const messages = [question, { role: "assistant", content }, { role: "user", content: "And?" }];
  await client.call("POST", "/v1/messages", { max_tokens: 9, messages, tools });
  expect(Buffer.from(lastRequest()?.body ?? []).toString()).toContain(`"content":[${result("file_01")}]`);
  await client.call("GET", `/v1/files/${id}/content`);
  expect(lastRequest()?.target).toBe("/v1/files/file_01/content");
});

function fileMessage(...ids: string[]): Json {
  const content = ids.map((id) => ({ type: "file", file: { file_id: id } }));
  return {
    model: "gpt-fake",
    messages: [{ role: "user", content: [...content, { type: "text", text: "Hi" }] }],
  };
}

/** Returns the id of the last file that was uploaded to the provider. */
function rawIdOf(provider: typeof ada): string {
  const serial = provider.requests.findLast(({ target }) => target === "/v1/files")?.serial;
  return `file-${provider.name}${serial}`;
}

async function rawFiles(): Promise<unknown> {
  return (await fetch(`${ada.url}/v1/files`)).json();
}

function postGzip(path: string, body: object): Promise<Response> {
  return sendGzip(path, Bun.gzipSync(JSON.stringify(body)));
}

function sendGzip(path: string, body: Uint8Array<ArrayBuffer>): Promise<Response> {
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  return fetch(`${gatehouse.proxyUrl}${path}`, { method: "POST", headers, body });
}
