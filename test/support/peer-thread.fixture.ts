// Clients, MCP servers and providers in a thread of their own, so that the work of these peers does not count as work of the gateway.
import type { PeerReply, PeerRequest, PeerResponse, SentRequest } from "./peer-thread.ts";

declare const self: Worker;

/** The response to each JSON-RPC method, or path for other requests. `"@id"` becomes the id of the request, `@email` its placeholder. */
const responses = new Map<string, { readonly body: string; readonly type: string }>();

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    const text = await request.text();
    const id = /"id":("[^"]*"|\d+)/.exec(text.slice(0, 200))?.[1] ?? "null";
    const method = /"method":"([^"]*)"/.exec(text.slice(0, 300))?.[1] ?? new URL(request.url).pathname;
    const cursor = /"cursor":"([^"]*)"/.exec(text.slice(0, 1000))?.[1] ?? "";
    const found = responses.get(`${method} ${cursor}`) ?? responses.get(method);
    if (found === undefined)
      return id === "null"
        ? new Response(null, { status: 202 })
        : new Response(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"no such method"}}`, {
            headers: { "Content-Type": "application/json" },
          });
    const placeholder = /<EMAIL_\d+>/.exec(text)?.[0] ?? "@email";
    const body = found.body.replace('"@id"', id).replaceAll("@email", placeholder);
    return new Response(body, { headers: { "Content-Type": found.type } });
  },
});

async function send({ count, ...request }: SentRequest): Promise<PeerReply["responses"]> {
  return Promise.all(Array.from({ length: count }, () => exchange(request)));
}

/** Sends a request over a connection of its own and reads until the gateway closes it. */
async function exchange({ url, method, headers, body }: Omit<SentRequest, "count">): Promise<PeerResponse> {
  const { hostname, port, pathname, host } = new URL(url);
  const sent = {
    ...headers,
    Host: host,
    Connection: "close",
    "Content-Length": Buffer.byteLength(body ?? ""),
  };
  const head = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  let unsent: Uint8Array = Buffer.from(`${method} ${pathname} HTTP/1.1\r\n${head.join("")}\r\n${body ?? ""}`);
  const received: Uint8Array[] = [];
  const ended = Promise.withResolvers<undefined>();
  const write = (socket: { write(bytes: Uint8Array): number }) => {
    if (unsent.byteLength > 0) unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
  };
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: write,
      drain: write,
      data: (_, bytes) => void received.push(Uint8Array.from(bytes)),
      close: () => ended.resolve(undefined),
      error: () => ended.resolve(undefined),
    },
  });
  await ended.promise;
  return read(Buffer.concat(received));
}

function read(bytes: Buffer): PeerResponse {
  const end = bytes.indexOf("\r\n\r\n");
  const head = bytes.toString("latin1", 0, Math.max(0, end));
  const body = bytes.subarray(end + 4);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  const isChunked = /^transfer-encoding: chunked/im.test(head);
  const isComplete = isChunked
    ? body.subarray(-5).toString() === "0\r\n\r\n"
    : body.byteLength === Number(length ?? 0);
  return {
    status: Number(head.split(" ")[1] ?? 0),
    start: body.toString("utf8", 0, 2000),
    length: body.byteLength,
    // A reset may also discard what had arrived and was not read: then not even the headers are there.
    isCut: end < 0 || !isComplete,
  };
}

self.onmessage = ({ data }: MessageEvent<PeerRequest>) => void handle(data);

async function handle({ call, respond, sent }: PeerRequest): Promise<void> {
  for (const { key, body, type } of respond) responses.set(key, { body, type });
  const replies = sent === null ? [] : await send(sent);
  const reply: PeerReply = { call, port: server.port ?? 0, responses: replies };
  self.postMessage(reply);
}
