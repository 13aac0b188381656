// Requests to operations of providers are JSON whatever their Content-Type says: model, format and provider are those of the body.
import { describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import type { RecordedRequest } from "../../src/fake-provider/server.ts";
import { onlyRequest, rawCall, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const openai = await useFakeProvider({ name: "Ada" });
const anthropic = await useFakeProvider({ name: "Bea" });
const gatehouse = await useGatehouse();

const CHAT = JSON.stringify({ model: "claude-fake", messages: [{ role: "user", content: "Good morning" }] });
const FORM = "multipart/form-data; boundary=b";
const part = (name: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;

const { path } = await seedRoute(gatehouse, {
  upstream: {
    targets: [
      targetAt(openai, { models: ["gpt-fake"] }),
      targetAt(anthropic, { provider: "anthropic", models: ["claude-fake"] }),
    ],
  },
  rule: { path: "/types/*", methods: ["*"] },
});
const prefix = path.slice(0, -2);

const typeOf = ({ headers }: RecordedRequest) =>
  headers.find(([name]) => name.toLowerCase() === "content-type")?.[1];
const expectNoRequest = () => {
  expect([openai.requestCount, anthropic.requestCount]).toEqual([0, 0]);
};

const send = (end: string, type: string | null, body: string, encoding: string | null = null) =>
  rawCall(gatehouse.proxyUrl, {
    target: prefix + end,
    headers: [
      ...(type === null ? [] : [["Content-Type", type] satisfies HeaderPair]),
      ...(encoding === null ? [] : [["Content-Encoding", encoding] satisfies HeaderPair]),
    ],
    body,
  });

const TYPES = [
  "text/plain",
  "application/x-www-form-urlencoded",
  FORM,
  "application/octet-stream",
  "application/json, text/plain",
  null,
];

test.each(TYPES)("a chat request of type %p goes to the target that serves its model", async (type) => {
  for (let count = 0; count < 2; count++) {
    anthropic.reset();
    const response = await send("/v1/chat/completions", type, ` \r\n${CHAT}`);
    expect(response.status).toBe(200);
    const sent = onlyRequest(anthropic);
    expect(sent.target).toBe("/v1/messages");
    expect(typeOf(sent)).toBe("application/json");
    expect(JSON.parse(sent.body.toString())).toMatchObject({
      model: "claude-fake",
      max_tokens: expect.anything(),
    });
  }
  expect(openai.requestCount).toBe(0);
});

test("a form goes to the target that serves the model of its first part of that name", async () => {
  const form = `${part('file"; filename="a.wav', "RIFF")}${part("model", "gpt-fake")}--b--\r\n`;
  for (let count = 0; count < 2; count++)
    expect((await send("/v1/audio/transcriptions", FORM, form)).status).toBe(200);
  expect(openai.requests.map(typeOf)).toEqual([FORM, FORM]);
  expect(anthropic.requestCount).toBe(0);
});

describe("a request whose model may be in the body, but cannot be read, reaches no provider:", () => {
  test.each([
    ["text/plain", `${CHAT}${CHAT}`, 400],
    ["text/plain", `[${CHAT}]`, 400],
    ["text/plain", CHAT.replace("{", '{"model":"gpt-fake",'), 400],
    ["application/octet-stream", Buffer.from(CHAT, "utf16le").toString("latin1"), 400],
    ["application/x-www-form-urlencoded", "model=claude-fake&messages=x", 400],
    [FORM, `${part("model", "gpt-fake")}${part("model", "claude-fake")}--b--\r\n`, 400],
  ])("%s: %j", async (type, body, status) => {
    expect((await send("/v1/chat/completions", type, body)).status).toBe(status);
    expectNoRequest();
  });

  test("compressed", async () => {
    const body = Buffer.from(Bun.gzipSync(CHAT)).toString("latin1");
    expect((await send("/v1/chat/completions", "text/plain", body, "gzip")).status).toBe(415);
    expectNoRequest();
  });
});
