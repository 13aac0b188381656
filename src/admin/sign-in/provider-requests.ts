// Requests to the OpenID provider: each has a timeout and a limit for its response, and follows no redirect.
import { parseBounded } from "../../base/bounded-json.ts";
import type { Clock } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

interface ProviderResponse {
  readonly status: number;
  readonly body: JsonObject;
}

export class ProviderRequests {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `sign_in_unavailable` if there is no response with a JSON object. */
  async json(url: string, init: RequestInit = {}): Promise<ProviderResponse> {
    try {
      const response = await this.fetch(url, init);
      const body: unknown = parseBounded(await response.text());
      if (!isJsonObject(body)) throw new Error("the response is not a JSON object");
      return { status: response.status, body };
    } catch (cause) {
      throw unavailable("The OpenID provider did not respond, or not as expected. Retry later.", cause);
    }
  }

  /** Like `fetch`, with the limits of this class. The body has been read. */
  async fetch(url: string, init: RequestInit): Promise<Response> {
    const abort = new AbortController();
    const reason = new Error(`no response within ${TIMEOUT_MS} ms`);
    const timer = this.#clock.setTimeout(() => abort.abort(reason), TIMEOUT_MS);
    try {
      const response = await fetch(url, { ...init, redirect: "manual", signal: abort.signal });
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      let bytes = 0;
      const body: AsyncIterable<Uint8Array<ArrayBuffer>> | null = response.body;
      if (body === null) return response;
      for await (const chunk of body) {
        bytes += chunk.byteLength;
        if (bytes > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`);
        chunks.push(chunk);
      }
      const { status, headers } = response;
      return new Response(new Blob(chunks), { status, headers });
    } finally {
      timer.close();
      abort.abort();
    }
  }
}

export function unavailable(message: string, cause?: unknown): GatehouseError {
  return new GatehouseError("sign_in_unavailable", message, { cause });
}
