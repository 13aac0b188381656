// Connections to providers are shared only by requests of the same gateway with the same credential, so that a late second
// response of a provider cannot reach another tenant.
import { afterAll, expect, test } from "bun:test";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { startRawProvider, type ConnectionScript, type ProviderConnection } from "../support/raw-provider.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const provider = startRawProvider();
afterAll(() => provider.stop());

const routeWith = (target: Record<string, unknown>, gateway?: string) =>
  seedRoute(gatehouse, {
    ...(gateway !== undefined && { gateway }),
    upstream: {
      targets: [{ provider: "raw", base_url: provider.url, path: "/x", ...target }],
      max_attempts: 1,
    },
  });
const credentials = (header_value: string) => ({ credentials: { header_name: "x-key", header_value } });

const first = await routeWith(credentials("same key"));
const second = await routeWith(credentials("same key"));
const otherKey = await routeWith(credentials("another key"), first.gateway);
const otherHeader = await routeWith({ ...credentials("same key"), headers: { "X-Org": "b" } }, first.gateway);
const sameKey = await routeWith(credentials("same key"), first.gateway);
const clientKey = await routeWith({});

interface Call {
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly query?: string;
}

async function send({ path }: { path: string }, { headers, body = "{}", query = "" }: Call = {}) {
  const response = await fetch(gatehouse.proxyUrl + path + query, {
    method: "POST",
    body,
    headers: headers ?? {},
  });
  return { status: response.status, text: await response.text() };
}

/** JSON: other bodies of this size are forwarded over a connection of their own. */
const LARGE = {
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify("x".repeat(9_000_000)),
};

const ok = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

/** Responds to every request with the number of its connection. */
const numberedConnections: ConnectionScript = async (connection) => {
  for (;;) {
    await connection.request();
    await connection.write(ok(String(connection.serial)));
  }
};

async function connectionOf(...call: Parameters<typeof send>): Promise<string> {
  const { text } = await send(...call);
  expect(text).toMatch(/^\d+$/);
  return text;
}

test("two gateways never share a connection, and neither do two credentials of one gateway", async () => {
  await provider.behave(numberedConnections);
  const used = [];
  for (const route of [first, second, otherKey, otherHeader]) used.push(await connectionOf(route));
  expect(new Set(used).size).toBe(4);
  // Each is reused for the same gateway and credential.
  expect(await connectionOf(first)).toBe(used[0] ?? "");
  expect(await connectionOf(sameKey)).toBe(used[0] ?? "");
});

test.each([
  ["Authorization", (key: string) => ({ headers: { Authorization: `Bearer ${key}` } })],
  ["x-api-key", (key: string) => ({ headers: { "x-api-key": key } })],
  ["the query parameter key", (key: string) => ({ query: `?alt=sse&key=${key}` })],
])("clients with different credentials in %s never share a connection", async (_where, call) => {
  await provider.behave(numberedConnections);
  const [alice, bob] = [
    await connectionOf(clientKey, call("alice")),
    await connectionOf(clientKey, call("bob")),
  ];
  expect(alice).not.toBe(bob);
  expect(await connectionOf(clientKey)).not.toBe(alice);
  expect(await connectionOf(clientKey, call("alice"))).toBe(alice);
});

test("a late second response never reaches a client of another gateway", async () => {
  const connections: ProviderConnection[] = [];
  await provider.behave(async (connection) => {
    connections.push(connection);
    for (;;) {
      const request = await connection.request();
      // A request of the second gateway: the hostile provider first sends another response to the first one.
      if (request.includes("secret question")) await connections[0]?.write(ok("stolen response"));
      await connection.write(ok("own response"));
    }
  });
  for (let turn = 0; turn < 5; turn++) {
    expect((await send(first)).text).toBe("own response");
    expect((await send(second, { body: "secret question" })).text).toBe("own response");
  }
});

test("a response that begins before a reused connection has sent its request is rejected", async () => {
  await provider.behave(async (connection) => {
    await connection.request();
    await connection.write(ok("first"));
    await connection.headers();
    connection.pause();
    await connection.write(ok("late second response"));
  });
  expect((await send(first)).text).toBe("first");
  const large = await send(first, LARGE);
  expect(large.status).toBe(502);
  expect(JSON.parse(large.text)).toMatchObject({ code: "upstream_bad_answer" });
});

test("an error that a provider returns before it has read the request is passed on", async () => {
  await provider.behave(async (connection) => {
    await connection.request();
    await connection.write(ok("first"));
    await connection.headers();
    connection.pause();
    await connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large");
  });
  expect((await send(first)).text).toBe("first");
  const large = await send(first, LARGE);
  expect(large).toEqual({ status: 413, text: "too large" });
});
