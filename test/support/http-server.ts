// An HttpServer for tests, on a clock that the test advances, with clients over real sockets.
import { afterEach } from "bun:test";
import { connectRaw, type RawClient } from "./raw-client.ts";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { CoarseDeadlines } from "../../src/http/coarse-deadlines.ts";
import type { BodyLimits } from "../../src/http/incoming-body.ts";
import type { RequestHandler } from "../../src/http/server/connection-owner.ts";
import type { ClientRequest } from "../../src/http/server/client-request.ts";
import { HttpServer } from "../../src/http/server/http-server.ts";
import { OutgoingResponse, type BodyWriter } from "../../src/http/server/outgoing-response.ts";

export interface TestServer {
  readonly server: HttpServer;
  readonly clock: ManualClock;
  readonly limits: BodyLimits;
  /** Codes of the responses to bytes that are no request. */
  readonly refused: string[];
  readonly errors: unknown[];
  readonly connect: () => Promise<RawClient>;
}

type TestHandler = (request: ClientRequest, limits: BodyLimits) => ReturnType<RequestHandler>;

/** Returns a function that starts a server, which is stopped after the test. */
export function useTestServers(): (handle?: TestHandler) => TestServer {
  const started: TestServer[] = [];
  afterEach(async () => {
    await Promise.all(started.splice(0).map(({ server }) => server.stop(true)));
  });
  return (handle = echo) => {
    const server = startTestServer(handle);
    started.push(server);
    return server;
  };
}

export function startTestServer(handle: TestHandler): TestServer {
  const clock = new ManualClock();
  const deadlines = new CoarseDeadlines(clock);
  const limits = { maxBodyBytes: 20 << 20, deadlines, bodyBudget: new BodyBudget(64 << 20, clock) };
  const refused: string[] = [];
  const errors: unknown[] = [];
  const server = new HttpServer({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: false,
    deadlines,
    handle: (request) => handle(request, limits),
    onRefused: ({ code }) => void refused.push(code),
    onError: (error) => void errors.push(error),
  });
  return { server, clock, limits, refused, errors, connect: () => connectRaw(server.port) };
}

/** Responds with method, target and body. Rejects with the error of a body that is not valid. */
export async function echo(request: ClientRequest, limits: BodyLimits): Promise<OutgoingResponse> {
  const body = request.readBody(limits);
  if (body === null) return new OutgoingResponse(`${request.method} ${request.target}`);
  await body.received();
  const text = Buffer.from(body.take()).toString("latin1");
  body.release();
  return new OutgoingResponse(`${request.method} ${request.target} ${text}`);
}

/** A response that the test writes piece by piece. */
export class ManualStream {
  isCanceled = false;
  readonly #writer = Promise.withResolvers<BodyWriter>();
  readonly #end = Promise.withResolvers<undefined>();

  /** Resolves when the headers may be sent. */
  get writer(): Promise<BodyWriter> {
    return this.#writer.promise;
  }

  writeTo(client: BodyWriter): Promise<undefined> {
    this.#writer.resolve(client);
    return this.#end.promise;
  }

  /** Writes a piece that the client can take at once. */
  async write(text: string): Promise<void> {
    await (await this.writer).write(Buffer.from(text));
  }

  cancel(): void {
    this.isCanceled = true;
    this.#end.resolve(undefined);
  }

  end(): void {
    this.#end.resolve(undefined);
  }

  fail(): void {
    this.#end.reject(new Error("the provider disconnected"));
  }
}

export function get(target: string, ...headers: string[]): string {
  return `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`;
}

export function post(target: string, body: string, ...headers: string[]): string {
  const lines = [`Content-Length: ${body.length}`, ...headers].map((header) => `${header}\r\n`).join("");
  return `POST ${target} HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`;
}

export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
}

/** Resolves when the client has received this many responses with a body that is complete. */
export function responses(client: RawClient, count: number): Promise<string> {
  return client.until((received) => bodiesIn(received).length >= count);
}

/** The bodies of complete responses with Content-Length. */
export function bodiesIn(received: string): string[] {
  const bodies: string[] = [];
  for (let at = 0; at < received.length;) {
    const start = received.indexOf("\r\n\r\n", at) + 4;
    const length = /content-length: (\d+)\r\n/i.exec(received.slice(at, start))?.[1];
    if (start < 4 || length === undefined) break;
    at = start + Number(length);
    if (at > received.length) break;
    bodies.push(received.slice(start, at));
  }
  return bodies;
}
