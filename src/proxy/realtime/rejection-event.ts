// The event with which the gateway rejects an event of a client.
import { randomUUID } from "node:crypto";
import { ERRORS, type ErrorCode } from "../../base/errors.ts";
import { realtimeError } from "../../formats/openai/realtime-requests.ts";
import type { Rejection } from "./turn-claims.ts";

/** `eventId` is that of the client's event; null if it has none. */
export function rejectionEvent(eventId: string | null, { code, reason }: Rejection): string {
  const status = isErrorCode(code) ? ERRORS[code].status : 400;
  return realtimeError(`event_${randomUUID()}`, { code, message: reason, status, eventId });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
