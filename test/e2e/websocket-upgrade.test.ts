// WebSocket handshakes on paths that do not serve WebSockets: 426 and a closed connection, never a forwarded GET.
import { describe, expect, test } from "bun:test";
import type { HeaderPair } from "../../src/fake-provider/behavior.ts";
import { connectRaw } from "../support/raw-client.ts";
import { rawCall, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitFor } from "../support/waiting.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const provider = await useFakeProvider();
const gatehouse = await useGatehouse();

const HANDSHAKE: readonly HeaderPair[] = [
  ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
  ["Sec-WebSocket-Version", "13"],
];
const UPGRADE: readonly HeaderPair[] = [["Connection", "Upgrade"], ["Upgrade", "websocket"], ...HANDSHAKE];

const seed = (rule: Record<string, unknown>, gateway: Record<string, unknown> = {}) =>
  seedRoute(gatehouse, {
    gateway,
    upstream: { targets: [targetAt(provider, { path: "/echo" })], max_attempts: 1 },
    rule: { methods: ["GET", "POST"], ...rule },
  });

async function handshake(target: string, headers = UPGRADE, url = gatehouse.proxyUrl) {
  return rawCall(url, { method: "GET", target, headers });
}

/** Resolves to the error of a real WebSocket client. */
function webSocketError(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace("http", "ws"));
    socket.addEventListener("error", (event) => resolve("message" in event ? event.message : ""));
    socket.addEventListener("open", () => reject(new Error("the WebSocket was opened")));
  });
}

test("a WebSocket client is rejected with 426, and the provider receives no request", async () => {
  const { path } = await seed({});
  expect(await webSocketError(gatehouse.proxyUrl + path)).toContain("426");
  expect(provider.requests).toEqual([]);
});

test("the response has the error body, names HTTP, and closes the connection", async () => {
  const { path } = await seed({});
  const client = await connectRaw(Number(new URL(gatehouse.proxyUrl).port));
  const lines = [["Host", "localhost"], ...UPGRADE].map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const { received } = await client.ended;
  const [headers = "", body = ""] = received.split("\r\n\r\n");
  expect(headers).toStartWith("HTTP/1.1 426 ");
  expect(headers).toContain("\r\nConnection: close, Upgrade\r\n");
  expect(headers).toContain("\r\nUpgrade: HTTP/1.1\r\n");
  expect(JSON.parse(body)).toEqual({
    error: "This path does not serve WebSockets. Send an HTTP request without Upgrade.",
    code: "websocket_not_supported",
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

describe("426 for every spelling of the handshake", () => {
  const variants: readonly (readonly [string, readonly HeaderPair[]])[] = [
    ["upper case", [["Connection", "UPGRADE"], ["Upgrade", "WebSocket"], ...HANDSHAKE]],
    ["with keep-alive", [["Connection", "keep-alive, Upgrade"], ["Upgrade", "websocket"], ...HANDSHAKE]],
    ["in a list", [["Connection", "Upgrade"], ["Upgrade", "h2c , websocket"], ...HANDSHAKE]],
    [
      "in a second field",
      [
        ["Connection", "Upgrade"],
        ["Upgrade", "h2c"],
        ["Upgrade", "websocket"],
      ],
    ],
    [
      "with a version",
      [
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket/13"],
      ],
    ],
    ["without Connection: Upgrade", [["Connection", "close"], ["Upgrade", "websocket"], ...HANDSHAKE]],
    [
      "without Sec-WebSocket-Key",
      [
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket"],
      ],
    ],
  ];
  test.each(variants)("%s", async (_name, headers) => {
    const { path } = await seed({});
    const response = await handshake(path, headers);
    expect(response.status).toBe(426);
    expect(response.json()).toMatchObject({ code: "websocket_not_supported" });
    expect(provider.requests).toEqual([]);
  });
});

test("a path whose rule allows only POST, a path without a rule, and the list of models return 426 too", async () => {
  const { path } = await seed({ methods: ["POST"] });
  for (const target of [path, "/no/rule", "/v1/models"]) {
    expect((await handshake(target)).status).toBe(426);
  }
});

test("an unknown API key is rejected with 401 before the protocol is", async () => {
  const { gateway, path } = await seed({});
  const { key } = await seedKey(gatehouse, gateway);
  expect((await handshake(path, [...UPGRADE, ["X-GW-API-Key", `${key.slice(0, -1)}!`]])).status).toBe(401);
  expect((await handshake(path, [...UPGRADE, ["X-GW-API-Key", key]])).status).toBe(426);
});

test("the error has the error_format of the rule, also if that allows only POST, or of the gateway", async () => {
  const openai = { error: { code: "websocket_not_supported", type: "invalid_request_error", param: null } };
  const ofRule = await seed({ methods: ["POST"], error_format: "openai" });
  expect((await handshake(ofRule.path)).json()).toMatchObject(openai);
  const ofGateway = await seed({}, { error_format: "anthropic" });
  const anthropic = { type: "error", error: { type: "invalid_request_error" } };
  expect((await handshake(ofGateway.path)).json()).toMatchObject(anthropic);
});

test("the admin listener returns 426", async () => {
  const { path } = await seed({});
  for (const target of [path, "/v1/realtime"]) {
    const response = await handshake(target, UPGRADE, gatehouse.adminUrl);
    expect(response.status).toBe(426);
  }
  expect(provider.requests).toEqual([]);
});

test("the request log has the rejected handshake with its rule", async () => {
  const { gateway, rule, path } = await seed({});
  const response = await handshake(path);
  const [record] = await waitFor(async () => {
    const { body } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    return body.requests.length > 0 ? body.requests : null;
  });
  expect(record).toMatchObject({
    request_id: response.header("x-request-id"),
    status: 426,
    outcome: "refused",
    error_code: "websocket_not_supported",
    rule: { id: rule },
  });
});

test("an upgrade to HTTP/2 and a POST that names WebSocket are forwarded without Upgrade", async () => {
  const { path } = await seed({});
  const h2c: readonly HeaderPair[] = [
    ["Connection", "Upgrade, HTTP2-Settings"],
    ["Upgrade", "h2c"],
    ["HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA"],
  ];
  expect((await handshake(path, h2c)).status).toBe(200);
  expect((await rawCall(gatehouse.proxyUrl, { target: path, headers: UPGRADE, body: "{}" })).status).toBe(
    200,
  );
  expect(provider.requests).toHaveLength(2);
  const names = provider.requests.flatMap(({ headers }) => headers.map(([name]) => name.toLowerCase()));
  expect(names).not.toContain("upgrade");
  expect(names).not.toContain("http2-settings");
});
