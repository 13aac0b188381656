// pii_mask in a gateway: the provider gets placeholders, the client gets its values, and nothing else ever shows them.
import { describe, expect, test } from "bun:test";
import { newAdminToken, newApiKey } from "../../src/base/ids.ts";
import { isJsonObject } from "../../src/base/json.ts";
import { postChat, STREAMED_CHAT, type Fields } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { readStreamedResponse, readWholeResponse } from "../support/text-streams.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([
  useGatehouse({ env: { LOG_LEVEL: "debug" } }),
  useFakeProvider(),
]);
const CANARY = "zq7391x@example.com";

function seed(settings: Fields = {}, gateway: Fields = {}, rule: Fields = {}): Promise<SeededRoute> {
  const plugins = [{ name: "pii_mask", stage: "pre_request", settings }];
  return seedRoute(gatehouse, {
    gateway: { required_plugins: plugins, log_bodies: true, ...gateway },
    upstream: { targets: [targetAt(provider)] },
    rule,
  });
}

const ask = (content: string) => [{ role: "user", content }];

/** The provider repeats the last message, in several events. */
function repeatMessages(): void {
  provider.behave((request) => {
    const json = request.json();
    const messages = isJsonObject(json) && Array.isArray(json["messages"]) ? json["messages"] : [];
    const last: unknown = messages.at(-1);
    return { text: isJsonObject(last) ? String(last["content"]) : "" };
  });
}

test("the provider gets placeholders, and the client its values, whole and streamed", async () => {
  repeatMessages();
  const route = await seed();
  const text = `Write to ${CANARY} or call +44 20 7946 0958.`;
  const whole = await postChat(gatehouse, route, { body: { model: "m", messages: ask(text) } });
  expect(readWholeResponse("openai", await whole.text()).content).toBe(text);
  const streamed = await postChat(gatehouse, route, { body: { ...STREAMED_CHAT, messages: ask(text) } });
  const bytes = Buffer.from(await streamed.arrayBuffer());
  expect(readStreamedResponse("openai", bytes).content).toBe(text);
  for (const request of provider.requests.slice(-2))
    expect(Buffer.from(request.body).toString()).toContain("Write to <EMAIL_1> or call <PHONE_1>.");

  const records = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    return body.requests.length === 2 ? body.requests : null;
  });
  const shown = JSON.stringify(records);
  expect(shown).toContain("<EMAIL_1>");
  expect(shown).not.toContain("zq7391x");
  const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
  expect(metrics + gatehouse.output()).not.toContain("zq7391x");
});

test("keys of this gateway, private keys and numbers in other characters are masked and restored", async () => {
  repeatMessages();
  const route = await seed();
  const secrets = [
    newApiKey(),
    newAdminToken(),
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----",
    "4111\u00a01111\u200b\u202f1111\u20091111",
    "ＧＢ８２　ＷＥＳＴ　１２３４　５６９８　７６５４　３２",
  ];
  const text = `${secrets.join("; ")}; even = xs[1::2]; Add::add`;
  const response = await postChat(gatehouse, route, { body: { model: "m", messages: ask(text) } });
  expect(readWholeResponse("openai", await response.text()).content).toBe(text);
  expect(JSON.parse(Buffer.from(provider.requests.at(-1)?.body ?? []).toString())).toMatchObject({
    messages: ask("<SECRET_1>; <SECRET_2>; <SECRET_3>; <CREDIT_CARD_1>; <IBAN_1>; even = xs[1::2]; Add::add"),
  });
});

test("values are restored in the transcript of audio, whole and streamed", async () => {
  const route = await seed();
  const body = { model: "m", messages: ask(CANARY) };
  const audio = (transcript: string) => ({ audio: { id: "a", transcript } });
  const message = { role: "assistant", content: null, ...audio("Say <EMAIL_1>.") };
  const whole = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] });
  provider.behave({ headers: [["Content-Type", "application/json"]], body: whole });
  expect(await (await postChat(gatehouse, route, { body })).text()).toBe(whole.replace("<EMAIL_1>", CANARY));

  const deltas = [audio("Say <EMA"), audio("IL_1>."), {}].map((delta, at) => ({
    choices: [{ index: 0, delta, finish_reason: at === 2 ? "stop" : null }],
  }));
  const events = deltas.map((delta) => `data: ${JSON.stringify(delta)}\n\n`).join("");
  provider.behave({ headers: [["Content-Type", "text/event-stream"]], body: `${events}data: [DONE]\n\n` });
  const streamed = await postChat(gatehouse, route, { body: { ...body, stream: true } });
  const transcripts = [...(await streamed.text()).matchAll(/"transcript":"([^"]*)"/g)].map(
    ([, text]) => text,
  );
  expect(transcripts.join("")).toBe(`Say ${CANARY}.`);
});

describe("a conversation that the provider keeps", () => {
  const seedResponses = (settings: Fields = {}) =>
    seed(settings, {}, { path: `/kept-${crypto.randomUUID()}/*` });
  const create = (route: SeededRoute, body: Fields) =>
    fetch(gatehouse.proxyUrl + route.path.replace("*", "v1/responses"), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "m", ...body }),
    });

  test.each([
    ["previous_response_id", "resp_1"],
    ["conversation", "conv_1"],
    ["conversation", { id: "conv_1" }],
  ])("is not continued with %s", async (field, value) => {
    const route = await seedResponses();
    provider.reset();
    for (const input of [`Write to ${CANARY}`, "Write again", "x ".repeat(200_000)]) {
      const response = await create(route, { input, [field]: value });
      const { code, error } = (await response.json()) as { code: string; error: unknown };
      expect({ status: response.status, code }).toEqual({ status: 400, code: "conversation_not_maskable" });
      expect(JSON.stringify(error)).toContain(field);
    }
    expect(provider.requests).toHaveLength(0);
  });

  test("is not continued after a turn with another value", async () => {
    provider.behave({ text: "Sent to <EMAIL_1>." });
    const route = await seedResponses();
    const first = await create(route, { input: `Write to ${CANARY}` });
    const { id, output } = (await first.json()) as { id: string; output: unknown };
    expect(JSON.stringify(output)).toContain(`Sent to ${CANARY}.`);
    const second = await create(route, { input: "Not to a@b.cc", previous_response_id: id });
    expect(second.status).toBe(400);
    expect(await second.text()).not.toContain("Sent to a@b.cc");
  });

  test("is continued by its items, and with other actions", async () => {
    provider.reset();
    const route = await seedResponses();
    const items = [`Write to ${CANARY}`, "to a@b.cc"].map((content) => ({ role: "user", content }));
    const response = await create(route, { input: items, previous_response_id: null, conversation: null });
    expect(response.status).toBe(200);
    expect(provider.requests.at(-1)?.json()).toMatchObject({
      input: [{ content: "Write to <EMAIL_1>" }, { content: "to <EMAIL_2>" }],
    });
    for (const action of ["block", "tag"]) {
      const other = await seedResponses({ action });
      const first = (await (await create(other, { input: "Hi" })).json()) as { id: string };
      expect((await create(other, { input: "And?", previous_response_id: first.id })).status).toBe(200);
    }
  });
});

test("a blocked request is not sent, and its body is not logged", async () => {
  provider.reset();
  const route = await seed({ action: "block" });
  const response = await postChat(gatehouse, route, { body: { messages: ask(CANARY) } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "pii_detected" });
  expect(provider.requests).toHaveLength(0);
  const record = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
    return body.requests[0] ?? null;
  });
  expect(JSON.stringify(record)).not.toContain("zq7391x");
  expect(gatehouse.output()).not.toContain("zq7391x");
});

test("a large body is masked in a worker thread", async () => {
  repeatMessages();
  const route = await seed();
  const text = `${"x ".repeat(200_000)}${CANARY}`;
  const response = await postChat(gatehouse, route, { body: { model: "m", messages: ask(text) } });
  expect(readWholeResponse("openai", await response.text()).content).toBe(text);
  expect(Buffer.from(provider.requests.at(-1)?.body ?? []).toString()).not.toContain("zq7391x");
});
