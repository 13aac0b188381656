// Tests the connection to a target: sends a request that costs nothing the way requests of clients are sent, and reports what the
// response says about address, TLS and credential.
import type { Clock } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import { sha256 } from "../../base/sha256.ts";
import type { ConnectionCheck } from "../../formats/provider-setup.ts";
import type { ConnectionTest } from "../../model/connection-test.ts";
import { isSecretHeader } from "../../model/target-secrets.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import { readWholeBody } from "../../upstream/read-whole-body.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { UpstreamPool } from "../../upstream/upstream-pool.ts";
import type { UpstreamResponse } from "../../upstream/upstream-response.ts";
import { providerMessage } from "./provider-message.ts";
import { reportOf, type Received } from "./connection-report.ts";

const MAX_RUNNING = 8;
/** Upper bounds of the timeouts of the upstream: an administrator waits for the result. */
const MAX_CONNECT_MS = 10_000;
const MAX_FIRST_BYTE_MS = 15_000;
const TOTAL_MS = 20_000;
const MAX_ERROR_BYTES = 16 * 1024;

interface TestedTarget {
  readonly target: CompiledTarget;
  /** The same target without its secrets. */
  readonly withoutSecrets: CompiledTarget;
  readonly check: ConnectionCheck;
  readonly timeouts: { readonly connect: number; readonly first_byte: number };
}

export class ConnectionTests {
  readonly #pool: Pick<UpstreamPool, "send">;
  readonly #clock: Clock;
  #running = 0;

  constructor(pool: Pick<UpstreamPool, "send">, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  async run({ target, withoutSecrets, check, timeouts: given }: TestedTarget): Promise<ConnectionTest> {
    if (this.#running >= MAX_RUNNING)
      throw new GatehouseError(
        "too_many_connection_tests",
        `${MAX_RUNNING} connection tests are in progress. Retry when one of them has ended.`,
      );
    this.#running++;
    const startedAt = this.#clock.now();
    const timeouts = {
      connect: Math.min(given.connect, MAX_CONNECT_MS),
      first_byte: Math.min(given.first_byte, MAX_FIRST_BYTE_MS),
    };
    const send = (to: CompiledTarget) => this.#send(to, check.path, timeouts);
    try {
      const received = await send(target);
      const needsComparison = check.proof === "compare" && isSuccess(received) && target !== withoutSecrets;
      const compared = needsComparison ? await send(withoutSecrets) : null;
      const duration = Math.round((this.#clock.now() - startedAt) * 10) / 10;
      return reportOf({ target, check, timeouts, received, compared, duration });
    } finally {
      this.#running--;
    }
  }

  /** Opens a new connection, so that address and certificate are checked now. */
  async #send(
    target: CompiledTarget,
    path: string,
    timeouts: TestedTarget["timeouts"],
  ): Promise<Received | UpstreamError> {
    const request = {
      baseUrl: target.baseUrl,
      poolKey: sha256(`connection test ${newId()}`),
      // Kept apart from the connections of targets, so that tests do not close those.
      usesClientCredential: true,
      credential: target.credential,
      path,
      method: "GET",
      headers: headersFor(target),
      body: null,
    };
    const response = this.#pool.send(request, timeouts, this.#clock.now());
    const timer = this.#clock.setTimeout(() => response.abort(new UpstreamError("total_timeout")), TOTAL_MS);
    try {
      await response.headersReceived;
      const { status } = response;
      const location = response.headers.get("location");
      return { status, location, message: response.ok ? "" : await errorIn(response, target) };
    } catch (error) {
      if (error instanceof UpstreamError) return error;
      throw error;
    } finally {
      timer.close();
      response.cancel();
    }
  }
}

function isSuccess(received: Received | UpstreamError): boolean {
  return !(received instanceof UpstreamError) && received.status >= 200 && received.status < 300;
}

function headersFor(target: CompiledTarget): Record<string, string> {
  const headers: Record<string, string> = {
    accept: "application/json",
    "accept-encoding": "identity",
    "user-agent": "gatehouse",
  };
  for (const [name, value] of target.headers) headers[name] = value;
  for (const [name, value] of target.format.requiredHeaders) headers[name] ??= value;
  return headers;
}

/** Returns what the provider says; an empty text if its response is too large or breaks off. */
async function errorIn(response: UpstreamResponse, target: CompiledTarget): Promise<string> {
  const sent = target.headers.filter(([name]) => target.hasCredential || isSecretHeader(name));
  const added = Object.values(response.credentialHeaders ?? {}).filter((value) => value !== undefined);
  const secrets = [...sent.map(([, value]) => value), ...added];
  response.idleTimeoutMs = MAX_CONNECT_MS;
  try {
    return providerMessage(await readWholeBody(response, MAX_ERROR_BYTES), secrets);
  } catch {
    return "";
  }
}
