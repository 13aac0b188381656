// Tests of the example, with the plugin test harness and a real HTTP service.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { testPlugin } from "gatehouse/sdk/testing";
import lookupHeader from "./lookup-header.ts";

const asked: (string | null)[] = [];
let respond: () => Response | Promise<Response>;
const service = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    asked.push(new URL(request.url).searchParams.get("key"));
    return respond();
  },
});
afterAll(() => service.stop(true));
beforeEach(() => {
  asked.length = 0;
  respond = () => new Response("acme\n");
});

const url = service.url.href;
const apiKey = { id: "key-1", name: "first" };

test("adds the value of the service, asks once per key, and ignores a header of the client", async () => {
  const plugin = testPlugin(lookupHeader, { url, timeout_ms: 4000 });
  const send = async (id: string) => {
    const { headers } = await plugin.preRequest({
      apiKey: { id, name: id },
      headers: { "X-Tenant": "forged" },
    });
    return headers["x-tenant"];
  };
  expect([await send("a"), await send("a"), await send("b")]).toEqual(["acme", "acme", "acme"]);
  expect(asked).toEqual(["a", "b"]);
});

test("a request without an API key gets no header", async () => {
  const { headers } = await testPlugin(lookupHeader, { url }).preRequest({
    headers: { "x-tenant": "forged" },
  });
  expect([headers, asked]).toEqual([{}, []]);
});

test.each([
  ["responds with an error", 4000, () => new Response("down", { status: 500 })],
  ["returns no value for a header", 4000, () => new Response("a\r\nb")],
  ["does not respond in time", 20, () => new Promise<Response>(() => undefined)],
])("a service that %s is reported", async (_, timeout_ms, broken) => {
  respond = broken;
  const plugin = testPlugin(lookupHeader, { url, timeout_ms });
  const { headers, response } = await plugin.preRequest({ apiKey });
  expect([headers["x-tenant"], response, plugin.counted]).toEqual([undefined, null, { failed: 1 }]);
  const rejecting = testPlugin(lookupHeader, { url, timeout_ms, on_failure: "reject" });
  expect((await rejecting.preRequest({ apiKey })).response).toMatchObject({ status: 503 });
});

test("a failure is not kept", async () => {
  const plugin = testPlugin(lookupHeader, { url, timeout_ms: 4000 });
  respond = () => new Response("down", { status: 500 });
  await plugin.preRequest({ apiKey });
  respond = () => new Response("acme");
  expect((await plugin.preRequest({ apiKey })).headers["x-tenant"]).toBe("acme");
});

test("rejects settings that cannot work", () => {
  expect(() => testPlugin(lookupHeader, { url: "file:///etc/passwd" })).toThrow();
  expect(() => testPlugin(lookupHeader, { url, timeout_ms: 60_000 })).toThrow();
});
