// Asks a server that was silent for what it did not respond to, as no client's request.
import { withTimeout } from "../base/with-timeout.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { ServerConnector } from "./connect-server.ts";
import { ownRequestId } from "./federation.ts";
import { NEWEST_SESSION_VERSION } from "./protocol.ts";
import type { ServerCallParts } from "./server-call.ts";
import { endSession, sendRequest, type ClientDescription } from "./server-link.ts";
import type { Silence, SilentSubject } from "./silent-servers.ts";
import { isUnresponsive, ServerSilentError } from "./unresponsive.ts";

const CLIENT: ClientDescription = {
  info: { name: "gatehouse", version: "1" },
  capabilities: {},
  generation: "stateless",
};

/** Resolves to whether the server responded, with an error or without. Does not reject. */
export function probeServer(
  subject: SilentSubject,
  what: Silence,
  connector: ServerConnector,
  parts: ServerCallParts,
): Promise<boolean> {
  return ask(subject, what, connector, parts).then(
    () => true,
    (error: unknown) => !isUnresponsive(error) && !isUnreachable(error),
  );
}

/** A server that went down while it was silent is left out until it is there again. */
function isUnreachable(error: unknown): boolean {
  return error instanceof UpstreamError && (error.kind === "unreachable" || error.kind === "broken");
}

async function ask(
  { gatewayId, server, credential }: SilentSubject,
  what: Silence,
  connector: ServerConnector,
  parts: ServerCallParts,
): Promise<void> {
  const { link } = await connector.connect(server, {
    client: CLIENT,
    version: NEWEST_SESSION_VERSION,
    credential,
    gatewayId,
    signal: null,
    isClientSession: false,
    isProbe: true,
  });
  try {
    if (what === "connect") return;
    const aborted = new AbortController();
    const request = {
      id: ownRequestId(),
      method: what,
      params: {},
      headers: {},
      client: CLIENT,
      timeoutMs: server.timeouts.list,
      signal: aborted.signal,
      onEvent: null,
    };
    const timeout = () => {
      aborted.abort();
      return new ServerSilentError(`the server sent no list within ${server.timeouts.list} ms`);
    };
    await withTimeout(server.timeouts.list, sendRequest(link, request, parts), timeout, parts.clock);
  } finally {
    void endSession(link, parts);
  }
}
