// The public keys of an issuer of tokens: fetched when first needed, kept, and fetched again for a key that is not among them.
import { parseBounded } from "../../base/bounded-json.ts";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Clock } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import { sha256 } from "../../base/sha256.ts";
import { readWholeBody } from "../../upstream/read-whole-body.ts";
import type { UpstreamClient } from "../../upstream/upstream-client.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";

const TIMEOUTS = { connect: 3000, first_byte: 5000 };
/** From the start of the request to the end of the response. */
const TOTAL_MS = 5000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** Characters of an RSA modulus of 8192 bits in base64url. Verifying with a longer one takes too much time. */
const MAX_MODULUS_LENGTH = 1366;
/** Characters of an RSA exponent of 32 bits. */
const MAX_EXPONENT_LENGTH = 6;
/** After this time keys are fetched again, while those at hand are used. */
const LIFETIME_MS = 600_000;
/** Keys that could not be fetched again for this time are not used any more: one of them may have been revoked. */
const MAX_AGE_MS = 3_600_000;
/** Between two fetches: anyone can send tokens that name an unknown key. */
const MIN_INTERVAL_MS = 10_000;

interface KeySetParts {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  /** Called for each fetch that fails, at most once in MIN_INTERVAL_MS. */
  readonly onFailure: (error: unknown) => void;
}

export class KeySet {
  readonly #url: URL;
  readonly #poolKey: string;
  readonly #parts: KeySetParts;
  #keys: JWTVerifyGetKey | null = null;
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  /** Resolves to whether the keys were fetched; null if no fetch is in progress. */
  #pending: Promise<boolean> | null = null;

  constructor(url: string, gatewayId: string, parts: KeySetParts) {
    this.#url = new URL(url);
    this.#poolKey = sha256(JSON.stringify(["jwks", gatewayId, url]));
    this.#parts = parts;
  }

  /** Finds the key of a token. Throws a GatehouseError if no keys are available, and a JOSEError if none of them is the key. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const age = this.#parts.clock.now() - this.#fetchedAt;
    if (age >= MAX_AGE_MS) await this.fetchAgain();
    else if (age >= LIFETIME_MS) void this.fetchAgain();
    try {
      return await this.#usableKeys()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(await this.fetchAgain())) throw error;
      return this.#usableKeys()(header, token);
    }
  };

  #usableKeys(): JWTVerifyGetKey {
    if (this.#keys !== null && this.#parts.clock.now() - this.#fetchedAt < MAX_AGE_MS) return this.#keys;
    throw new GatehouseError(
      "token_keys_unavailable",
      "The public keys of the issuer of the token could not be fetched. Retry later, or check jwks_url of the issuer.",
      { headers: { "Retry-After": String(MIN_INTERVAL_MS / 1000) } },
    );
  }

  /** Resolves to false if the last fetch was too recent, or if it failed. */
  async fetchAgain(): Promise<boolean> {
    if (this.#pending !== null) return this.#pending;
    const now = this.#parts.clock.now();
    if (now - this.#triedAt < MIN_INTERVAL_MS) return false;
    this.#triedAt = now;
    this.#pending = this.#fetch(now);
    try {
      return await this.#pending;
    } finally {
      this.#pending = null;
    }
  }

  async #fetch(now: number): Promise<boolean> {
    const { origin, pathname, search } = this.#url;
    const { upstream, clock, onFailure } = this.#parts;
    const response = upstream.send(
      {
        baseUrl: origin,
        poolKey: this.#poolKey,
        usesClientCredential: false,
        credential: null,
        path: pathname + search,
        method: "GET",
        headers: { accept: "application/json", "accept-encoding": "identity", "user-agent": "gatehouse" },
        body: null,
      },
      TIMEOUTS,
      now,
    );
    const timer = clock.setTimeout(() => response.abort(new UpstreamError("total_timeout")), TOTAL_MS);
    try {
      await response.headersReceived;
      const bytes = await readWholeBody(response, MAX_BYTES);
      if (response.status !== 200) throw new Error(`the status of the response is ${response.status}`);
      const keys = readKeySet(Buffer.from(bytes).toString());
      if (keys === null) throw new Error("the response is not a JSON Web Key Set");
      this.#keys = createLocalJWKSet(keys);
      this.#fetchedAt = now;
      return true;
    } catch (error) {
      onFailure(error);
      return false;
    } finally {
      timer.close();
    }
  }
}

/** Returns the usable keys of a JSON Web Key Set; null if the text is none. */
export function readKeySet(text: string): JSONWebKeySet | null {
  let value: unknown;
  try {
    value = parseBounded(text);
  } catch {
    return null;
  }
  const listed: unknown = isJsonObject(value) ? value["keys"] : null;
  if (!Array.isArray(listed)) return null;
  const keys = listed.slice(0, MAX_KEYS).filter(isUsable);
  return { keys };
}

function isUsable(key: unknown): key is JSONWebKeySet["keys"][number] {
  if (!isJsonObject(key) || typeof key["kty"] !== "string") return false;
  const { n = "", e = "" } = key;
  return (
    typeof n === "string" &&
    typeof e === "string" &&
    n.length <= MAX_MODULUS_LENGTH &&
    e.length <= MAX_EXPONENT_LENGTH
  );
}
