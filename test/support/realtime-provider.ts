// A provider that serves WebSockets, and a client that records what it receives.
import { afterAll, beforeEach } from "bun:test";
import type { ServerWebSocket, TLSOptions } from "bun";
import { waitFor } from "./waiting.ts";

type ProviderSocket = ServerWebSocket;

interface ReceivedHandshake {
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
}

interface RealtimeProvider {
  readonly url: string;
  readonly handshakes: ReceivedHandshake[];
  readonly messages: (string | Buffer)[];
  readonly closes: { readonly code: number; readonly reason: string }[];
  readonly pings: string[];
  readonly sockets: ProviderSocket[];
  /** Returns a response instead of accepting the handshake. */
  refuse: ((request: Request) => Response | null) | null;
  /** The protocol to select; null selects none. */
  protocol: string | null;
  /** Called for every message. Echoes it by default. */
  onMessage: (socket: ProviderSocket, message: string | Buffer) => void;
  /** Called for every reply to a ping of the provider. */
  onPong: (() => void) | null;
  /** Resolves to the first socket that is open. */
  socket(): Promise<ProviderSocket>;
  reset(): void;
}

const echo = (socket: ProviderSocket, message: string | Buffer): void => void socket.send(message);

/** Call at the top level of a test file. It is reset before each test. */
export function useRealtimeProvider(tls?: TLSOptions): RealtimeProvider {
  const server = Bun.serve({
    ...(tls !== undefined && { tls }),
    port: 0,
    hostname: "127.0.0.1",
    fetch(request, listener) {
      const { pathname, search } = new URL(request.url);
      provider.handshakes.push({ target: pathname + search, headers: request.headers });
      const refusal = provider.refuse?.(request) ?? null;
      if (refusal !== null) return refusal;
      const headers = { "Sec-WebSocket-Protocol": provider.protocol ?? "", "X-Request-Id": "req_provider" };
      return listener.upgrade(request, { headers })
        ? undefined
        : new Response("no WebSocket", { status: 400 });
    },
    websocket: {
      maxPayloadLength: 64 * 1024 * 1024,
      backpressureLimit: 512 * 1024 * 1024,
      open: (socket) => void provider.sockets.push(socket),
      message: (socket, message) => {
        provider.messages.push(message);
        provider.onMessage(socket, message);
      },
      ping: (_socket, data) => void provider.pings.push(data.toString()),
      pong: () => provider.onPong?.(),
      close: (_socket, code, reason) => void provider.closes.push({ code, reason }),
    },
  });
  const provider: RealtimeProvider = {
    url: server.url.origin,
    handshakes: [],
    messages: [],
    closes: [],
    pings: [],
    sockets: [],
    refuse: null,
    protocol: null,
    onMessage: echo,
    onPong: null,
    socket: () => waitFor(() => provider.sockets[0] ?? null),
    reset() {
      for (const list of [this.handshakes, this.messages, this.closes, this.pings, this.sockets])
        list.length = 0;
      Object.assign(this, { refuse: null, protocol: null, onMessage: echo, onPong: null });
    },
  };
  beforeEach(() => provider.reset());
  afterAll(() => server.stop(true));
  return provider;
}

interface ClientOptions {
  readonly headers?: Record<string, string>;
  readonly protocols?: string[];
}

interface RealtimeClient {
  readonly socket: WebSocket;
  readonly messages: (string | Buffer)[];
  /** Resolves to the next message that was not returned yet. */
  next(): Promise<string | Buffer>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string; readonly wasClean: boolean }>;
}

/** Resolves when the WebSocket is open. Rejects with the message of the client if the handshake fails. */
export function openRealtime(
  url: string,
  { headers = {}, protocols = [] }: ClientOptions = {},
): Promise<RealtimeClient> {
  const socket = new WebSocket(url.replace("http", "ws"), { headers, protocols });
  socket.binaryType = "nodebuffer";
  const messages: (string | Buffer)[] = [];
  let returned = 0;
  const closing = Promise.withResolvers<{ code: number; reason: string; wasClean: boolean }>();
  socket.addEventListener("message", ({ data }: MessageEvent<string | Buffer>) => void messages.push(data));
  socket.addEventListener("close", ({ code, reason, wasClean }) =>
    closing.resolve({ code, reason, wasClean }),
  );
  const client: RealtimeClient = {
    socket,
    messages,
    next: () => waitFor(() => (messages.length > returned ? (messages[returned++] ?? null) : null)),
    closed: closing.promise,
  };
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(client));
    socket.addEventListener("error", (event) =>
      reject(new Error("message" in event ? event.message : "failed")),
    );
  });
}
