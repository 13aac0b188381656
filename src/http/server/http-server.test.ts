// Connections of clients over real sockets: pipelining, persistence, expectations, timeouts, and what ends a connection.
import { describe, expect, test } from "bun:test";
import { eventLoopTurns, waitUntil } from "../../../test/support/waiting.ts";
import { OutgoingResponse } from "./outgoing-response.ts";
import {
  bodiesIn,
  echo,
  get,
  ManualStream,
  post,
  responses,
  statusesIn,
  type TestServer,
  useTestServers,
} from "../../../test/support/http-server.ts";

const HEADERS_MS = 10_000;
const KEEP_ALIVE_MS = 75_000;
const STALL_MS = 300_000;
const TICK_MS = 50;

const start = useTestServers();

describe("header lines that are written when the response is sent", () => {
  const LINES = "X-L-a: 1\r\nX-L-b: 2\r\n";
  const [streamed, whole, large] = ["streamed", "whole", "x".repeat(100_000)];

  test.each([
    ["a body", get("/"), whole],
    ["a body that is not sent", get("/").replace("GET", "HEAD"), whole],
    ["a large body", get("/"), large],
    ["a stream", get("/"), streamed],
  ])("%s", async (_, request, text) => {
    const { connect } = start(() => {
      const stream = new ManualStream();
      const response = new OutgoingResponse(text === streamed ? stream : text);
      response.headers.addBlock("x-l-", {
        write: (writer) => writer.constant(Buffer.from(LINES)),
      });
      if (text === streamed) void stream.write(text).then(() => stream.end());
      return Promise.resolve(response);
    });
    const client = await connect();
    // The second one shows that the first one ended where it should.
    client.send(request.repeat(2));
    const received = await client.until((sofar) => statusesIn(sofar).length === 2);
    const [first = ""] = received.split("\r\n\r\n");
    expect(first).toContain(`\r\n${LINES.trim()}`);
    expect(statusesIn(received)).toEqual([200, 200]);
  });
});

describe("pipelining", () => {
  const PIPELINE = [get("/1"), post("/2", "two"), `\r\n${post("/3", "")}`, get("/4")].join("");
  const BODIES = ["GET /1", "POST /2 two", "POST /3", "GET /4"];

  test("requests in one segment get their responses in order, one at a time", async () => {
    let active = 0;
    let most = 0;
    const { connect } = start(async (request, limits) => {
      most = Math.max(most, ++active);
      await eventLoopTurns(1);
      const response = await echo(request, limits);
      active--;
      return response;
    });
    const client = await connect();
    client.send(PIPELINE);
    expect(bodiesIn(await responses(client, 4))).toEqual(BODIES);
    expect(most).toBe(1);
  });

  test("thousands of requests in one segment do not keep other connections waiting", async () => {
    let served = 0;
    const { connect } = start((request) => {
      if (request.target === "/many") served++;
      return Promise.resolve(new OutgoingResponse(request.target));
    });
    const [hostile, other] = await Promise.all([connect(), connect()]);
    hostile.send(get("/many").repeat(5000));
    await waitUntil(() => served > 0);
    other.send(get("/other"));
    await responses(other, 1);
    expect(served).toBeLessThan(2500);
    await waitUntil(() => served === 5000);
  });

  test("a request that follows a streamed one waits for its end", async () => {
    const stream = new ManualStream();
    const targets: string[] = [];
    const { connect } = start((request) => {
      targets.push(request.target);
      return Promise.resolve(new OutgoingResponse(request.target === "/stream" ? stream : "next"));
    });
    const client = await connect();
    client.send(get("/stream") + get("/next"));
    await stream.write("piece");
    await client.until((received) => received.includes("piece"));
    expect(targets).toEqual(["/stream"]);
    stream.end();
    const received = await client.until((text) => text.endsWith("next"));
    expect(received).toMatch(
      /^HTTP\/1\.1 200 OK\r\nTransfer-Encoding: chunked\r\n[^]*5\r\npiece\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
    );
  });

  test("garbage after a request gets 400 after the response, and closes the connection", async () => {
    const { connect, refused } = start();
    const client = await connect();
    client.send(`${post("/1", "x")}\0\x01garbage\r\n\r\n${get("/2")}`);
    const { received, reset } = await client.ended;
    expect({ statuses: statusesIn(received), reset, refused }).toEqual({
      statuses: [200, 400],
      reset: false,
      refused: ["bad_request"],
    });
  });

  test("more than 64 KiB after a request are not read before its response", async () => {
    const gate = Promise.withResolvers<OutgoingResponse>();
    const { connect } = start((request) =>
      request.target === "/wait" ? gate.promise : Promise.resolve(new OutgoingResponse("next")),
    );
    const client = await connect();
    client.send(get("/wait"));
    client.send(get("/next", `X: ${"x".repeat(1000)}`).repeat(20_000));
    // The kernel buffers a few megabytes; the server must not take the rest.
    await waitUntil(() => client.unsentBytes() > 0);
    const before = client.unsentBytes();
    await eventLoopTurns(50);
    expect(client.unsentBytes()).toBe(before);
    gate.resolve(new OutgoingResponse("first"));
    await waitUntil(() => client.unsentBytes() === 0);
    await waitUntil(() => statusesIn(client.received()).length === 20_001);
  });
});

describe("persistence", () => {
  const head = (client: string) => client.slice(0, client.indexOf("\r\n\r\n"));

  test.each([
    ["HTTP/1.1", "", true],
    ["HTTP/1.1", "Connection: close\r\n", false],
    ["HTTP/1.1", "Connection: x, Close\r\n", false],
    ["HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n", false],
    ["HTTP/1.0", "", false],
    ["HTTP/1.0", "Connection: x,\tKeep-Alive\r\n", true],
    ["HTTP/1.0", "Connection: keep-alive, close\r\n", false],
  ])("%s %j", async (version, connection, isPersistent) => {
    const client = await start().connect();
    client.send(`GET / ${version}\r\nHost: a\r\n${connection}\r\n`);
    const received = await responses(client, 1);
    expect(head(received).includes("Connection: close")).toBe(!isPersistent);
    expect(head(received).includes("Connection: keep-alive")).toBe(isPersistent && version === "HTTP/1.0");
    if (!isPersistent) expect(await client.ended).toEqual({ received, reset: false });
    else {
      client.send(get("/again"));
      await responses(client, 2);
    }
  });

  test("a stream to an HTTP/1.0 client ends with the connection and is not chunked", async () => {
    const stream = new ManualStream();
    const client = await start(() => Promise.resolve(new OutgoingResponse(stream))).connect();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    await stream.write("piece");
    stream.end();
    const { received } = await client.ended;
    expect(received).toEndWith("\r\n\r\npiece");
    expect(received).toContain("Connection: close\r\n");
    expect(received).not.toContain("chunked");
  });

  test("responses to HEAD and with 204 and 304 have no body, and the next response follows", async () => {
    const { connect } = start((request) => {
      const status = Number(request.target.slice(1));
      const isStreamed = request.headers.has("x-stream");
      return Promise.resolve(
        new OutgoingResponse(isStreamed ? new ManualStream() : "body", {
          status,
          headers: { "Content-Length": "9" },
        }),
      );
    });
    const client = await connect();
    client.send(
      ["x: 1", "x-stream: 1"]
        .map((kind) => get("/204", kind) + get("/304", kind) + get("/200", kind).replace("GET", "HEAD"))
        .join("") + get("/200", "Connection: close"),
    );
    const { received } = await client.ended;
    expect(statusesIn(received)).toEqual([204, 304, 200, 204, 304, 200, 200]);
    expect(received.split("\r\n\r\n").at(-1)).toBe("body");
    expect(received.split("\r\n\r\n")).toHaveLength(8);
    expect(received).not.toContain("chunked");
  });
});

test("a response to HEAD whose length is unknown has none", async () => {
  const client = await start(() => Promise.resolve(new OutgoingResponse(null))).connect();
  client.send(get("/").replace("GET", "HEAD") + get("/", "Connection: close"));
  const [toHead = "", toGet = ""] = (await client.ended).received.split("\r\n\r\n");
  expect(toHead).toStartWith("HTTP/1.1 200");
  expect(toHead).not.toContain("Content-Length");
  expect(toGet).toContain("Content-Length: 0");
});

describe("Expect: 100-continue", () => {
  const expecting = (length: number) =>
    `POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: ${length}\r\n\r\n`;

  test("100 is sent when the body is wanted", async () => {
    const client = await start().connect();
    client.send(expecting(3));
    await client.until((received) => received === "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    await client.until((received) => received.endsWith("POST / abc"));
  });

  test("a client that may not send its body gets the response, and the connection is closed: its next bytes may be a request or the body", async () => {
    const { connect, server } = start(() => Promise.resolve(new OutgoingResponse("no", { status: 401 })));
    const client = await connect();
    client.send(expecting(30));
    const { received } = await client.ended;
    expect(statusesIn(received)).toEqual([401]);
    expect(received).toContain("Connection: close\r\n");
    await waitUntil(() => server.connectionCount === 0);
  });

  test("no 100 for a body that is there already", async () => {
    const client = await start().connect();
    client.send(`${expecting(3)}abc`);
    expect(statusesIn(await client.until((received) => received.includes("abc")))).toEqual([200]);
  });

  test.each([
    ["HTTP/1.0", expecting(3).replace("HTTP/1.1", "HTTP/1.0")],
    ["another expectation", expecting(3).replace("100-Continue", "magic")],
  ])("no 100 for %s", async (_, bytes) => {
    const client = await start().connect();
    client.send(bytes);
    await eventLoopTurns();
    client.send("abc");
    expect(statusesIn(await client.until((received) => received.includes("abc")))).toEqual([200]);
  });
});

describe("timeouts", () => {
  const closedAfter = async ({ clock, server }: TestServer, milliseconds: number): Promise<void> => {
    clock.advance(milliseconds - TICK_MS);
    await eventLoopTurns();
    expect(server.connectionCount).toBe(1);
    clock.advance(2 * TICK_MS);
  };
  const accepted = ({ server }: TestServer) => waitUntil(() => server.connectionCount === 1);

  test("a connection that sends nothing is closed after 10 seconds, without a response", async () => {
    const server = start();
    const client = await server.connect();
    await accepted(server);
    await closedAfter(server, HEADERS_MS);
    expect((await client.ended).received).toBe("");
    expect(server.refused).toEqual([]);
  });

  test("headers have 10 seconds; bytes that trickle in do not extend them", async () => {
    const server = start();
    const client = await server.connect();
    await accepted(server);
    for (const byte of "GET / HTTP/1.1") {
      client.send(byte);
      await eventLoopTurns();
      server.clock.advance(500);
    }
    await closedAfter(server, HEADERS_MS - 7000);
    const { received } = await client.ended;
    expect(received).toMatch(/^HTTP\/1\.1 408 [^]*"request_timeout"/);
    expect(server.refused).toEqual(["request_timeout"]);
  });

  test("empty lines do not extend the time of a connection", async () => {
    const server = start();
    const client = await server.connect();
    await accepted(server);
    for (let seconds = 0; seconds < 9; seconds++) {
      client.send(seconds % 2 === 0 ? "\r" : "\n");
      await eventLoopTurns();
      server.clock.advance(1000);
    }
    await closedAfter(server, 1000);
    await client.ended;
  });

  test("an idle connection is closed after 75 seconds", async () => {
    const server = start();
    const client = await server.connect();
    client.send(get("/"));
    await responses(client, 1);
    await closedAfter(server, KEEP_ALIVE_MS);
    expect(statusesIn((await client.ended).received)).toEqual([200]);
  });

  test.each([
    ["after a response", false],
    ["in the segment of another request", true],
  ])("half a request %s has 10 seconds", async (_, isTogether) => {
    const server = start();
    const client = await server.connect();
    client.send(isTogether ? `${get("/")}GET / HT` : get("/"));
    await responses(client, 1);
    if (!isTogether) client.send("GET / HT");
    await eventLoopTurns(20);
    await closedAfter(server, HEADERS_MS);
    expect(statusesIn((await client.ended).received)).toEqual([200, 408]);
  });

  test("a handler may take any time", async () => {
    const gate = Promise.withResolvers<OutgoingResponse>();
    const server = start(() => gate.promise);
    const client = await server.connect();
    client.send(get("/"));
    await accepted(server);
    await eventLoopTurns();
    server.clock.advance(10 * STALL_MS);
    gate.resolve(new OutgoingResponse("late"));
    await responses(client, 1);
  });

  test("the rest of a body that nothing reads has 75 seconds", async () => {
    const server = start(() => Promise.resolve(new OutgoingResponse("no", { status: 401 })));
    const client = await server.connect();
    client.send(post("/", "x".repeat(100)).slice(0, -50));
    await responses(client, 1);
    await closedAfter(server, KEEP_ALIVE_MS);
    await client.ended;
  });
});
