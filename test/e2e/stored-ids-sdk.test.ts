// The official client libraries with stored objects: files, batches and responses through one rule for the whole API.
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "bun:test";
import OpenAI, { toFile } from "openai";
import { EVERYTHING, seedApi } from "../support/api-client.ts";
import { seedKey, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const ada = await useFakeProvider({ name: "Ada" });
const bea = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

async function clientOptions(
  provider = "openai",
): Promise<{ baseURL: string; apiKey: string; maxRetries: number }> {
  const targets = [ada, bea].map((each) => targetAt(each, { provider }));
  const { route, prefix } = await seedApi(gatehouse, targets, { rule: EVERYTHING });
  const { key } = await seedKey(gatehouse, route.gateway);
  return { baseURL: gatehouse.proxyUrl + prefix, apiKey: key, maxRetries: 0 };
}

async function openai(): Promise<OpenAI> {
  const options = await clientOptions();
  return new OpenAI({ ...options, baseURL: `${options.baseURL}/v1` });
}

test("openai: a batch from its input file to its output file", async () => {
  const client = await openai();
  const line = {
    custom_id: "first",
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "gpt-fake", messages: [{ role: "user", content: "Hi" }] },
  };
  const file = await client.files.create({
    file: await toFile(Buffer.from(JSON.stringify(line)), "input.jsonl"),
    purpose: "batch",
  });
  let batch = await client.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  while (batch.status !== "completed") batch = await client.batches.retrieve(batch.id);
  expect(batch.input_file_id).toBe(file.id);
  const output = await client.files.content(batch.output_file_id ?? "");
  expect(await output.text()).toContain('"custom_id":"first"');
  expect(await client.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
});

test("openai: pages of a list continue at the same target", async () => {
  const client = await openai();
  for (let count = 0; count < 6; count++)
    await client.files.create({ file: await toFile(Buffer.from("x"), "x.txt"), purpose: "user_data" });
  const ids: string[] = [];
  for await (const { id } of client.files.list({ limit: 1 })) ids.push(id);
  // The files are spread over two targets.
  expect(new Set(ids).size).toBe(3);
});

test("openai: a conversation of stored responses, streams included", async () => {
  const client = await openai();
  const respond = (input: string, previous: string | null) =>
    client.responses.stream({ model: "gpt-fake", input, previous_response_id: previous }).finalResponse();
  let previous: string | null = null;
  for (let turn = 0; turn < 3; turn++) {
    const response: Awaited<ReturnType<typeof respond>> = await respond(`turn ${turn}`, previous);
    expect(response.previous_response_id).toBe(previous);
    expect((await client.responses.retrieve(response.id)).id).toBe(response.id);
    previous = response.id;
  }
  expect([ada.requests.length, bea.requests.length].sort()).toEqual([0, 6]);
});

test("anthropic: the results of a message batch are read through the gateway", async () => {
  const client = new Anthropic(await clientOptions("anthropic"));
  const batch = (id: string) => ({
    id,
    type: "message_batch",
    processing_status: "ended",
    results_url: `https://provider.invalid/v1/messages/batches/${id}/results`,
  });
  for (const provider of [ada, bea]) provider.behave({ body: JSON.stringify(batch("msgbatch_1")) });
  const created = await client.messages.batches.create({ requests: [] });
  expect(created.id).toMatch(/^msgbatch_gw1/);
  const read = await client.messages.batches.retrieve(created.id);
  expect(read.id).toBe(created.id);
  for (const provider of [ada, bea])
    provider.behave({
      body: '{"custom_id":"first","result":{"type":"expired"}}\n',
      headers: [["content-type", "application/x-jsonl"]],
    });
  const results = await fetch(read.results_url ?? "", { headers: { "x-api-key": client.apiKey ?? "" } });
  expect(await results.text()).toContain("first");
  const providers = [ada, bea].filter(({ requests }) => requests.length > 0);
  expect(providers.map(({ requests }) => requests.map(({ target }) => target))).toEqual([
    ["/v1/messages/batches", "/v1/messages/batches/msgbatch_1", "/v1/messages/batches/msgbatch_1/results"],
  ]);
});
