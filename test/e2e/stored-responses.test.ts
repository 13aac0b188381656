// Stored responses: clients get sealed ids, so that a conversation continues at the target that has it.
import { expect, test } from "bun:test";
import { ApiClient, EVERYTHING, seedApi } from "../support/api-client.ts";
import { seedKey, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const ada = await useFakeProvider({ name: "Ada" });
const bea = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

const api = (
  targets: readonly Record<string, unknown>[] = [targetAt(ada)],
  options: { rule?: object } = {},
) => seedApi(gatehouse, targets, options);
const clientWith = (prefix: string, key: string) => new ApiClient(gatehouse.proxyUrl, prefix, key);
const lastRequest = (provider = ada) => provider.requests.at(-1);

const create = (input: string, fields: object = {}) => ({ model: "gpt-fake", input, ...fields });

test("previous_response_id goes to the target that has the response, whatever the balancing", async () => {
  const { client } = await api([targetAt(ada), targetAt(bea)]);
  for (const provider of [ada, bea]) {
    const first = await client.json("POST", "/v1/responses", create("Hi"));
    expect(first["id"]).toMatch(/^resp_gw1/);
    expect(provider.requests).toHaveLength(1);
    const raw = `resp_${provider.name}${lastRequest(provider)?.serial}`;
    for (let repeat = 1; repeat <= 2; repeat++) {
      const next = await client.json(
        "POST",
        "/v1/responses",
        create("And?", { previous_response_id: first["id"] }),
      );
      expect(next["previous_response_id"]).toBe(first["id"]);
      expect(lastRequest(provider)?.json()).toMatchObject({ previous_response_id: raw });
    }
    ada.reset();
    bea.reset();
  }
});

test("are read with their input by the sealed id, and deleted with the rule's permission", async () => {
  const { client, route, prefix } = await api();
  const { id } = await client.json("POST", "/v1/responses", create("Hi"));
  expect((await client.json("GET", `/v1/responses/${id}`))["id"]).toBe(id);
  const items = await client.json("GET", `/v1/responses/${id}/input_items?limit=1`);
  expect(items["data"][0]).toMatchObject({ role: "user" });
  expect(items["data"][0].id).not.toContain("gw1");
  expect((await client.call("DELETE", `/v1/responses/${id}`)).status).toBe(403);
  await gatehouse.api("PATCH", `/gateways/${route.gateway}/rules/${route.rule}`, EVERYTHING);
  expect(await client.json("DELETE", `/v1/responses/${id}`)).toMatchObject({ id, deleted: true });
  expect(await client.json("GET", "/v1/responses/resp_1")).toMatchObject({
    status: 404,
    code: "not_found",
  });
  const { key } = await seedKey(gatehouse, route.gateway);
  const other = await clientWith(prefix, key).json(
    "POST",
    "/v1/responses",
    create("x", { previous_response_id: id }),
  );
  expect(other).toMatchObject({ status: 404, code: "not_found" });
});

test("every event of a stream has the sealed id, and all other bytes are those of the provider", async () => {
  const { client } = await api();
  const { id } = await client.json("POST", "/v1/responses", create("Hi"));
  const response = await client.call(
    "POST",
    "/v1/responses",
    create("Go", { stream: true, previous_response_id: id }),
  );
  const sealed = await response.text();
  const own = /"id":"(resp_gw1[\w-]+)"/.exec(sealed)?.[1] ?? "";
  expect(own).not.toBe(id);
  expect(sealed).not.toMatch(/resp_(?!gw1)/);
  const raw = `resp_${ada.name}${lastRequest()?.serial}`;
  const events = sealed.replaceAll(own, raw).replaceAll(String(id), `resp_${ada.name}1`);
  // The same events, one byte per chunk.
  ada.behave({
    body: Array.from(events),
    headers: [["content-type", "text/event-stream"]],
  });
  const bytewise = await client.call("POST", "/v1/responses", create("Go", { stream: true }));
  expect(await bytewise.text()).toBe(sealed);
});

test("a compressed response is decoded, and its ids are sealed", async () => {
  const { client } = await api();
  ada.behave({
    body: Bun.gzipSync('{ "id":"resp_1", "output":[], "metadata":{"id":"resp_1"} }'),
    headers: [["content-encoding", "gzip"]],
  });
  const response = await client.call("POST", "/v1/responses", create("Hi"), { "accept-encoding": "gzip" });
  expect(await response.text()).toMatch(
    /^\{ "id":"resp_gw1[\w-]+", "output":\[\], "metadata":\{"id":"resp_1"\} \}$/,
  );
});

test("of targets with another format are not stored: 400 stateless_responses", async () => {
  const { client } = await api([targetAt(ada, { provider: "anthropic" })], { rule: EVERYTHING });
  const { id } = await client.json("POST", "/v1/responses", create("Hi"));
  const mixed = await api([targetAt(ada, { provider: "anthropic" }), targetAt(bea)], { rule: EVERYTHING });
  const expected = { status: 400, code: "stateless_responses" };
  for (const each of [client, mixed.client]) {
    const next = create("And?", { previous_response_id: id });
    expect(await each.json("POST", "/v1/responses", next)).toMatchObject(expected);
    expect(await each.json("GET", `/v1/responses/${id}`)).toMatchObject(expected);
    expect(await each.json("DELETE", `/v1/responses/${id}`)).toMatchObject(expected);
  }
});

test("the response to an error stays as it is", async () => {
  const { client } = await api();
  ada.behave({ status: 400, body: '{"id":"resp_1","error":{"message":"x"}}' });
  expect(await (await client.call("POST", "/v1/responses", create("Hi"))).text()).toBe(
    '{"id":"resp_1","error":{"message":"x"}}',
  );
});
