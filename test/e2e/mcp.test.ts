// MCP services: one endpoint for the tools, prompts, and resources of several servers, in both generations of the protocol.
import { describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { postMcp, seedMcp, SessionClient, StatelessClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

const gatehouse = await useGatehouse();
const servers = useMcpServers({
  one: { tools: { beta: {}, alpha: {} } },
  session: { generation: "session", tools: { add: {}, secret: {} } },
  stateless: { generation: "stateless", tools: { search: {} } },
  silent: {},
});

/** All names of a list. */
function namesIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value.map((each: { name?: unknown }) => each.name) : [];
}

describe("one server", () => {
  test("a session client lists and calls tools, by the server's own names", async () => {
    const { url } = await seedMcp(gatehouse, { one: servers.one.url });
    const client = await SessionClient.start(url);
    expect(client.initialized?.result).toMatchObject({
      protocolVersion: "2025-11-25",
      serverInfo: { name: "scripted" },
    });
    expect(client.sessionId).toMatch(/^gwm1[\w-]+$/);
    const list = await client.request("tools/list");
    expect(namesIn(list.result["tools"])).toEqual(["alpha", "beta"]);
    const called = await client.request("tools/call", { name: "alpha", arguments: { x: 1 } });
    expect(called.headers.get("content-type")).toBe("application/json");
    expect(called.last).toEqual({
      jsonrpc: "2.0",
      id: 2,
      result: { content: [{ type: "text", text: 'alpha {"x":1}' }] },
    });
  });

  test("a stateless client lists and calls tools", async () => {
    const { url } = await seedMcp(gatehouse, { one: servers.one.url });
    const client = new StatelessClient(url);
    const discovered = await client.request("server/discover");
    expect(discovered.result).toMatchObject({ resultType: "complete", supportedVersions: ["2026-07-28"] });
    const list = await client.request("tools/list");
    expect(list.result).toMatchObject({ resultType: "complete", cacheScope: "public" });
    expect(namesIn(list.result["tools"])).toEqual(["alpha", "beta"]);
    const called = await client.request("tools/call", { name: "beta", arguments: {} });
    expect(called.result).toMatchObject({ resultType: "complete", content: [{ text: "beta {}" }] });
    const received = servers.one.received.findLast(({ rpcMethod }) => rpcMethod === "tools/call");
    expect(received?.headers.get("mcp-name")).toBe("beta");
    expect(received?.headers.get("mcp-protocol-version")).toBe("2026-07-28");
  });

  test("a byte order mark before a message is ignored", async () => {
    const { url } = await seedMcp(gatehouse, { one: servers.one.url });
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const response = await postMcp(url, `\ufeff${message}`);
    expect([response.status, response.last["id"]]).toEqual([200, 1]);
  });

  test("a byte order mark before a response of the server is ignored", async () => {
    servers.one.sendsByteOrderMark = true;
    try {
      const { url } = await seedMcp(gatehouse, { one: servers.one.url });
      const client = await SessionClient.start(url);
      const called = await client.request("tools/call", { name: "alpha", arguments: {} });
      expect(called.result).toMatchObject({ content: [{ text: "alpha {}" }] });
    } finally {
      servers.one.sendsByteOrderMark = false;
    }
  });
});

describe("the form of responses", () => {
  const shared = seedMcp(gatehouse, { form: servers.one.url });

  test("is an event stream if the client lists it before JSON, except for errors with a status", async () => {
    const { url } = await shared;
    const headers = { Accept: "text/event-stream, application/json" };
    const client = await SessionClient.start(url, { headers });
    expect(client.initialized?.headers.get("content-type")).toBe("text/event-stream");
    const list = await client.request("tools/list");
    expect(list.headers.get("content-type")).toBe("text/event-stream");
    expect(list.messages).toMatchObject([
      { id: 1, result: { tools: [{ name: "alpha" }, { name: "beta" }] } },
    ]);
    const unknown = await new StatelessClient(url, headers).request("nothing/here");
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get("content-type")).toBe("application/json");
    const json = await SessionClient.start(url);
    expect((await json.request("tools/list")).headers.get("content-type")).toBe("application/json");
  });

  test("an error of the server has the HTTP status of the client's generation", async () => {
    const { url } = await shared;
    const params = { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "a", value: "" } };
    const stateless = await new StatelessClient(url).request("completion/complete", params);
    expect({ status: stateless.status, code: stateless.error?.["code"] }).toEqual({
      status: 404,
      code: -32601,
    });
    const session = await (await SessionClient.start(url)).request("completion/complete", params);
    expect({ status: session.status, code: session.error?.["code"] }).toEqual({ status: 200, code: -32601 });
  });
});

describe("several servers", () => {
  test("lists are merged with prefixes and sorted, and calls reach their server", async () => {
    const { url } = await seedMcp(gatehouse, { zoo: servers.session.url, air: servers.stateless.url });
    for (const client of [await SessionClient.start(url), new StatelessClient(url)]) {
      const list = await client.request("tools/list");
      expect(namesIn(list.result["tools"])).toEqual(["air__search", "zoo__add", "zoo__secret"]);
      const called = await client.request("tools/call", { name: "zoo__add", arguments: { a: 1 } });
      expect(called.result).toMatchObject({ content: [{ text: 'add {"a":1}' }] });
      const other = await client.request("tools/call", { name: "air__search", arguments: {} });
      expect(other.result).toMatchObject({ content: [{ text: "search {}" }] });
      expect(servers.stateless.received.at(-1)?.headers.get("mcp-name")).toBe("search");
      const prompt = await client.request("prompts/get", { name: "zoo__greet" });
      expect(JSON.stringify(prompt.result)).toContain("prompt greet");
      const resources = await client.request("resources/list");
      expect(resources.result["resources"]).toMatchObject([
        { uri: "air+memo://notes" },
        { uri: "zoo+memo://notes" },
      ]);
      const read = await client.request("resources/read", { uri: "zoo+memo://notes" });
      expect(read.result["contents"]).toEqual([{ uri: "zoo+memo://notes", text: "content" }]);
    }
  });

  test("a silent server is left out within its timeout and named; all silent is an error", async () => {
    const { url } = await seedMcp(gatehouse, {
      up: servers.one.url,
      down: { url: "http://127.0.0.1:1/mcp", timeouts: { connect: 100, list: 200 } },
    });
    const list = await new StatelessClient(url).request("tools/list");
    expect(namesIn(list.result["tools"])).toEqual(["up__alpha", "up__beta"]);
    expect(list.result["_meta"]).toEqual({ "gatehouse/unavailable_servers": ["down"] });
    expect(list.result["ttlMs"]).toBe(0);
    const dead = await seedMcp(gatehouse, {
      down: { url: "http://127.0.0.1:1/mcp", timeouts: { connect: 100, list: 200 } },
    });
    const none = await new StatelessClient(dead.url).request("tools/list");
    expect(none.error).toMatchObject({ code: -32603, message: "No server responded to tools/list: down." });
  });

  test("a server that accepts connections and sends nothing does not delay lists beyond its timeout", async () => {
    servers.silent.isSilent = true;
    const silent = { url: servers.silent.url, timeouts: { list: 150, call: 60_000 } };
    const { url } = await seedMcp(gatehouse, { up: servers.one.url, silent });
    const list = await new StatelessClient(url).request("tools/list");
    expect(namesIn(list.result["tools"])).toEqual(["up__alpha", "up__beta"]);
    expect(list.result["_meta"]).toEqual({ "gatehouse/unavailable_servers": ["silent"] });
    const client = await SessionClient.start(url);
    expect(client.initialized?.result["_meta"]).toEqual({ "gatehouse/unavailable_servers": ["silent"] });
  });

  test("nor does a server that keeps sending messages, but no response", async () => {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: async (request) => {
        const { id, method } = (await request.json()) as { id: unknown; method: string };
        const result = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {} };
        if (request.url.endsWith("/lists") && method === "server/discover")
          return Response.json({ jsonrpc: "2.0", id, result });
        const message = 'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n';
        let isCanceled = false;
        const body = new ReadableStream({
          cancel: () => {
            isCanceled = true;
          },
          pull: (controller) => {
            const { promise, resolve } = Promise.withResolvers<undefined>();
            systemClock.setTimeout(() => {
              if (!isCanceled) controller.enqueue(new TextEncoder().encode(message));
              resolve(undefined);
            }, 20);
            return promise;
          },
        });
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
      },
    });
    const timeouts = { list: 150, call: 60_000 };
    const lists = { url: `${server.url.origin}/lists`, timeouts };
    const listed = await seedMcp(gatehouse, { up: servers.one.url, lists });
    expect((await new StatelessClient(listed.url).request("tools/list")).result["_meta"]).toEqual({
      "gatehouse/unavailable_servers": ["lists"],
    });
    const busy = { url: `${server.url.origin}/mcp`, timeouts };
    const { url } = await seedMcp(gatehouse, { up: servers.one.url, busy });
    const expected = { "gatehouse/unavailable_servers": ["busy"] };
    expect((await new StatelessClient(url).request("tools/list")).result["_meta"]).toEqual(expected);
    expect((await new StatelessClient(url).request("server/discover")).result["_meta"]).toMatchObject(
      expected,
    );
    const client = await SessionClient.start(url);
    expect(client.initialized?.result["_meta"]).toEqual(expected);
    expect((await client.request("tools/list")).result["_meta"]).toEqual(expected);
    await server.stop(true);
  });

  test("all pages of a server are read", async () => {
    servers.one.pageSize = 1;
    const { url } = await seedMcp(gatehouse, { paged: { url: servers.one.url, headers: { "X-Own": "1" } } });
    const list = await new StatelessClient(url).request("tools/list");
    servers.one.pageSize = Infinity;
    expect(namesIn(list.result["tools"])).toEqual(["alpha", "beta"]);
    expect(list.result["nextCursor"]).toBeUndefined();
  });
});

describe("a server of the other generation only", () => {
  test.each([
    { client: "session", server: "stateless", tool: "search" },
    { client: "stateless", server: "session", tool: "add" },
  ] as const)("a $client client uses a $server server", async ({ client: generation, server, tool }) => {
    const { url } = await seedMcp(gatehouse, { only: servers[server].url });
    const before = servers[server].received.length;
    const client = generation === "session" ? await SessionClient.start(url) : new StatelessClient(url);
    const list = await client.request("tools/list");
    expect(namesIn(list.result["tools"])).toContain(tool);
    for (let call = 0; call < 3; call++) {
      const called = await client.request("tools/call", { name: tool, arguments: { call } });
      expect(called.result).toEqual({
        ...(generation === "stateless" && { resultType: "complete" }),
        content: [{ type: "text", text: `${tool} {"call":${call}}` }],
      });
    }
    const read = await client.request("resources/read", { uri: "memo://notes" });
    expect(read.result["contents"]).toEqual([{ uri: "memo://notes", text: "content" }]);
    const received = servers[server].received.slice(before);
    // The calls of a stateless client share one session of the server.
    const starts = received.filter(({ rpcMethod }) => rpcMethod === "initialize");
    const ids = received
      .filter(({ rpcMethod }) => rpcMethod === "tools/call")
      .map(({ headers }) => headers.get("mcp-session-id"));
    expect(new Set(ids).size).toBe(1);
    expect(ids[0] === null).toBe(server === "stateless");
    // A server that does not know the method is asked in the other generation once.
    expect(starts.length).toBe(1);
  });
});

describe("requests that are not valid", () => {
  test.each([
    [406, { Accept: "application/json" }, "{}"],
    [415, { "Content-Type": "text/plain" }, "{}"],
    [400, {}, "{"],
    [400, {}, '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    [400, {}, '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
    [400, {}, "[]"],
    [400, {}, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    [404, { "Mcp-Session-Id": "gwm1abc" }, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    [403, { Origin: "https://evil.example" }, '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
  ])("%p for %p and %s", async (status, headers, body) => {
    const { url } = await shared;
    const response = await postMcp(url, body, headers);
    expect(response.status).toBe(status);
    expect(response.last).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
  });

  const shared = seedMcp(gatehouse, { shared: servers.one.url });

  test("the session of another client is not found", async () => {
    const { url } = await shared;
    const other = await seedMcp(gatehouse, { other: servers.one.url });
    const client = await SessionClient.start(other.url);
    const response = await postMcp(
      url,
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { "Mcp-Session-Id": client.sessionId },
    );
    expect(response.status).toBe(404);
  });

  test("batches exist only in 2025-03-26", async () => {
    const { url } = await shared;
    const batch = [
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
    ];
    const old = await SessionClient.start(url, { version: "2025-03-26" });
    const response = await old.post(batch);
    expect(response.status).toBe(200);
    expect(JSON.parse(response.text)).toMatchObject([{ id: 1 }, { id: 2 }]);
    const current = await SessionClient.start(url);
    expect((await current.post(batch)).status).toBe(400);
  });

  test.each(["application/json", "text/event-stream"])(
    "a server of 2025-03-26 may send a response in a batch (%s), and no other",
    async (type) => {
      const server = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: async (request) => {
          if (request.method !== "POST") return new Response(null, { status: 405 });
          const { id, method, params } = (await request.json()) as {
            id?: unknown;
            method: string;
            params: Record<string, unknown>;
          };
          if (id === undefined) return new Response(null, { status: 202 });
          const result: Record<string, unknown> = {
            initialize: {
              protocolVersion: params["protocolVersion"],
              capabilities: { tools: {} },
              serverInfo: { name: "batching", version: "1" },
            },
            "tools/list": { tools: [{ name: "add", inputSchema: { type: "object" } }] },
            "tools/call": { content: [{ type: "text", text: "added" }] },
          };
          const response = { jsonrpc: "2.0", id, result: result[method] };
          if (method !== "tools/call") return Response.json(response);
          const log = {
            jsonrpc: "2.0",
            method: "notifications/message",
            params: { level: "info", data: "adding" },
          };
          const text = JSON.stringify([log, response]);
          const headers = { "Content-Type": type };
          return new Response(type === "application/json" ? text : `data: ${text}\n\n`, { headers });
        },
      });
      try {
        const { url } = await seedMcp(gatehouse, { batching: `${server.url.origin}/mcp` });
        const old = await SessionClient.start(url, { version: "2025-03-26" });
        const called = await old.request("tools/call", { name: "add" });
        expect(called.messages).toMatchObject([
          { method: "notifications/message", params: { data: "adding" } },
          { result: { content: [{ text: "added" }] } },
        ]);
        const current = await SessionClient.start(url);
        expect((await current.request("tools/call", { name: "add" })).error).toMatchObject({ code: -32603 });
      } finally {
        await server.stop(true);
      }
    },
  );
});

describe("sessions", () => {
  test("a script of an allowed website can read the id of its session", async () => {
    const origin = "https://app.example.com";
    const { url } = await seedMcp(
      gatehouse,
      { one: servers.one.url },
      { gateway: { cors: { origins: [origin] } } },
    );
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "script", version: "1" },
    };
    const message = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const { headers } = await postMcp(url, message, { Origin: origin });
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.has("mcp-session-id")).toBe(true);
    expect(headers.get("access-control-expose-headers")?.split(", ")).toContain("Mcp-Session-Id");
  });

  test("a session that the server has lost is replaced", async () => {
    const { url } = await seedMcp(gatehouse, { lost: servers.session.url });
    const client = await SessionClient.start(url);
    servers.session.sessions.clear();
    const called = await client.request("tools/call", { name: "add", arguments: {} });
    expect(called.result).toMatchObject({ content: [{ text: "add {}" }] });
  });

  test("DELETE ends the sessions of the servers", async () => {
    const { url } = await seedMcp(gatehouse, { ending: servers.session.url });
    const before = servers.session.sessions.size;
    const client = await SessionClient.start(url);
    expect(servers.session.sessions.size).toBe(before + 1);
    const response = await fetch(url, { method: "DELETE", headers: client.allHeaders });
    expect(response.status).toBe(204);
    expect(servers.session.sessions.size).toBe(before);
    expect((await client.request("ping")).status).toBe(404);
  });

  test("the stream without a request carries notifications of all servers", async () => {
    const { url } = await seedMcp(gatehouse, { first: servers.session.url, second: servers.stateless.url });
    const client = await SessionClient.start(url);
    const abort = new AbortController();
    const response = await client.stream(abort.signal);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await waitUntil(() => servers.session.openStreams > 0 && servers.stateless.openStreams > 0);
    servers.session.broadcast({ method: "notifications/tools/list_changed", params: {} });
    servers.session.broadcast({ method: "notifications/resources/updated", params: { uri: "memo://notes" } });
    const reader = response.body?.getReader();
    let text = "";
    while (!text.includes("memo://")) text += new TextDecoder().decode((await reader?.read())?.value);
    expect(text).toContain('"method":"notifications/tools/list_changed"');
    expect(text).toContain('"uri":"first+memo://notes"');
    abort.abort();
    await waitUntil(() => servers.session.openStreams === 0 && servers.stateless.openStreams === 0);
  });
});
