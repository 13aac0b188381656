// JSON-RPC 2.0 messages: validation of untrusted values, and the messages that the gateway sends. What is sent is always
// built from the validated parts, so that no receiver can read another message in it than the gateway did.
import { writeExact } from "../base/exact-json.ts";
import type { JsonObject } from "../base/json.ts";
import { isParsedObject } from "../base/raw-json.ts";
import { RPC } from "./protocol.ts";

export type RpcId = string | number;

/** Ids are echoed and kept while a request is in flight. */
const MAX_ID_LENGTH = 256;
const MAX_METHOD_LENGTH = 128;
/** More messages than any client sends at once. */
export const MAX_BATCH = 50;

export interface RpcRequest {
  readonly kind: "request";
  readonly id: RpcId;
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: JsonObject;
}

export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface RpcResponse {
  readonly kind: "response";
  /** Null: the sender could not read the id of the request. */
  readonly id: RpcId | null;
  /** Null if `error` is not. */
  readonly result: JsonObject | null;
  readonly error: RpcErrorObject | null;
  /** The length of the message that was received; undefined of one that was created. */
  readonly bytes?: number;
}

export type RpcMessage = RpcRequest | RpcNotification | RpcResponse;

/** An error that is returned to the client as a JSON-RPC error, with an HTTP status. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  readonly httpStatus: number;

  constructor(
    code: number,
    message: string,
    options: { readonly data?: unknown; readonly httpStatus?: number } = {},
  ) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = options.data;
    this.httpStatus = options.httpStatus ?? 200;
  }

  /** The client sent something that is no request of the protocol. */
  static invalidRequest(message: string): RpcError {
    return new RpcError(RPC.invalidRequest, message, { httpStatus: 400 });
  }

  toObject(): RpcErrorObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** No server offers the tool, prompt or resource to the client. */
export class UnknownItemError extends RpcError {
  constructor(message: string, data?: unknown) {
    super(RPC.invalidParams, message, { data });
  }
}

/** Returns null if the value is not a JSON-RPC message. */
export function readMessage(value: unknown): RpcMessage | null {
  if (!isParsedObject(value) || value["jsonrpc"] !== "2.0") return null;
  return Object.hasOwn(value, "method") ? readCall(value) : readResponse(value);
}

function readCall(value: JsonObject): RpcRequest | RpcNotification | null {
  const method = value["method"];
  if (typeof method !== "string" || method === "" || method.length > MAX_METHOD_LENGTH) return null;
  const params = Object.hasOwn(value, "params") ? value["params"] : {};
  if (!isParsedObject(params) || Object.hasOwn(value, "result") || Object.hasOwn(value, "error")) return null;
  if (!Object.hasOwn(value, "id")) return { kind: "notification", method, params };
  const { id } = value;
  return isRpcId(id) ? { kind: "request", id, method, params } : null;
}

function readResponse(value: JsonObject): RpcResponse | null {
  const { id = null, result, error } = value;
  if (id !== null && !isRpcId(id)) return null;
  if (error === undefined) {
    // Results are objects in every version of the protocol.
    return id !== null && isParsedObject(result) ? { kind: "response", id, result, error: null } : null;
  }
  if (result !== undefined || !isParsedObject(error)) return null;
  const { code, message, data } = error;
  if (typeof code !== "number" || typeof message !== "string") return null;
  const read = data === undefined ? { code, message } : { code, message, data };
  return { kind: "response", id, result: null, error: read };
}

export function isRpcId(value: unknown): value is RpcId {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value === "string" && value.length <= MAX_ID_LENGTH;
}

/**
 * Returns the messages of a body, or null if it has something that is none, or two requests with one id: nobody could tell whose
 * response is whose. An empty batch is not valid (JSON-RPC 2.0, section 6).
 */
export function readBatch(values: readonly unknown[]): RpcMessage[] | null {
  if (values.length === 0 || values.length > MAX_BATCH) return null;
  const messages: RpcMessage[] = [];
  // Ids that round to one number are equal to everyone who reads numbers as doubles, as the gateway does.
  const ids = new Set<RpcId>();
  for (const value of values) {
    const message = readMessage(value);
    if (message === null) return null;
    if (message.kind === "request") {
      if (ids.has(message.id)) return null;
      ids.add(message.id);
    }
    messages.push(message);
  }
  return messages;
}

/** The JSON of a message: bytes if large parts of it are passed on as they were received. */
export type MessageText = string | Uint8Array;

export function requestText(id: RpcId, method: string, params: JsonObject): MessageText {
  return writeExact({ jsonrpc: "2.0", id, method, params });
}

export function notificationText(method: string, params: JsonObject): MessageText {
  return writeExact({ jsonrpc: "2.0", method, params });
}

export function resultText(id: RpcId, result: JsonObject): MessageText {
  return writeExact({ jsonrpc: "2.0", id, result });
}

export function errorText(id: RpcId | null, error: RpcErrorObject): MessageText {
  return writeExact({ jsonrpc: "2.0", id, error });
}

export function batchText(texts: readonly MessageText[]): Uint8Array {
  const pieces = texts.flatMap((text, index) => [index === 0 ? "[" : ",", text]);
  return Buffer.concat(
    [...pieces, "]"].map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
  );
}

/** Returns the object in `_meta`; an empty one if there is none. */
export function metaOf(params: JsonObject): JsonObject {
  const meta = Object.hasOwn(params, "_meta") ? params["_meta"] : null;
  return isParsedObject(meta) ? meta : {};
}

/** Returns a text field of an object; null if it is absent or no text. */
export function textOf(object: JsonObject, name: string): string | null {
  const value = Object.hasOwn(object, name) ? object[name] : null;
  return typeof value === "string" ? value : null;
}

/** Returns an object in a field of an object; null if it is absent or no object. */
export function objectOf(object: JsonObject, name: string): JsonObject | null {
  const value = Object.hasOwn(object, name) ? object[name] : null;
  return isParsedObject(value) ? value : null;
}
