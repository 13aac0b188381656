// Errors that say that a server did not respond in time, as opposed to one that cannot be reached or responds
// with an error.
import { UpstreamError, type UpstreamErrorKind } from "../upstream/upstream-error.ts";
import { ServerProtocolError } from "./server-call.ts";

const TIMEOUTS: ReadonlySet<UpstreamErrorKind> = new Set([
  "connect_timeout",
  "first_byte_timeout",
  "idle_timeout",
]);

/** The server sent no list in time. */
export class ServerSilentError extends ServerProtocolError {}

export function isUnresponsive(error: unknown): boolean {
  return error instanceof ServerSilentError || (error instanceof UpstreamError && TIMEOUTS.has(error.kind));
}
