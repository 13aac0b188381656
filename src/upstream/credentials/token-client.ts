// Fetches tokens over the connections to providers: forbidden addresses, timeouts and the forward proxy apply to them as well.
import type { Clock } from "../../base/clock.ts";
import { parseObject, type JsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import { readWholeBody } from "../read-whole-body.ts";
import { CredentialError } from "../request-credential.ts";
import { UpstreamError, type UpstreamErrorKind } from "../upstream-error.ts";
import type { UpstreamPool } from "../upstream-pool.ts";
import type { UpstreamResponse } from "../upstream-response.ts";

const TIMEOUTS = { connect: 5000, first_byte: 10_000 };
/** From the start of the request to the end of the response. */
const TOTAL_MS = 10_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Error codes of RFC 6749 and of the clouds. Anything else could be chosen by the server to mislead the reader. */
const ERROR_CODE = /^[A-Za-z0-9_.-]{1,64}$/;

export interface TokenResponse {
  readonly status: number;
  readonly text: string;
}

export class TokenClient {
  readonly #pool: Pick<UpstreamPool, "send">;
  readonly #clock: Clock;
  readonly #running = new Set<UpstreamResponse>();

  constructor(pool: Pick<UpstreamPool, "send">, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  /** Posts a form. Rejects with a CredentialError. */
  async post(
    url: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TokenResponse> {
    const { origin, pathname, search } = new URL(url);
    const body = Buffer.from(new URLSearchParams(form).toString());
    const now = this.#clock.now();
    const response = this.#pool.send(
      {
        baseUrl: origin,
        // Only fetches with the same client and secret share a connection.
        poolKey: sha256(JSON.stringify(["token", url, form["client_id"], form["client_secret"], headers])),
        usesClientCredential: false,
        credential: null,
        path: pathname + search,
        method: "POST",
        headers: {
          accept: "application/json",
          "accept-encoding": "identity",
          "content-type": "application/x-www-form-urlencoded",
          "user-agent": "gatehouse",
          ...headers,
        },
        body,
      },
      TIMEOUTS,
      now,
    );
    const timer = this.#clock.setTimeout(() => response.abort(new UpstreamError("total_timeout")), TOTAL_MS);
    this.#running.add(response);
    try {
      await response.headersReceived;
      const bytes = await readWholeBody(response, MAX_RESPONSE_BYTES);
      return { status: response.status, text: new TextDecoder().decode(bytes) };
    } catch (error) {
      const kind = error instanceof UpstreamError ? error.kind : "cut";
      throw new CredentialError(`the token server ${FAILURES[kind]}`, error);
    } finally {
      timer.close();
      this.#running.delete(response);
    }
  }

  /** Aborts all fetches. */
  close(): void {
    for (const response of this.#running) response.cancel();
  }
}

const FAILURES: Readonly<Record<UpstreamErrorKind, string>> = {
  unreachable: "could not be reached",
  broken: "closed the connection before it sent a response",
  cut: "sent an incomplete or too large response",
  invalid: "sent a response that is not valid HTTP",
  connect_timeout: "did not accept a connection in time",
  first_byte_timeout: "did not respond in time",
  idle_timeout: "did not respond in time",
  stopped: "was not needed any more",
  hedge_lost: "was not waited for",
  abandoned: "was not waited for",
  first_content_timeout: "did not respond in time",
  error_event: "reported an error",
  empty_stream: "sent an empty response",
  total_timeout: "did not respond in time",
  forbidden: "has a link-local or metadata address",
  credentials: "needs a credential itself",
  client_left: "was not needed any more",
};

/** Returns the JSON object of a successful response. Throws a CredentialError for any other. */
export function tokenObject({ status, text }: TokenResponse): JsonObject {
  const json = parseObject(text);
  if (status === 200 && json !== null) return json;
  const code = json?.["error"];
  const shown = typeof code === "string" && ERROR_CODE.test(code) ? ` (${code})` : "";
  throw new CredentialError(
    status === 200
      ? "the token server sent a response that is not a JSON object"
      : `the token server responded with status ${status}${shown}`,
  );
}
