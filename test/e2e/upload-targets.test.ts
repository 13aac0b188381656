// Uploads and batches with targets of several providers: the API of the request selects the provider, and the model of a batch the target.
import { expect, test } from "bun:test";
import { rawCall, targetAt } from "../support/proxy-fixtures.ts";
import { seedApi } from "../support/api-client.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const ada = await useFakeProvider({ name: "Ada" });
const bea = await useFakeProvider({ name: "Bea" });
const cleo = await useFakeProvider({ name: "Cleo" });
const gatehouse = await useGatehouse();

const line = (model: string) =>
  JSON.stringify({
    custom_id: "1",
    method: "POST",
    url: "/v1/chat/completions",
    body: { model, messages: [] },
  });
const api = (fields: readonly (readonly [typeof ada, string, readonly string[]])[]) =>
  seedApi(
    gatehouse,
    fields.map(([provider, name, models]) => targetAt(provider, { provider: name, models })),
  );
const counts = () => [ada.requestCount, bea.requestCount, cleo.requestCount];

test("files for a batch go to the provider whose API has them, and the batch is created there", async () => {
  const { client } = await api([
    [bea, "anthropic", []],
    [ada, "openai", []],
  ]);
  for (let count = 0; count < 4; count++) {
    const id = await client.upload(`${line("gpt-fake")}\n`);
    const batch = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    expect(await client.json("POST", "/v1/batches", batch)).toMatchObject({ status: "validating" });
  }
  expect(counts()).toEqual([8, 0, 0]);
});

test("uploads with anthropic-version go to Anthropic, those of Gemini to no other provider", async () => {
  const { client, prefix } = await api([
    [ada, "openai", []],
    [bea, "anthropic", []],
  ]);
  for (let count = 0; count < 2; count++) {
    const form = new FormData();
    form.set("file", new File(["x"], "x.txt"));
    await client.call("POST", "/v1/files", form, { "anthropic-version": "2023-06-01" });
  }
  expect(counts()).toEqual([0, 2, 0]);
  const target = `${prefix}/upload/v1beta/files`;
  const upload = await rawCall(gatehouse.proxyUrl, {
    target,
    headers: [["Content-Type", "text/plain"]],
    body: "x",
  });
  expect([upload.status, upload.json().code]).toEqual([404, "operation_not_supported"]);
  expect(counts()).toEqual([0, 2, 0]);
});

test("a batch goes to a target that serves the model of its first line and runs batches", async () => {
  const { client } = await api([
    [ada, "openai", ["gpt-fake"]],
    [bea, "openai", ["gpt-other"]],
    [cleo, "mistral", ["gpt-other"]],
  ]);
  for (let count = 0; count < 3; count++) await client.upload(`${line("gpt-other")}\n${line("gpt-fake")}\n`);
  expect(counts()).toEqual([0, 3, 0]);
  for (let count = 0; count < 3; count++) await client.upload("no batch");
  expect(counts()).toEqual([1, 4, 1]);
});

test("a batch of messages goes to a target that serves its first model", async () => {
  const { client } = await api([
    [ada, "anthropic", ["claude-fake"]],
    [bea, "anthropic", ["claude-other"]],
  ]);
  const requests = [{ custom_id: "1", params: { model: "claude-other", max_tokens: 9, messages: [] } }];
  for (let count = 0; count < 3; count++) await client.call("POST", "/v1/messages/batches", { requests });
  expect(counts()).toEqual([0, 3, 0]);
});
