// Sessions of MCP clients for the benchmark: each has called a tool, and may listen for notifications on its own connection.

/** Sessions that begin at the same time. */
const MAX_STARTING = 20;
const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

interface OpenSessions {
  close(): void;
}

async function post(
  url: string,
  message: object,
  headers: Record<string, string>,
): Promise<{ readonly sessionId: string | null }> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
  const text = await response.text();
  if (!response.ok || text.includes('"error"')) throw new Error(`${response.status} ${text}`);
  return { sessionId: response.headers.get("mcp-session-id") };
}

/** Resolves to the id of a session that has called a tool. */
export async function startSession(url: string): Promise<string> {
  const { sessionId } = await post(url, { id: 0, method: "initialize", params: INITIALIZE }, {});
  if (sessionId === null) throw new Error("initialize returned no session");
  const headers = { "MCP-Protocol-Version": INITIALIZE.protocolVersion, "Mcp-Session-Id": sessionId };
  await post(url, { method: "notifications/initialized" }, headers);
  await post(url, { id: 1, method: "tools/list" }, headers);
  const params = { name: "echo", arguments: { text: "hello" } };
  await post(url, { id: 2, method: "tools/call", params }, headers);
  return sessionId;
}

/** Opens sessions. With `hasStream`, each keeps the stream of messages without a request open. */
export async function openSessions(url: string, count: number, hasStream: boolean): Promise<OpenSessions> {
  const sockets: Bun.Socket[] = [];
  let started = 0;
  const starter = async () => {
    while (started++ < count) {
      const sessionId = await startSession(url);
      if (hasStream) sockets.push(await openStream(new URL(url), sessionId));
    }
  };
  await Promise.all(Array.from({ length: MAX_STARTING }, starter));
  return { close: () => sockets.forEach((socket) => socket.end()) };
}

/** Resolves when the response has begun. */
async function openStream({ hostname, port, pathname }: URL, sessionId: string): Promise<Bun.Socket> {
  const begun = Promise.withResolvers<undefined>();
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_, bytes) => {
        const text = bytes.toString("latin1");
        if (text.startsWith("HTTP/1.1 ") && !text.startsWith("HTTP/1.1 200")) begun.reject(new Error(text));
        else begun.resolve(undefined);
      },
      error: (_, error) => begun.reject(error),
    },
  });
  socket.write(
    `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAccept: text/event-stream\r\n` +
      `MCP-Protocol-Version: ${INITIALIZE.protocolVersion}\r\nMcp-Session-Id: ${sessionId}\r\n\r\n`,
  );
  await begun.promise;
  return socket;
}
