// How connections of clients end, over real sockets: disconnects in every phase, bodies that are rejected while they arrive, clients
// that do not read, errors, and the end of the server.
import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { runs } from "../../../test/support/long-form.ts";
import { eventLoopTurns, waitUntil } from "../../../test/support/waiting.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { ClientRequest } from "./client-request.ts";
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

const LINGER_MS = 2000;
const STALL_MS = 300_000;
const FIRST_REQUEST_MS = 1000;
const MEGABYTE = 1 << 20;

const start = useTestServers();
const allClosed = ({ server }: TestServer) => waitUntil(() => server.connectionCount === 0);

/** Sends a request and resets the connection. A process of its own, so that this one cannot accept the connection meanwhile. */
const RESET_AT_ONCE = `const socket = await Bun.connect({ hostname: "127.0.0.1", port: PORT, socket: { data() {} } });
  socket.write(REQUEST); socket.flush(); socket.terminate();`;

test("a request of a client that has reset its connection before it was accepted is not handled", async () => {
  let handled = 0;
  const server = start(() => {
    handled++;
    return Promise.resolve(new OutgoingResponse("nobody reads this"));
  });
  const program = RESET_AT_ONCE.replace("PORT", String(server.server.port)).replace(
    "REQUEST",
    JSON.stringify(get("/")),
  );
  expect(Bun.spawnSync([process.execPath, "-e", program]).exitCode).toBe(0);
  const client = await server.connect();
  client.send(get("/"));
  await responses(client, 1);
  expect(handled).toBe(1);
  client.disconnect();
  await allClosed(server);
});

describe.each([
  ["FIN", false],
  ["a reset", true],
])("a client that disconnects with %s", (_, isReset) => {
  test.each([
    ["before it sends", ""],
    ["in the request line", "GET /"],
    ["in the headers", get("/").slice(0, -2)],
    ["after a response", get("/")],
  ])("%s", async (_phase, bytes) => {
    const server = start();
    const client = await server.connect();
    client.send(bytes);
    await waitUntil(() => server.server.connectionCount === 1);
    if (bytes.endsWith("\r\n\r\n")) await responses(client, 1);
    client.disconnect(isReset);
    await allClosed(server);
    expect(server.errors).toEqual([]);
    expect(server.refused).toEqual([]);
  });

  test("in a body: the body fails, and its memory is released", async () => {
    const failed = Promise.withResolvers<string>();
    const server = start(async (request, limits) => {
      const body = request.readBody(limits);
      await body?.received().catch((error: unknown) => failed.resolve(String(error)));
      body?.release();
      return new OutgoingResponse("nobody reads this");
    });
    const client = await server.connect();
    client.send(post("/", "x".repeat(MEGABYTE)).slice(0, -1));
    await waitUntil(() => server.limits.bodyBudget.used > MEGABYTE / 2);
    client.disconnect(isReset);
    expect(await failed.promise).toContain("the client disconnected");
    await allClosed(server);
    expect(server.limits.bodyBudget.used).toBe(0);
  });

  test.each([
    ["while the handler waits", get("/")],
    ["while the handler waits and other requests follow", get("/") + get("/2")],
  ])("%s: the handler is notified", async (_phase, bytes) => {
    const gate = Promise.withResolvers<OutgoingResponse>();
    const seen: ClientRequest[] = [];
    let disconnects = 0;
    const server = start((request) => {
      seen.push(request);
      request.disconnectListener = {
        onDisconnect: () => {
          disconnects++;
        },
      };
      return gate.promise;
    });
    const client = await server.connect();
    client.send(bytes);
    await waitUntil(() => seen.length === 1);
    client.disconnect(isReset);
    await waitUntil(() => disconnects === 1);
    await allClosed(server);
    expect(seen.map(({ isDisconnected }) => isDisconnected)).toEqual([true]);
    const stream = new ManualStream();
    gate.resolve(new OutgoingResponse(stream));
    await waitUntil(() => stream.isCanceled);
    expect(disconnects).toBe(1);
  });

  test("while a stream is written: the stream is canceled", async () => {
    const stream = new ManualStream();
    const server = start(() => Promise.resolve(new OutgoingResponse(stream)));
    const client = await server.connect();
    client.send(get("/"));
    await stream.write("piece");
    await client.until((received) => received.includes("piece"));
    client.disconnect(isReset);
    await waitUntil(() => stream.isCanceled);
    await allClosed(server);
  });

  test("while its last response lingers", async () => {
    const server = start(() => Promise.resolve(new OutgoingResponse("no", { status: 413 })));
    const client = await server.connect();
    client.send(post("/", "x".repeat(MEGABYTE)).slice(0, 1000));
    await client.until((received) => received.includes("413"));
    client.disconnect(isReset);
    await allClosed(server);
  });
});

describe("a body that nothing reads", () => {
  const refuse = () => Promise.resolve(new OutgoingResponse("no", { status: 401 }));

  test("of 10 MB is dropped while it is sent, and the client can read its response", async () => {
    const server = start(refuse);
    const client = await server.connect();
    client.send(post("/", "x".repeat(10 * MEGABYTE)));
    const { received, reset } = await client.ended;
    expect({ statuses: statusesIn(received), reset }).toEqual({ statuses: [401], reset: false });
    expect(received).toContain("Connection: close\r\n");
    await allClosed(server);
  });

  test("in chunks closes the connection: its length is unknown", async () => {
    const client = await start(refuse).connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    expect(statusesIn((await client.ended).received)).toEqual([401]);
  });

  test("of at most 64 KiB is dropped, and the next request is served", async () => {
    const client = await start((request, limits) =>
      request.target === "/" ? refuse() : echo(request, limits),
    ).connect();
    const request = post("/", get("/smuggled").repeat(1000));
    client.send(request.slice(0, 200));
    await responses(client, 1);
    client.send(request.slice(200) + get("/next"));
    expect(bodiesIn(await responses(client, 2))).toEqual(["no", "GET /next"]);
  });

  test("a client that never stops sending is closed after two seconds", async () => {
    const server = start(refuse);
    const client = await server.connect();
    client.send(post("/", "x".repeat(MEGABYTE)).slice(0, 1000));
    await client.until((received) => received.includes("401"));
    server.clock.advance(LINGER_MS + 100);
    await allClosed(server);
  });

  test("an invalid chunk fails the body, and the client gets the response of the handler", async () => {
    const server = start((request, limits) =>
      echo(request, limits).catch((error: unknown) =>
        OutgoingResponse.error(
          error instanceof GatehouseError ? error : new GatehouseError("internal_error", ""),
          "id",
        ),
      ),
    );
    const client = await server.connect();
    client.send(
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nz\r\n${get("/smuggled")}`,
    );
    const { received } = await client.ended;
    expect(statusesIn(received)).toEqual([400]);
    expect(received).toContain("invalid chunk size");
  });
});

describe("a client that does not read", () => {
  const BIG = new Uint8Array(32 * MEGABYTE);

  test("a response is kept once, and the client is disconnected after five minutes without progress", async () => {
    const server = start(() => Promise.resolve(new OutgoingResponse(BIG)));
    const client = await server.connect();
    client.pause();
    client.send(get("/"));
    await waitUntil(() => server.server.connectionCount === 1);
    await eventLoopTurns(20);
    server.clock.advance(STALL_MS - 100);
    await eventLoopTurns();
    expect(server.server.connectionCount).toBe(1);
    server.clock.advance(200);
    await allClosed(server);
  });

  test("a stream waits for it", async () => {
    const stream = new ManualStream();
    const server = start(() => Promise.resolve(new OutgoingResponse(stream)));
    const client = await server.connect();
    client.pause();
    client.send(get("/"));
    const writer = await stream.writer;
    let written = 0;
    let waiting: Promise<void> | null = null;
    for (; waiting === null && written < 32; written++) waiting = writer.write(new Uint8Array(MEGABYTE));
    expect(waiting).not.toBeNull();
    client.resume();
    await waiting;
    stream.end();
    await client.until((received) => received.endsWith("0\r\n\r\n"));
  });

  test("and whose stream is complete is disconnected after five minutes", async () => {
    const stream = new ManualStream();
    const server = start(() => Promise.resolve(new OutgoingResponse(stream)));
    const client = await server.connect();
    client.pause();
    client.send(get("/"));
    void (await stream.writer).write(BIG)?.catch(() => undefined);
    stream.end();
    await eventLoopTurns(20);
    server.clock.advance(STALL_MS + 100);
    await allClosed(server);
  });

  test("and sends garbage after its requests gets no further request served, and is closed", async () => {
    const targets: string[] = [];
    const server = start((request) => {
      targets.push(request.target);
      return Promise.resolve(new OutgoingResponse(new Uint8Array(100_000)));
    });
    const client = await server.connect();
    client.pause();
    // As many requests as it takes until the response to the garbage does not fit into the socket buffer.
    client.send(get("/first").repeat(20));
    await waitUntil(() => targets.length === 20);
    client.send(`garbage\r\n\r\n${get("/second")}`);
    await eventLoopTurns(20);
    client.send(get("/third"));
    await eventLoopTurns(20);
    server.clock.advance(STALL_MS + 100);
    await allClosed(server);
    expect(new Set(targets)).toEqual(new Set(["/first"]));
  });
});

describe("an error", () => {
  test.each([
    ["rejects", () => Promise.reject(new Error("broken"))],
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
  ])("of a handler that %s is reported, and the client gets 500", async (_, handle) => {
    const server = start(handle);
    const client = await server.connect();
    client.send(get("/1") + get("/2"));
    const received = await responses(client, 2);
    expect(statusesIn(received)).toEqual([500, 500]);
    expect(received).toContain('"internal_error"');
    expect(server.errors.map(String)).toEqual(["Error: broken", "Error: broken"]);
  });

  test("in a socket handler is reported and closes the connection, not the process", async () => {
    const server = start((request) => {
      request.disconnectListener = {
        onDisconnect: () => {
          throw new Error("broken listener");
        },
      };
      return new Promise(() => undefined);
    });
    const client = await server.connect();
    client.send(get("/"));
    await waitUntil(() => server.server.connectionCount === 1);
    await eventLoopTurns();
    client.disconnect();
    await waitUntil(() => server.errors.length > 0);
    expect(server.errors.map(String)).toEqual(["Error: broken listener"]);
    await allClosed(server);
  });

  test("of a stream resets the connection, so that the client does not take the response for complete", async () => {
    const stream = new ManualStream();
    const server = start(() => Promise.resolve(new OutgoingResponse(stream)));
    const client = await server.connect();
    client.send(get("/"));
    await stream.write("piece");
    await client.until((received) => received.includes("piece"));
    stream.fail();
    const { received, reset } = await client.ended;
    expect(received).not.toContain("0\r\n\r\n");
    expect(reset).toBe(true);
  });
});

describe("stop", () => {
  test("closes idle connections at once, and others after their response", async () => {
    const stream = new ManualStream();
    const server = start((request) =>
      Promise.resolve(new OutgoingResponse(request.target === "/stream" ? stream : "x")),
    );
    const clients = await Promise.all([
      server.connect(),
      server.connect(),
      server.connect(),
      server.connect(),
    ]);
    const [idle, streaming, partial, rest] = clients;
    idle.send(get("/"));
    await responses(idle, 1);
    streaming.send(get("/stream"));
    await stream.write("piece");
    await streaming.until((received) => received.includes("piece"));
    partial.send(get("/").slice(0, -2));
    rest.send(post("/", "xx").slice(0, -1));
    await responses(rest, 1);
    await eventLoopTurns();
    const stopped = server.server.stop();
    await idle.ended;
    await rest.ended;
    partial.send("\r\n");
    expect((await partial.ended).received).toMatch(/200 OK[^]*Connection: close/);
    await waitUntil(() => server.server.connectionCount === 1);
    stream.end();
    expect((await streaming.ended).received).toEndWith("piece\r\n0\r\n\r\n");
    await stopped;
    expect(await server.connect().catch(() => "refused")).toBe("refused");
  });

  test("serves a request that has arrived before", async () => {
    const server = start((request) => {
      if (request.target === "/stop") void server.server.stop();
      return Promise.resolve(new OutgoingResponse(request.target));
    });
    const [stopping, other] = [await server.connect(), await server.connect()];
    await waitUntil(() => server.server.connectionCount === 2);
    // Both arrive in one turn of the event loop.
    stopping.send(get("/stop"));
    other.send(get("/other"));
    expect((await other.ended).received).toMatch(/200 OK[^]*Connection: close[^]*\/other$/);
    expect((await stopping.ended).received).toMatch(/200 OK[^]*Connection: close[^]*\/stop$/);
  });

  test("serves the first request of a connection that is established", async () => {
    const server = start((request) => Promise.resolve(new OutgoingResponse(request.target)));
    const [late, silent] = [await server.connect(), await server.connect()];
    await waitUntil(() => server.server.connectionCount === 2);
    const stopped = server.server.stop();
    await eventLoopTurns();
    late.send(get("/late"));
    expect((await late.ended).received).toMatch(/200 OK[^]*Connection: close[^]*\/late$/);
    // A client that sends nothing does not keep the server from stopping.
    server.clock.advance(FIRST_REQUEST_MS + 100);
    expect((await silent.ended).received).toBe("");
    await stopped;
  });

  test("closes all connections if it must", async () => {
    const server = start(() => new Promise(() => undefined));
    const client = await server.connect();
    client.send(get("/"));
    await waitUntil(() => server.server.connectionCount === 1);
    await server.server.stop(true);
    expect(server.server.connectionCount).toBe(0);
    await client.ended;
  });
});

test("clients that disconnect anywhere leave no connection and no memory behind", async () => {
  const server = start((request, limits) =>
    request.target === "/never"
      ? new Promise(() => undefined)
      : echo(request, limits).catch(() => new OutgoingResponse("disconnected")),
  );
  const bytes = get("/1") + post("/2", "x".repeat(500)) + get("/never") + get("/3");
  const abort = async (at: number) => {
    const client = await server.connect();
    client.send(bytes.slice(0, (at * 7919) % bytes.length));
    if (at % 3 === 0) await eventLoopTurns(1);
    client.disconnect(at % 2 === 0);
  };
  const count = runs({ short: 500, long: 10_000 });
  for (let at = 0; at < count; at += 50)
    await Promise.all(Array.from({ length: 50 }, (_, each) => abort(at + each)));
  await allClosed(server);
  await waitUntil(() => {
    Bun.gc(true);
    return (heapStats().objectTypeCounts["ClientConnection"] ?? 0) < 20;
  });
  expect(server.errors).toEqual([]);
});
