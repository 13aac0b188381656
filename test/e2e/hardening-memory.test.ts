// Attacks on memory and concurrency: bodies that are never finished, bodies of clients that are over their limit, tiny
// chunks, and one client or gateway that takes every place.
import { afterEach, describe, expect, test } from "bun:test";
import { bufferedBodyBytes } from "../support/balancing-fixtures.ts";
import { openConnection, RATE_LIMITER } from "../support/admin-fixtures.ts";
import { CHAT, onlyRequest, rawJson, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const BUDGET = 8_000_000;
const PER_CLIENT = 4;
const PER_GATEWAY = 6;

const provider = await useFakeProvider();
const gatehouse = await useGatehouse({
  env: {
    MAX_BUFFERED_BYTES: String(BUDGET),
    MAX_IN_FLIGHT_PER_CLIENT: String(PER_CLIENT),
    MAX_IN_FLIGHT_PER_GATEWAY: String(PER_GATEWAY),
  },
});
const route = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });

type Connection = Awaited<ReturnType<typeof openConnection>>;
const connections: Connection[] = [];
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close();
  await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) === 0);
  provider.reset();
});

interface Upload {
  readonly path?: string;
  /** Content-Length, or null for chunked encoding. */
  readonly declared: number | null;
  /** Bytes that are sent of the body. */
  readonly sent: number;
  /** The client as a trusted proxy reports it. */
  readonly client: string;
}

/** Sends the headers and a part of the body, and keeps the connection open. */
async function beginUpload({ path = route.path, declared, sent, client }: Upload): Promise<Connection> {
  const connection = await openConnection(gatehouse.proxyUrl);
  connections.push(connection);
  const framing = declared === null ? "Transfer-Encoding: chunked" : `Content-Length: ${declared}`;
  const head = `POST ${path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nX-Forwarded-For: ${client}\r\n${framing}\r\n\r\n`;
  const body = "a".repeat(sent);
  connection.send(head + (declared !== null || sent === 0 ? body : `${sent.toString(16)}\r\n${body}\r\n`));
  return connection;
}

const statusOf = (connection: Connection) => Number(connection.received().split(" ")[1] ?? 0);
const clientNumber = (index: number) => `203.0.113.${index}`;

describe("MAX_BUFFERED_BYTES", () => {
  test("half-sent bodies never take more than the budget; the others get 503, and small requests are served", async () => {
    const size = 1_500_000;
    // From different gateways, because each has a limit of its own.
    const routes = await Promise.all(
      [1, 2, 3].map(() => seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } })),
    );
    const uploads = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        beginUpload({
          path: routes[index % routes.length]?.path ?? "",
          declared: index % 2 === 0 ? 2 * size : null,
          sent: size,
          client: clientNumber(index),
        }),
      ),
    );
    // Three quarters of the budget hold three of these bodies.
    await waitUntil(() => uploads.filter((each) => statusOf(each) === 503).length >= 8);
    const refused = uploads.find((each) => statusOf(each) === 503);
    expect(refused?.received()).toContain('"code":"overloaded"');
    expect(refused?.received()).toMatch(/^Retry-After: 1\r$/im);
    const buffered = await bufferedBodyBytes(gatehouse);
    expect(buffered).toBeGreaterThan(0);
    expect(buffered).toBeLessThanOrEqual(BUDGET);
    const small = await rawJson(gatehouse.proxyUrl, route.path, CHAT);
    expect(small.status).toBe(200);
  });

  test("a body that stops arriving loses its memory to a complete one", async () => {
    const stalled = await beginUpload({ declared: 5_900_000, sent: 5_800_000, client: clientNumber(1) });
    await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) >= 5_800_000);
    const large = { ...CHAT, padding: "a".repeat(500_000) };
    // Until the body has stalled for a second, the newcomer is refused.
    await waitUntil(async () => (await rawJson(gatehouse.proxyUrl, route.path, large)).status === 200);
    await waitUntil(() => statusOf(stalled) === 503);
  });

  test("one-byte chunks reach the provider as one body", async () => {
    const body = JSON.stringify({ ...CHAT, padding: "a".repeat(100_000) });
    const chunks = Array.from(body, (character) => `1\r\n${character}\r\n`).join("");
    const connection = await beginUpload({ declared: null, sent: 0, client: clientNumber(1) });
    connection.send(`${chunks}0\r\n\r\n`);
    await waitUntil(() => statusOf(connection) === 200);
    expect(Buffer.from(onlyRequest(provider).body).toString()).toBe(body);
  });
});

describe("a request over its rate limit is rejected before its body arrives", () => {
  test.each([
    ["a large declared body", { declared: 9_900_000, sent: 0 }],
    ["a large body of which half has arrived", { declared: 9_900_000, sent: 500_000 }],
    ["a small declared body", { declared: 1000, sent: 0 }],
    ["a chunked body", { declared: null, sent: 0 }],
  ])("%s", async (_, sizes) => {
    const limits = { per_ip: { limit: 1, window: "1m" }, per_user: { limit: 5, window: "1m" } };
    const plugin = { ...RATE_LIMITER, settings: { limits } };
    const { path } = await seedRoute(gatehouse, {
      gateway: { required_plugins: [plugin] },
      upstream: { targets: [targetAt(provider)] },
    });
    const client = clientNumber(7);
    const first = await rawJson(gatehouse.proxyUrl, path, CHAT, [["X-Forwarded-For", client]]);
    expect(first.status).toBe(200);
    const rejected = await beginUpload({ path, client, ...sizes });
    await waitUntil(() => statusOf(rejected) === 429);
    expect(rejected.received()).toContain('"code":"rate_limit_exceeded"');
    expect(rejected.received()).toMatch(/^X-RateLimit-per_ip-Remaining: 0\r$/im);
    await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) === 0);
    // Nothing was counted: another client still has its whole limit, and the first one is still at its own.
    const other = await rawJson(gatehouse.proxyUrl, path, CHAT, [["X-Forwarded-For", clientNumber(8)]]);
    expect(other.status).toBe(200);
    expect(provider.requestCount).toBe(2);
  });

  test("a limit that may depend on the body waits for the body", async () => {
    const limits = { per_user: { limit: 1, window: "1m" } };
    const { path } = await seedRoute(gatehouse, {
      gateway: { required_plugins: [{ ...RATE_LIMITER, settings: { limits } }] },
      upstream: { targets: [targetAt(provider)] },
    });
    const chat = (user: string) => JSON.stringify({ ...CHAT, user });
    expect((await rawJson(gatehouse.proxyUrl, path, { ...CHAT, user: "ada" })).status).toBe(200);
    const connection = await beginUpload({
      path,
      declared: chat("bob").length,
      sent: 0,
      client: clientNumber(1),
    });
    connection.send(chat("bob"));
    await waitUntil(() => statusOf(connection) === 200);
  });
});

describe("concurrency", () => {
  const hold = (path: string, client: string) => beginUpload({ path, declared: 1000, sent: 0, client });
  const send = (path: string, client: string) =>
    rawJson(gatehouse.proxyUrl, path, CHAT, [["X-Forwarded-For", client]]);
  const inFlight = async () => {
    const metrics = await (await fetch(`${gatehouse.adminUrl}/metrics`)).text();
    return Number(/^gatehouse_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
  };

  test("a client over MAX_IN_FLIGHT_PER_CLIENT gets 429, other clients are served, and places become free again", async () => {
    const client = clientNumber(1);
    for (let count = 0; count < PER_CLIENT; count++) await hold(route.path, client);
    await waitUntil(async () => (await inFlight()) === PER_CLIENT);
    const rejected = await send(route.path, client);
    expect(rejected.status).toBe(429);
    expect(rejected.json()).toMatchObject({ code: "concurrency_limit_exceeded" });
    expect(rejected.header("Retry-After")).toBe("1");
    expect((await send(route.path, clientNumber(2))).status).toBe(200);
    for (const connection of connections.splice(0)) connection.close();
    await waitUntil(async () => (await send(route.path, client)).status === 200);
  });

  test("a gateway over MAX_IN_FLIGHT_PER_GATEWAY gets 429, and other gateways are served", async () => {
    const other = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
    for (let count = 0; count < PER_GATEWAY; count++) await hold(route.path, clientNumber(count));
    await waitUntil(async () => (await inFlight()) === PER_GATEWAY);
    const rejected = await send(route.path, clientNumber(100));
    expect(rejected.status).toBe(429);
    expect(rejected.json()).toMatchObject({ code: "concurrency_limit_exceeded" });
    expect((await send(other.path, clientNumber(100))).status).toBe(200);
  });
});
