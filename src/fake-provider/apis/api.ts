// What the routing table and the APIs of the fake provider share: a call, its handler, and the format of errors.
import type { Behavior } from "../behavior.ts";
import { type JsonObject, isObject } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import type { FakeResponse } from "../response.ts";
import type { StoredObjects } from "../stored-objects.ts";

export interface ApiCall {
  readonly request: ReceivedRequest;
  readonly behavior: Behavior;
  readonly providerName: string;
  readonly stored: StoredObjects;
  /** The variable part of the path, decoded: an id or a model name. Empty if the path has none. */
  readonly name: string;
}

export type ApiHandler = (call: ApiCall) => FakeResponse;

export interface ErrorFormat {
  respond(request: ReceivedRequest, status: number, message?: string): FakeResponse;
  /** The response to a request with the provider key "invalid". */
  rejectKey(request: ReceivedRequest): FakeResponse;
  rateLimit(request: ReceivedRequest, retryAfter: number | string): FakeResponse;
  /** The event that reports an error in the middle of a stream, after this many events. */
  event(sentEvents: number): Uint8Array;
  /** The provider key of the request. */
  credential(request: ReceivedRequest): string | undefined;
}

/** Returns the body if it is a JSON object, else null. */
export function jsonBody(request: ReceivedRequest): JsonObject | null {
  try {
    const body = request.json();
    return isObject(body) ? body : null;
  } catch {
    return null;
  }
}

/** Returns an id that no other provider of another name returns, and no other request to this one. */
export function ownId(call: ApiCall, prefix: string): string {
  return `${prefix}${call.providerName.replaceAll(/[^A-Za-z0-9]/g, "")}${call.request.serial}`;
}

export function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
