// A token server (RFC 6749) over real HTTP: records its requests, and gives out numbered tokens or what a test sets.
import { afterAll, beforeEach } from "bun:test";

interface TokenRequest {
  readonly path: string;
  readonly form: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

type Respond = (request: TokenRequest) => Response | Promise<Response>;

interface TokenServer {
  readonly url: string;
  readonly requests: readonly TokenRequest[];
  respond(script: Respond): void;
}

/** Call it at the top level of a test file. The token of the first request is `token-1`. */
export function useTokenServer(lifetimeSeconds = 3600): TokenServer {
  const requests: TokenRequest[] = [];
  let issued = 0;
  const issue: Respond = () =>
    Response.json({
      access_token: `token-${++issued}`,
      token_type: "Bearer",
      expires_in: lifetimeSeconds,
    });
  let script = issue;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const form = Object.fromEntries(new URLSearchParams(await request.text()));
      const { pathname, search } = new URL(request.url);
      const received = {
        path: pathname + search,
        form,
        authorization: request.headers.get("authorization"),
      };
      requests.push(received);
      return script(received);
    },
  });
  beforeEach(() => {
    requests.length = 0;
    issued = 0;
    script = issue;
  });
  afterAll(() => server.stop(true));
  return {
    url: server.url.origin,
    requests,
    respond: (next) => void (script = next),
  };
}
