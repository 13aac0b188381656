// Sends warnings of budgets to webhooks, over the connections to providers: forbidden addresses and timeouts apply as well.
import type { Clock } from "../base/clock.ts";
import { sha256 } from "../base/sha256.ts";
import type { Log } from "../telemetry/log/log.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";

const TIMEOUTS = { connect: 5000, first_byte: 10_000 };
const TOTAL_MS = 10_000;
const MAX_IN_FLIGHT = 100;
/** Milliseconds before the second and the third attempt. */
const RETRY_DELAYS_MS = [1000, 10_000];

export class BudgetWebhooks {
  readonly #pool: Pick<UpstreamPool, "send">;
  readonly #log: Log;
  readonly #clock: Clock;
  #inFlight = 0;

  constructor(pool: Pick<UpstreamPool, "send">, log: Log, clock: Clock) {
    this.#pool = pool;
    this.#log = log;
    this.#clock = clock;
  }

  /** Does not wait. Failures are logged without the URL, which may contain a secret. */
  send(url: string, event: Readonly<Record<string, unknown>>): void {
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      this.#log.warn({ host: new URL(url).host }, "budget webhook dropped; too many are in progress");
      return;
    }
    this.#inFlight++;
    void this.#deliver(url, Buffer.from(JSON.stringify(event))).finally(() => this.#inFlight--);
  }

  async #deliver(url: string, body: Buffer): Promise<void> {
    let reason = "";
    for (const delayMs of [0, ...RETRY_DELAYS_MS]) {
      if (delayMs > 0) await this.#wait(delayMs);
      reason = await this.#post(url, body);
      if (reason === "") return;
    }
    this.#log.warn({ host: new URL(url).host, reason }, "budget webhook failed");
  }

  #wait(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#clock.setTimeout(() => resolve(undefined), milliseconds).unref();
    return promise;
  }

  /** Resolves to the reason of the failure, or to an empty text. */
  async #post(url: string, body: Buffer): Promise<string> {
    let response: UpstreamResponse | null = null;
    const timer = this.#clock.setTimeout(() => response?.abort(new UpstreamError("total_timeout")), TOTAL_MS);
    try {
      const { origin, pathname, search } = new URL(url);
      const request = {
        baseUrl: origin,
        poolKey: sha256(JSON.stringify(["budget webhook", url])),
        usesClientCredential: false,
        credential: null,
        path: pathname + search,
        method: "POST",
        headers: {
          accept: "*/*",
          "accept-encoding": "identity",
          "content-type": "application/json",
          "user-agent": "gatehouse",
        },
        body,
      };
      response = this.#pool.send(request, TIMEOUTS, this.#clock.now());
      await response.headersReceived;
      const { status } = response;
      // The body does not matter.
      response.cancel();
      return status >= 200 && status < 300 ? "" : `status ${status}`;
    } catch (error) {
      return error instanceof UpstreamError ? error.kind : "invalid request";
    } finally {
      timer.close();
    }
  }
}
