// Event streams of requests that a client resumes: each message passes the rights and plugins of the request that it responds to, and
// only the response to that request reaches the client.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { seedMcp, SessionClient, useMcpServers } from "../support/mcp-fixtures.ts";
import { seedKey } from "../support/proxy-fixtures.ts";
import { passTimeUntil, waitUntil } from "../support/waiting.ts";

type Json = Record<string, unknown>;

const gatehouse = await startGatehouseInProcess();
afterAll(() => gatehouse.stop());
const servers = useMcpServers({
  one: { generation: "session", tools: { read: {}, write: {} } },
  two: { generation: "session", tools: { read: {} } },
});

const text = (value: string) => ({ content: [{ type: "text", text: value }] });
const progress = { method: "notifications/progress", params: { progressToken: 1, progress: 1 } };

interface SentEvent {
  readonly id?: string;
  readonly data?: Json;
}

function events(...sent: readonly SentEvent[]): Response {
  const lines = sent.map(({ id, data }) => {
    const message = data === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", ...data });
    return `${id === undefined ? "" : `id: ${id}\n`}data: ${message}\n\n`;
  });
  return new Response(lines.join(""), { headers: { "Content-Type": "text/event-stream" } });
}

/** What the server sends when a stream is resumed; `id` is that of the last request. */
let onResume: (id: unknown) => Response;

/** The server ends the stream of each call after an event, and sends the rest to a client that resumes it. */
beforeEach(() => {
  let lastId: unknown = null;
  servers.one.respond = ({ method, rpcMethod, headers, id }) => {
    if (rpcMethod === "tools/call" || rpcMethod === "resources/read") {
      lastId = id;
      return events({ id: "place-1", data: progress });
    }
    return method === "GET" && headers.has("last-event-id") ? onResume(lastId) : null;
  };
  onResume = (id) => events({ data: { id, result: text("done") } });
});

interface Options {
  readonly plugins?: readonly object[];
  readonly tools?: readonly string[];
  readonly pin?: string;
}

async function begin({ plugins = [], tools = ["*"], pin = "off" }: Options = {}) {
  const route = await seedMcp(
    gatehouse,
    { one: { url: servers.one.url, pin }, two: servers.two.url },
    { gateway: { required_plugins: plugins } },
  );
  const key = await seedKey(gatehouse, route.gateway, { tools });
  const headers = { "X-GW-API-Key": key.key };
  const client = await SessionClient.start(route.url, { headers });
  /** Calls a tool and returns the id of the event after which the server ends the stream. */
  const interrupted = async (name = "one__read") => {
    const { text: stream } = await client.request("tools/call", { name, arguments: {} }, "call-1");
    return placeIn(stream);
  };
  return { route, key, headers, client, interrupted };
}

function placeIn(stream: string): string {
  const [, place = ""] = /^id: (.+)$/m.exec(stream) ?? [];
  expect(place).not.toBe("");
  return place;
}

function open(client: SessionClient, place: string): Promise<Response> {
  return client.stream(AbortSignal.timeout(60_000), { "Last-Event-ID": place });
}

async function resume(client: SessionClient, place: string): Promise<{ status: number; messages: Json[] }> {
  const response = await open(client, place);
  const body = await response.text();
  const found = [...body.matchAll(/^(?:data: )?(\{.*\})$/gm)];
  return { status: response.status, messages: found.map(([, json = ""]) => JSON.parse(json) as Json) };
}

test("a resumed stream continues after the event of the server, with the names that clients use", async () => {
  onResume = (id) =>
    events(
      { id: "place-2", data: progress },
      { data: { id, result: { content: [{ type: "resource_link", name: "n", uri: "memo://n" }] } } },
    );
  const { client, interrupted } = await begin();
  const place = await interrupted();
  expect(place).not.toContain("place-1");
  const { messages } = await resume(client, place);
  expect(servers.one.received.at(-1)?.headers.get("last-event-id")).toBe("place-1");
  const link = { type: "resource_link", name: "n", uri: "one+memo://n" };
  expect(messages).toMatchObject([progress, { id: "call-1", result: { content: [link] } }]);
});

test("a stream that ends again without a response is resumed at its last event", async () => {
  const { client, interrupted } = await begin();
  onResume = () => events({ id: "place-2", data: progress });
  const again = placeIn(await (await open(client, await interrupted())).text());
  onResume = (id) => events({ data: { id, result: text("done") } });
  expect((await resume(client, again)).messages).toMatchObject([{ id: "call-1", result: text("done") }]);
  expect(servers.one.received.at(-1)?.headers.get("last-event-id")).toBe("place-2");
});

test("rules about results of a tool apply to a resumed stream", async () => {
  const rules = [{ tool: "one__read", source: "result", action: "deny" }];
  const { client, interrupted } = await begin({
    plugins: [{ name: "tool_policy", stage: "pre_request", settings: { rules } }],
  });
  onResume = (id) => events({ data: { id, result: text("secret") } });
  const { messages } = await resume(client, await interrupted());
  expect(messages).toMatchObject([{ id: "call-1", error: { data: { code: "tool_denied" } } }]);
  expect(JSON.stringify(messages)).not.toContain("secret");
  // The rule is about this tool only.
  const other = await resume(client, await interrupted("one__write"));
  expect(other.messages).toMatchObject([{ id: "call-1", result: text("secret") }]);
});

test("a key that lost the right to a tool gets no result of it", async () => {
  const { client, interrupted, key } = await begin();
  const place = await interrupted();
  await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { tools: ["one__write"] });
  const { messages } = await resume(client, place);
  expect(messages).toMatchObject([{ id: "call-1", error: { message: "Unknown tool: one__read" } }]);
  expect(messages).toHaveLength(1);
});

test("a resumed stream ends when its key loses the right to the tool, and not for another change", async () => {
  const { client, interrupted, key } = await begin();
  const place = await interrupted();
  const before = servers.one.received.length;
  onResume = () =>
    new Response(new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from(": open\n\n")) }), {
      headers: { "Content-Type": "text/event-stream" },
    });
  const response = await open(client, place);
  await waitUntil(() => servers.one.received.slice(before).some(({ method }) => method === "GET"));
  await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { tools: ["one__read"] });
  gatehouse.clock.advance(5000);
  await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { tools: ["two__*"] });
  const body = await passTimeUntil(gatehouse.clock, response.text());
  expect(body.match(/^data: /gm)).toHaveLength(1);
  expect(body).toContain('"id":"call-1"');
  expect(body).toContain('"code":"rule_not_allowed"');
});

test("a definition that is held since the call withholds the result", async () => {
  const { client, interrupted } = await begin({ pin: "hold" });
  await client.request("tools/list");
  const place = await interrupted();
  const tools = servers.one.tools;
  servers.one.tools = { ...tools, read: { definition: { description: "changed" } } };
  gatehouse.clock.advance(60_000);
  const { messages } = await resume(client, place);
  servers.one.tools = tools;
  expect(messages).toMatchObject([{ id: "call-1", error: { message: "Unknown tool: one__read" } }]);
});

test("a server cannot respond to a request that the stream is not of", async () => {
  const { client, interrupted } = await begin();
  const place = await interrupted();
  onResume = (id) =>
    events(
      { data: { id: "never asked", result: text("injected") } },
      { data: { id, result: text("after it") } },
    );
  const { messages } = await resume(client, place);
  expect(messages).toMatchObject([{ id: "call-1", error: { message: expect.stringContaining("another") } }]);
  onResume = (id) =>
    events({ data: { id, result: text("first") } }, { data: { id, result: text("second") } });
  expect((await resume(client, place)).messages).toMatchObject([{ id: "call-1", result: text("first") }]);
});

test("an event that the client did not get in its session is refused", async () => {
  const { client, interrupted, route, headers } = await begin();
  const place = await interrupted();
  const other = await SessionClient.start(route.url, { headers });
  const before = servers.one.received.length;
  const forged = [`${place.slice(0, -1)}${place.endsWith("A") ? "B" : "A"}`, "anything", "one~place-1", ""];
  for (const [who, id] of [[other, place] as const, ...forged.map((each) => [client, each] as const)]) {
    const { status, messages } = await resume(who, id);
    expect([id, status]).toEqual([id, 400]);
    expect(messages).toMatchObject([{ error: { message: expect.stringContaining("Last-Event-ID") } }]);
  }
  expect(servers.one.received.slice(before).filter(({ method }) => method === "GET")).toEqual([]);
});

test("the stream of messages without a request is resumed at the server of the event, without responses", async () => {
  const stream = (...sent: readonly SentEvent[]) =>
    new Response(
      new ReadableStream({
        async start(each) {
          each.enqueue(await events(...sent).bytes());
        },
      }),
      { headers: { "Content-Type": "text/event-stream" } },
    );
  const log = (data: string) => ({ method: "notifications/message", params: { level: "info", data } });
  servers.one.respond = ({ method, headers }) => {
    if (method !== "GET") return null;
    return headers.get("last-event-id") === "seen"
      ? stream({ data: { id: "call-1", result: text("injected") } }, { data: log("second") })
      : stream({ id: "seen", data: log("first") });
  };
  const { client } = await begin();
  const read = async (place: string | null, until: string) => {
    const aborted = new AbortController();
    const given = place === null ? {} : { "Last-Event-ID": place };
    const response = await client.stream(aborted.signal, given);
    let body = "";
    for await (const chunk of response.body ?? []) {
      body += Buffer.from(chunk).toString();
      if (body.includes(until)) break;
    }
    aborted.abort();
    return body;
  };
  const place = placeIn(await read(null, "first"));
  const resumed = await read(place, "second");
  expect(resumed).not.toContain("injected");
});
