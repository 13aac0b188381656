// Malicious clients, over raw sockets: ambiguous framing, oversized headers, pipelining, slow and idle connections, and many
// connections. GATEHOUSE_LONG=1 also waits for the idle timeout.
import { describe, expect, test } from "bun:test";
import { connectRaw, type RawClient } from "../support/raw-client.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { sendByteByByte } from "../support/slow-client.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";
import { unexpectedOutput, openFiles } from "./process-watch.ts";

const START = "POST /r HTTP/1.1\r\nHost: x\r\n";
const isLong = process.env["GATEHOUSE_LONG"] === "1";
const IDLE_CONNECTIONS = Number(process.env["GATEHOUSE_IDLE_CONNECTIONS"] ?? 500);
const slow: SlowClient[] = [];

const gatehouse = await useGatehouseProcess();
const provider = await useFakeProvider();
await seedRoute(gatehouse, {
  upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  rule: { path: "/r", methods: ["GET", "POST"] },
});
const proxyPort = Number(new URL(gatehouse.proxyUrl).port);
const adminPort = Number(new URL(gatehouse.adminUrl).port);
// These run while the other tests run.
slow.push(...(await Promise.all(slowClients())));

const VALID = `${START}Content-Length: 5\r\n\r\nhello`;
const chunked = (body: string) => `${START}Transfer-Encoding: chunked\r\n\r\n${body}`;

/** Sends these bytes. Returns what the gateway sent until it closed the connection. */
async function untilClosed(port: number, bytes: string): Promise<string> {
  const client = await connectRaw(port);
  client.send(bytes);
  return (await client.ended).received;
}

const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

async function expectServed(): Promise<void> {
  const response = await fetch(`${gatehouse.proxyUrl}/r`, { method: "POST", body: "good" });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
}

describe("ambiguous framing is rejected, the connection is closed, and no request reaches a provider", () => {
  const lines = (...headers: string[]) => `${START}${headers.join("\r\n")}\r\n\r\nhello`;
  const CASES: [name: string, bytes: string][] = [
    ["a length and chunks", lines("Content-Length: 5", "Transfer-Encoding: chunked")],
    ["chunks and a length", lines("Transfer-Encoding: chunked", "Content-Length: 5")],
    ["two different lengths", lines("Content-Length: 5", "Content-Length: 6")],
    ["a list of lengths", lines("Content-Length: 5, 5")],
    ["a length with a sign", lines("Content-Length: +5")],
    ["a negative length", lines("Content-Length: -5")],
    ["a length in hexadecimal", lines("Content-Length: 0x5")],
    ["a length that is too large", lines("Content-Length: 99999999999999999999999")],
    ["a space before the colon", lines("Content-Length : 5")],
    ["an unknown transfer encoding", lines("Transfer-Encoding: xchunked")],
    ["chunked twice", lines("Transfer-Encoding: chunked", "Transfer-Encoding: chunked")],
    ["chunked not last", lines("Transfer-Encoding: chunked, identity")],
    ["a vertical tab in the transfer encoding", lines("Transfer-Encoding:\x0bchunked")],
    ["chunks over HTTP/1.0", chunked("5\r\nhello\r\n0\r\n\r\n").replace("HTTP/1.1", "HTTP/1.0")],
    ["an invalid chunk size", chunked("zz\r\nhello\r\n0\r\n\r\n")],
    ["a negative chunk size", chunked("-5\r\nhello\r\n0\r\n\r\n")],
    ["a chunk size that is too large", chunked("ffffffffffffffffff5\r\nhello\r\n0\r\n\r\n")],
    ["a chunk longer than its size", chunked("3\r\nhello\r\n0\r\n\r\n")],
    ["a chunk line that ends in LF", chunked("5\nhello\r\n0\r\n\r\n")],
    ["a chunk extension that ends in LF", chunked("5;a\nhello\r\n0\r\n\r\n")],
    ["invalid trailers", chunked("5\r\nhello\r\n0\r\nX-Trailer : 1\r\n\r\n")],
    ["a folded header", lines("X-A: b\r\n c", "Content-Length: 5")],
    ["NUL in a value", lines("X-A: b\0c", "Content-Length: 5")],
    ["NUL in a name", lines("X-\0A: b", "Content-Length: 5")],
    ["CR in a value", lines("X-A: b\rc", "Content-Length: 5")],
    ["LF in place of CRLF", lines("X-A: b\nContent-Length: 5")],
    ["LF everywhere", VALID.replaceAll("\r\n", "\n")],
    ["no Host", VALID.replace("Host: x\r\n", "")],
    ["a header without a colon", lines("nonsense", "Content-Length: 5")],
    ["a header without a name", lines(": b", "Content-Length: 5")],
    ["a space in a name", lines("X A: b", "Content-Length: 5")],
    ["a space in the target", VALID.replace("/r ", "/r r ")],
    ["a target without a slash", VALID.replace("/r ", "r ")],
    ["another version", VALID.replace("HTTP/1.1", "HTTP/1.2")],
    ["no version", "GET /r\r\n\r\n"],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["more than 256 headers", lines(...Array.from({ length: 300 }, (_, at) => `X-${at}: v`))],
    ["a header of 70 kB", lines(`X-A: ${"a".repeat(70_000)}`)],
    ["a target of 70 kB", VALID.replace("/r ", `/r?${"a".repeat(70_000)} `)],
  ];
  const GARBAGE: [name: string, bytes: string][] = [
    ["a request", `${VALID}\0\x01garbage\r\n\r\n`],
    ["a chunked request", chunked("5\r\nhello\r\n0\r\n\r\nBAD BAD BAD\r\n\r\n")],
    ["a GET", "GET /r HTTP/1.1\r\nHost: x\r\n\r\nBAD BAD\r\n\r\n"],
  ];

  test.each(CASES)("%s", async (_, bytes) => {
    for (const port of [proxyPort, adminPort]) {
      const statuses = statusesIn(await untilClosed(port, bytes));
      expect(statuses).toHaveLength(1);
      expect([400, 431, 505]).toContain(statuses[0]!);
    }
    expect(provider.requestCount).toBe(0);
  });

  test("the valid request that they are based on succeeds", async () => {
    const client = await connectRaw(proxyPort);
    client.send(VALID);
    await client.until((received) => /HTTP\/1\.1 200[^]*\r\n\r\n/.test(received));
    expect(provider.requestCount).toBe(1);
    client.disconnect();
  });

  test.each(GARBAGE)("garbage after %s: it is served, and the garbage is 400", async (_, bytes) => {
    expect(statusesIn(await untilClosed(proxyPort, bytes))).toEqual([200, 400]);
    expect(provider.requestCount).toBe(1);
  });

  test("pipelined requests reach the provider once each, and the last one closes the connection", async () => {
    const last = VALID.replace("Host: x", "Host: x\r\nConnection: close");
    expect(statusesIn(await untilClosed(proxyPort, VALID.repeat(20) + last))).toEqual(Array(21).fill(200));
    expect(provider.requestCount).toBe(21);
  });
});

describe("one host only", () => {
  const invalid = [
    ["two hosts", VALID.replace("Host: x", "Host: x\r\nHost: y")],
    ["one host twice", VALID.replace("Host: x", "Host: x\r\nHost: x")],
    ["an empty one", VALID.replace("Host: x", "Host:")],
    ["a list", VALID.replace("Host: x", "Host: x, y")],
    ["a path in it", VALID.replace("Host: x", "Host: x/y")],
    ["a user in it", VALID.replace("Host: x", "Host: a@x")],
  ] as const;
  test.each(invalid)("%s: 400", async (_, bytes) => {
    const client = await connectRaw(proxyPort);
    client.send(bytes);
    expect(await client.until((received) => received.includes("\r\n\r\n{"))).toMatch(
      /^HTTP\/1\.1 400 [^]*"bad_request"/,
    );
    client.disconnect();
    expect(provider.requestCount).toBe(0);
  });

  test("Host selects the gateway, not the host of an absolute target", async () => {
    for (const name of ["first", "second"]) {
      await seedRoute(gatehouse, {
        gateway: { subdomain: name },
        upstream: { targets: [targetAt(provider, { path: `/at-${name}` })] },
        rule: { path: "/hosted" },
      });
    }
    const client = await connectRaw(proxyPort);
    client.send(
      "POST http://second.test/hosted HTTP/1.1\r\nHost: first.test\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
    );
    expect((await client.ended).received).toStartWith("HTTP/1.1 200");
    expect(provider.requests.map(({ target }) => target)).toEqual(["/at-first"]);
  });
});

interface SlowClient {
  readonly name: string;
  readonly client: RawClient;
}

/** Sends the first bytes at once and then a piece twice per second, until the connection is closed. */
async function slowClient(name: string, port: number, first: string, piece: string): Promise<SlowClient> {
  const client = await connectRaw(port);
  client.send(first);
  const trickle = setInterval(() => piece !== "" && client.send(piece), 500);
  void client.ended.then(() => clearInterval(trickle));
  return { name, client };
}

function slowClients(): Promise<SlowClient>[] {
  return [proxyPort, adminPort].flatMap((port) => [
    slowClient("sends nothing", port, "", ""),
    slowClient("first line byte by byte", port, "P", "O"),
    slowClient("one header byte by byte", port, `${START}X-A: `, "a"),
    slowClient("header after header", port, START, "X-A: b\r\n"),
  ]);
}

describe("very many connections", () => {
  test(
    `${IDLE_CONNECTIONS} idle connections do not block other clients, and are released when closed`,
    async () => {
      await expectServed();
      const before = openFiles(gatehouse);
      const idle = await Promise.all(Array.from({ length: IDLE_CONNECTIONS }, () => connectRaw(proxyPort)));
      await waitUntil(() => openFiles(gatehouse) >= before + IDLE_CONNECTIONS);
      for (let times = 0; times < 20; times++) await expectServed();
      for (const client of idle) client.disconnect(true);
      await waitUntil(() => openFiles(gatehouse) <= before + 2);
    },
    30_000 + IDLE_CONNECTIONS * 10,
  );

  test("more connections than file descriptors: some wait, nothing crashes, and all are served afterwards", async () => {
    const small = await startGatehouseProcess();
    await seedRoute(small, {
      upstream: { targets: [targetAt(provider, { path: "/echo" })] },
      rule: { path: "/r" },
    });
    const post = () =>
      fetch(`${small.proxyUrl}/r`, { method: "POST", body: "x" }).then(({ status }) => status);
    expect(await post()).toBe(200);
    const files = openFiles(small) + 20;
    const limited = Bun.spawnSync(["prlimit", "--pid", String(small.pid), `--nofile=${files}:${files}`]);
    expect(limited.exitCode).toBe(0);
    const port = Number(new URL(small.proxyUrl).port);
    const idle = await Promise.all(Array.from({ length: 100 }, () => connectRaw(port)));
    await waitUntil(() => openFiles(small) >= files);
    for (const client of idle) client.disconnect(true);
    await waitUntil(async () => (await post()) === 200);
    expect(unexpectedOutput(small)).toEqual([]);
    await small.stop();
  }, 60_000);
});

describe("slow clients", () => {
  const withinMs = 30_000;

  test(
    "headers that are not complete in time close the connection",
    async () => {
      for (const { name, client } of slow) {
        const { received } = await client.ended;
        // The proxy port responds to a request that has begun.
        if (received !== "")
          expect({ name, statuses: statusesIn(received) }).toEqual({ name, statuses: [408] });
      }
      expect(provider.requestCount).toBe(0);
    },
    withinMs,
  );

  test("a slow body is awaited, and the provider gets no request before it is complete", async () => {
    const client = await connectRaw(proxyPort);
    client.send(`${START}Content-Length: 5\r\nConnection: close\r\n\r\n`);
    await sendByteByByte("hello", (byte) => {
      expect(provider.requestCount).toBe(0);
      client.send(byte);
      return true;
    });
    expect((await client.ended).received).toStartWith("HTTP/1.1 200");
    expect(Buffer.from(provider.requests[0]!.body).toString()).toBe("hello");
  });

  test.skipIf(!isLong)(
    "idle connections are closed after 75 seconds",
    async () => {
      const idle = await Promise.all([
        slowClient("idle after a response", proxyPort, VALID, ""),
        slowClient("unread body", proxyPort, VALID.replace("/r", "/nothing").replace(": 5", ": 9000"), "a"),
      ]);
      for (const { client } of idle) await client.ended;
    },
    120_000,
  );
});

test("after all of this the gateway still works and has logged no error", async () => {
  await expectServed();
  expect(unexpectedOutput(gatehouse)).toEqual([]);
});
