// How long the connection of a client may take for what.
import { KEEP_ALIVE_SECONDS } from "../keep-alive.ts";

/** Within this time, a new connection must send the headers of its first request, and any other request its headers. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** How long a server that stops waits for the first request of a connection that is established. */
export const FIRST_REQUEST_MS = 1_000;
export const KEEP_ALIVE_MS = KEEP_ALIVE_SECONDS * 1000;
/** How long a client may take to read the last response of its connection. */
export const LINGER_MS = 2_000;
/** A client that takes nothing of a response for this long is disconnected. */
export const STALL_MS = 300_000;
