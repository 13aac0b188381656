// Realtime over WebSocket, through the official client and through plain sockets.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { realtimeTurn } from "../../../test/support/realtime-turn.ts";
import { waitUntil } from "../../../test/support/waiting.ts";
import { type Behavior, startFakeProvider } from "../server.ts";

const provider = await startFakeProvider({ name: "Ada" });
afterAll(() => provider.stop());
beforeEach(() => provider.reset());

interface ServerEvent {
  type: string;
  [field: string]: unknown;
}

interface Client {
  readonly socket: WebSocket;
  readonly events: ServerEvent[];
  readonly closed: Promise<CloseEvent>;
  send(event: object): void;
  until(type: string): Promise<ServerEvent>;
}

function connect(behavior: Behavior = {}, protocols: string[] = []): Client {
  const headers = { "x-fake": JSON.stringify(behavior), authorization: "Bearer good" };
  const url = `${provider.url.replace("http", "ws")}/v1/realtime?model=gpt-realtime-fake`;
  const socket = new WebSocket(url, { headers, protocols });
  const events: ServerEvent[] = [];
  const closing = Promise.withResolvers<CloseEvent>();
  socket.onmessage = ({ data }) => void events.push(JSON.parse(String(data)) as ServerEvent);
  socket.onclose = (event) => closing.resolve(event);
  return {
    socket,
    events,
    closed: closing.promise,
    send: (event) => socket.send(JSON.stringify(event)),
    until: async (type) => {
      await waitUntil(() => events.some((event) => event.type === type));
      return events.find((event) => event.type === type)!;
    },
  };
}

describe("a session", () => {
  test("serves the official client: an item, deltas and the usage", async () => {
    const { realtime, text, response } = await realtimeTurn(`${provider.url}/v1`, "sk-good");
    expect(text).toBe('Hello from Ada. You said: "Good morning".');
    expect(response).toMatchObject({
      status: "completed",
      usage: {
        input_tokens: 2,
        output_tokens: 7,
        total_tokens: 9,
        input_token_details: { cached_tokens: 0 },
      },
    });
    realtime.close({ code: 1000, reason: "done" });
    await provider.until(() => provider.requests[0]!.finished);
    expect(provider.requests[0]!.webSocket).toMatchObject({ closeCode: 1000, messages: { length: 2 } });
    expect(provider.requests[0]!.header("sec-websocket-protocol")).toContain(
      "openai-insecure-api-key.sk-good",
    );
  });

  test("sends the documented events in order", async () => {
    const client = connect();
    expect(await client.until("session.created")).toMatchObject({ session: { model: "gpt-realtime-fake" } });
    client.send({ type: "session.update", session: { instructions: "Be kind" } });
    expect(await client.until("session.updated")).toMatchObject({ session: { instructions: "Be kind" } });
    client.send({ type: "response.create" });
    await client.until("response.done");
    expect([...new Set(client.events.map((event) => event.type))]).toEqual([
      "session.created",
      "session.updated",
      "response.created",
      "response.output_item.added",
      "conversation.item.added",
      "conversation.item.done",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.done",
    ]);
    client.socket.close();
  });

  test("follows scripted turns with tool calls", async () => {
    const turns = [{ calls: [{ name: "look", arguments: { at: "sky" } }] }, { text: "It is blue." }];
    const client = connect({ turns });
    await client.until("session.created");
    client.send({ type: "session.update", session: { tools: [{ type: "function", name: "look" }] } });
    client.send({ type: "response.create" });
    const called = await client.until("response.function_call_arguments.done");
    expect(called).toMatchObject({ name: "look", arguments: '{"at":"sky"}' });
    const output = { type: "function_call_output", call_id: called["call_id"], output: "blue" };
    client.send({ type: "conversation.item.create", item: output });
    client.send({ type: "response.create" });
    expect(await client.until("response.output_text.done")).toMatchObject({ text: "It is blue." });
    client.socket.close();
  });

  test("reports unknown events, invalid JSON and a cancel of nothing", async () => {
    const client = connect();
    await client.until("session.created");
    client.send({ type: "unknown", event_id: "mine" });
    client.socket.send("{");
    client.send({ type: "response.cancel" });
    await waitUntil(() => client.events.length === 4);
    expect(client.events.slice(1)).toMatchObject([
      { type: "error", error: { code: "invalid_value", event_id: "mine" } },
      { type: "error", error: { code: "invalid_json" } },
      { type: "error", error: { code: "response_cancel_not_active" } },
    ]);
    client.socket.close();
  });

  test("cancels the response that is being sent", async () => {
    const client = connect({ chunks: 100_000, chunkDelayMs: 1 });
    await client.until("session.created");
    client.send({ type: "response.create" });
    await client.until("response.output_text.delta");
    client.send({ type: "response.cancel" });
    expect(await client.until("response.done")).toMatchObject({ response: { status: "cancelled" } });
    client.socket.close();
  });

  test("accepts audio and answers a ping", async () => {
    const client = connect();
    await client.until("session.created");
    let pongs = 0;
    client.socket.addEventListener("pong", () => pongs++);
    client.socket.ping();
    await waitUntil(() => pongs === 1);
    client.send({ type: "input_audio_buffer.append", audio: "AAAA" });
    client.send({ type: "input_audio_buffer.commit" });
    expect(await client.until("input_audio_buffer.committed")).toHaveProperty("item_id");
    client.socket.close();
  });

  test("sends a long response as fast as the client reads it", async () => {
    const client = connect({ bigStream: { bytes: 1 << 24, chunkBytes: 1 << 16 } });
    await client.until("session.created");
    client.send({ type: "response.create" });
    await client.until("response.done");
    const deltas = client.events.filter((event) => event.type === "response.output_text.delta");
    expect(deltas).toHaveLength(256);
    client.socket.close();
  });
});

describe("the end of a connection", () => {
  test("echoes the client's code and reason", async () => {
    const client = connect();
    await client.until("session.created");
    client.socket.close(4001, "enough");
    expect(await client.closed).toMatchObject({ code: 4001, reason: "enough", wasClean: true });
    expect(provider.requests[0]).toMatchObject({ finished: true, webSocket: { closeCode: 4001 } });
  });

  test("does not wait for the rest of a response", async () => {
    const client = connect({ chunks: 100_000, chunkDelayMs: 1 });
    await client.until("session.created");
    client.send({ type: "response.create" });
    await client.until("response.output_text.delta");
    client.socket.close(4002);
    expect(await client.closed).toMatchObject({ code: 4002 });
    await provider.until(() => provider.requests[0]!.finished);
    expect(client.events.some((event) => event.type === "response.done")).toBe(false);
  });

  test("has the scripted code, at once or after responses", async () => {
    const atOnce = connect({ closeWebSocket: { code: 1008, reason: "policy" } });
    expect(await atOnce.closed).toMatchObject({ code: 1008, reason: "policy" });
    expect(atOnce.events).toHaveLength(1);
    const later = connect({ closeWebSocket: { code: 1011, afterResponses: 2 } });
    await later.until("session.created");
    later.send({ type: "response.create" });
    later.send({ type: "response.create" });
    expect(await later.closed).toMatchObject({ code: 1011 });
    expect(later.events.filter((event) => event.type === "response.done")).toHaveLength(2);
  });

  test("is abrupt if the behavior cuts, and is recorded if the client disconnects", async () => {
    const cut = connect({ cutAfterChunks: 1 });
    await cut.until("session.created");
    cut.send({ type: "response.create" });
    expect(await cut.closed).toMatchObject({ code: 1006 });
    expect(provider.requests[0]).toMatchObject({ aborted: false, finished: false });
    const leaving = connect();
    await leaving.until("session.created");
    leaving.socket.terminate();
    await provider.until(() => provider.requests[1]!.aborted);
  });

  test("is 1003 after a binary message", async () => {
    const client = connect();
    await client.until("session.created");
    client.socket.send(new Uint8Array([1]));
    expect(await client.closed).toMatchObject({ code: 1003 });
  });

  test("an error of the server can be scripted", async () => {
    const client = connect({ errorAfterChunks: 3 });
    await client.until("session.created");
    client.send({ type: "response.create" });
    expect(await client.until("error")).toMatchObject({ error: { type: "server_error" } });
    client.socket.close();
  });
});

describe("an upgrade", () => {
  const upgrade = (headers: Record<string, string>) =>
    fetch(`${provider.url}/v1/realtime?model=m`, { headers });

  test("selects the subprotocol realtime", async () => {
    const client = connect({}, ["other", "realtime"]);
    await client.until("session.created");
    expect(client.socket.protocol).toBe("realtime");
    client.socket.close();
  });

  test("of another path is rejected with 426", async () => {
    const response = await fetch(`${provider.url}/v1/responses`, { headers: { upgrade: "websocket" } });
    expect(response.status).toBe(426);
  });

  test("is rejected with the scripted status, with an invalid key, and without the upgrade headers", async () => {
    const client = connect({ status: 503 });
    expect(await client.closed).toMatchObject({ code: expect.any(Number) });
    expect(client.events).toEqual([]);
    const plain = await upgrade({});
    expect(plain.status).toBe(426);
    expect(plain.headers.get("upgrade")).toBe("websocket");
    const invalid = await upgrade({ "sec-websocket-protocol": "realtime, openai-insecure-api-key.invalid" });
    expect(invalid.status).toBe(401);
  });
});
