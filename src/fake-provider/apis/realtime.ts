// OpenAI Realtime over WebSocket: a text conversation with deltas and usage. Audio is accepted and not heard.
import { type ChatReply, composeReply, splitPieces } from "../conversation.ts";
import { type JsonObject, objectOf, stringOf } from "../loose-json.ts";
import { asksForWebSocket, type ReceivedRequest } from "../recorded-request.ts";
import type { FakeResponse, WebSocketSession } from "../response.ts";
import { acceptKey } from "../websocket-frames.ts";
import { type ApiCall, type ErrorFormat, ownId } from "./api.ts";
import { openAiErrors, openAiHeaders } from "./openai-errors.ts";
import { outputItems, readChatRequest } from "./openai-responses.ts";

const PROTOCOL = "realtime";
const KEY_PROTOCOL = "openai-insecure-api-key.";
const MAX_ITEMS = 1000;

/** Browsers cannot set headers, so a key may be one of the offered subprotocols. */
export const realtimeErrors: ErrorFormat = {
  ...openAiErrors,
  credential: (request) =>
    offeredProtocols(request)
      .find((name) => name.startsWith(KEY_PROTOCOL))
      ?.slice(KEY_PROTOCOL.length) ?? openAiErrors.credential(request),
};

function offeredProtocols(request: ReceivedRequest): string[] {
  return (request.header("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
}

export function openRealtime(call: ApiCall): FakeResponse {
  const { request } = call;
  const key = request.header("sec-websocket-key");
  if (!asksForWebSocket(request) || key === undefined) {
    const response = openAiErrors.respond(request, 426, "Connect with WebSocket.");
    return { ...response, headers: [...response.headers, ["Upgrade", "websocket"]] };
  }
  return {
    status: 101,
    headers: [
      ["Upgrade", "websocket"],
      ["Connection", "Upgrade"],
      ["Sec-WebSocket-Accept", acceptKey(key)],
      ...(offeredProtocols(request).includes(PROTOCOL)
        ? ([["Sec-WebSocket-Protocol", PROTOCOL]] satisfies FakeResponse["headers"])
        : []),
      ...openAiHeaders(request),
    ],
    body: { kind: "whole", bytes: new Uint8Array(0) },
    webSocket: new RealtimeSession(call),
  };
}

type EventFields = JsonObject & { type: string };

class RealtimeSession implements WebSocketSession {
  finishedResponses = 0;
  #session: JsonObject;
  readonly #items: JsonObject[] = [];
  #events = 0;
  #responses = 0;
  #isResponding = false;
  #isCanceled = false;

  constructor(private readonly call: ApiCall) {
    const { request } = call;
    const model = new URLSearchParams(request.target.slice(request.path.length)).get("model");
    this.#session = {
      id: ownId(call, "sess_"),
      object: "realtime.session",
      type: "realtime",
      model: model ?? "fake-model",
      output_modalities: ["text"],
      instructions: "",
      tools: [],
      tool_choice: "auto",
      max_output_tokens: "inf",
    };
  }

  open(): Iterable<string> {
    return this.#numbered([{ type: "session.created", session: this.#session }]);
  }

  receive(text: string): Iterable<string> {
    let event: JsonObject;
    try {
      event = objectOf(JSON.parse(text));
    } catch {
      return this.#numbered([errorEvent("invalid_json", "The message is not JSON.")]);
    }
    // Not when its reply is sent, which waits for the response that is being sent.
    if (event["type"] === "response.cancel" && this.#isResponding) {
      this.#isCanceled = true;
      return [];
    }
    return this.#numbered(this.#replyTo(event));
  }

  error(): string {
    const event = errorEvent("server_error", "The server had an error processing your request.");
    return JSON.stringify({ event_id: this.#nextEventId(), ...event });
  }

  *#numbered(events: Iterable<EventFields>): Generator<string> {
    for (const event of events) yield JSON.stringify({ event_id: this.#nextEventId(), ...event });
  }

  #nextEventId(): string {
    return `event_fake${this.call.request.serial}_${++this.#events}`;
  }

  *#replyTo(event: JsonObject): Generator<EventFields> {
    switch (event["type"]) {
      case "session.update":
        this.#session = { ...this.#session, ...objectOf(event["session"]) };
        yield { type: "session.updated", session: this.#session };
        break;
      case "conversation.item.create":
        yield* this.#addItem(objectOf(event["item"]));
        break;
      case "input_audio_buffer.append":
        break;
      case "input_audio_buffer.clear":
        yield { type: "input_audio_buffer.cleared" };
        break;
      case "input_audio_buffer.commit":
        yield { type: "input_audio_buffer.committed", item_id: this.#nextItemId() };
        yield* this.#addItem({ type: "message", role: "user", content: [{ type: "input_audio" }] });
        break;
      case "response.create":
        yield* this.#respond(objectOf(event["response"]));
        break;
      case "response.cancel":
        yield errorEvent("response_cancel_not_active", "There is no active response.", event["event_id"]);
        break;
      default:
        yield errorEvent("invalid_value", "The type of the event is unknown.", event["event_id"]);
    }
  }

  #nextItemId(): string {
    return `item_fake${this.call.request.serial}_${this.#items.length}`;
  }

  *#addItem(given: JsonObject): Generator<EventFields> {
    const previous = this.#items.at(-1)?.["id"] ?? null;
    const item = { id: this.#nextItemId(), object: "realtime.item", status: "completed", ...given };
    this.#items.push(item);
    if (this.#items.length > MAX_ITEMS) this.#items.shift();
    yield { type: "conversation.item.added", previous_item_id: previous, item };
    yield { type: "conversation.item.done", previous_item_id: previous, item };
  }

  *#respond(parameters: JsonObject): Generator<EventFields> {
    const body = { ...this.#session, ...parameters, stream: true };
    const chat = readChatRequest({ body, input: [], conversation: this.#items });
    const reply = composeReply({ ...chat, wantsThinking: false }, this.call.behavior, this.call.providerName);
    const id = `${ownId(this.call, "resp_")}_${++this.#responses}`;
    const response = { id, object: "realtime.response", status_details: null, output: [], usage: null };
    this.#isResponding = true;
    this.#isCanceled = false;
    yield { type: "response.created", response: { ...response, status: "in_progress" } };
    const output = outputItems(this.call, {}, reply).map((item, index) => ({
      object: "realtime.item",
      ...item,
      id: `${id}_${index}`,
    }));
    for (const [index, item] of output.entries()) {
      yield* this.#itemEvents(item, { response_id: id, output_index: index }, reply);
      if (this.#isCanceled) break;
    }
    const status = this.#isCanceled ? "cancelled" : "completed";
    this.#isResponding = false;
    this.finishedResponses++;
    yield { type: "response.done", response: { ...response, status, output, usage: usageOf(reply) } };
  }

  *#itemEvents(
    item: JsonObject,
    position: { response_id: string; output_index: number },
    reply: ChatReply,
  ): Generator<EventFields> {
    yield { type: "response.output_item.added", ...position, item: { ...item, status: "in_progress" } };
    yield* this.#addItem(item);
    const at = { ...position, item_id: item["id"] };
    if (item["type"] === "message") {
      const part = { ...at, content_index: 0 };
      yield { type: "response.content_part.added", ...part, part: { type: "text", text: "" } };
      for (const delta of reply.pieces) {
        if (this.#isCanceled) return;
        yield { type: "response.output_text.delta", ...part, delta };
      }
      yield { type: "response.output_text.done", ...part, text: reply.text };
      yield { type: "response.content_part.done", ...part, part: { type: "text", text: reply.text } };
    } else {
      const call = { ...at, call_id: item["call_id"] };
      for (const delta of splitPieces(stringOf(item["arguments"])))
        yield { type: "response.function_call_arguments.delta", ...call, delta };
      const done = { name: item["name"], arguments: item["arguments"] };
      yield { type: "response.function_call_arguments.done", ...call, ...done };
    }
    yield { type: "response.output_item.done", ...position, item };
  }
}

function errorEvent(code: string, message: string, eventId: unknown = null): EventFields {
  const type = code === "server_error" ? "server_error" : "invalid_request_error";
  return { type: "error", error: { type, code, message, param: null, event_id: eventId } };
}

function usageOf(reply: ChatReply): JsonObject {
  return {
    total_tokens: reply.inputTokens + reply.outputTokens,
    input_tokens: reply.inputTokens,
    output_tokens: reply.outputTokens,
    input_token_details: {
      text_tokens: reply.inputTokens,
      audio_tokens: 0,
      image_tokens: 0,
      cached_tokens: reply.cachedTokens,
      cached_tokens_details: { text_tokens: reply.cachedTokens, audio_tokens: 0, image_tokens: 0 },
    },
    output_token_details: { text_tokens: reply.outputTokens, audio_tokens: 0 },
  };
}
