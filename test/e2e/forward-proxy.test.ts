// Requests to providers through the forward proxy of HTTP_PROXY, and the exceptions of NO_PROXY.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { createServer, request as sendRequest, type IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import { postChat } from "../support/plugin-fixtures.ts";
import { CHAT, onlyRequest, seedRoute } from "../support/proxy-fixtures.ts";
import { checkSignature } from "../support/sigv4-check.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";

/** The targets of the requests that the proxy received. */
const proxied: string[] = [];

const provider = await useFakeProvider();
const proxy = createServer((incoming, outgoing) => {
  proxied.push(incoming.url ?? "");
  const { pathname, search } = new URL(incoming.url ?? "");
  const { method, headers } = incoming;
  const forwarded = sendRequest(
    { port: provider.port, path: pathname + search, method, headers },
    (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      pipeline(response, outgoing, () => undefined);
    },
  );
  incoming.pipe(forwarded);
});
const listening = Promise.withResolvers<undefined>();
proxy.listen(0, "127.0.0.1", () => listening.resolve(undefined));
await listening.promise;
const address = proxy.address();
if (address === null || typeof address === "string") throw new Error("the proxy has no port");
const gatehouse = await useGatehouseProcess({
  env: { HTTP_PROXY: `http://127.0.0.1:${address.port}`, NO_PROXY: "127.0.0.1, .internal.example" },
});
const routeTo = (base_url: string) =>
  seedRoute(gatehouse, { upstream: { targets: [{ provider: "openai", base_url }], max_attempts: 1 } });
// Only the proxy knows this name.
const throughProxy = await routeTo("http://provider.invalid");
const direct = await routeTo(provider.url);
beforeEach(() => {
  proxied.length = 0;
});
afterAll(() => {
  proxy.closeAllConnections();
  proxy.close();
});

test.each([false, true])("a request goes through the proxy (stream: %p)", async (stream) => {
  provider.behave({ text: "by proxy" });
  const response = await postChat(gatehouse, throughProxy, { body: { ...CHAT, stream } });
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toContain("proxy");
  if (stream) expect(text).toEndWith("data: [DONE]\n\n");
  expect(proxied).toEqual(["http://provider.invalid/v1/chat/completions"]);
});

test("an error of the provider is passed on", async () => {
  provider.behave({ status: 418 });
  expect((await postChat(gatehouse, throughProxy)).status).toBe(418);
});

test("a request through the proxy is signed as it arrives", async () => {
  const credentials = {
    type: "aws_sigv4",
    region: "us-east-1",
    service: "bedrock",
    access_key_id: "AKID",
    secret_access_key: "a secret",
  };
  const target = { provider: "bedrock", base_url: "http://provider.invalid", credentials };
  const route = await seedRoute(gatehouse, { upstream: { targets: [target] } });
  expect((await postChat(gatehouse, route)).status).toBe(200);
  expect(proxied).toEqual(["http://provider.invalid/openai/v1/chat/completions"]);
  const { isValid } = await checkSignature(onlyRequest(provider), "a secret");
  expect(isValid).toBe(true);
});

test("a connection test goes through the proxy", async () => {
  const target = { provider: "openai", base_url: "http://provider.invalid" };
  const path = `/gateways/${throughProxy.gateway}/test-connection`;
  const { body } = await gatehouse.api("POST", path, { target });
  expect([body.ok, body.status]).toEqual([true, 200]);
  expect(proxied).toEqual(["http://provider.invalid/v1/models"]);
});

test("a host in NO_PROXY is connected to directly", async () => {
  expect((await postChat(gatehouse, direct)).status).toBe(200);
  expect(proxied).toEqual([]);
});

test("a stream that breaks off in the proxy breaks off for the client", async () => {
  provider.behave({ chunks: 5, cutAfterChunks: 2 });
  const response = await postChat(gatehouse, throughProxy, { body: { ...CHAT, stream: true } });
  const text = await response.text().catch(() => "broken");
  expect(text).not.toContain("[DONE]");
});

test("two requests never share a connection to the proxy", async () => {
  const ports = new Set<number>();
  const onRequest = (incoming: IncomingMessage) => void ports.add(incoming.socket.remotePort ?? 0);
  proxy.on("request", onRequest);
  const other = await routeTo("http://provider.invalid");
  for (const route of [throughProxy, other, throughProxy]) {
    const response = await postChat(gatehouse, route);
    expect(response.status).toBe(200);
    await response.text();
  }
  proxy.off("request", onRequest);
  expect(ports.size).toBe(3);
});
