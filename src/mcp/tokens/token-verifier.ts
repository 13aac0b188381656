// Verifies the tokens (JWTs) of the issuers that a gateway trusts. Loaded with the first token.
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyOptions,
} from "jose";
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { Clock } from "../../base/clock.ts";
import { SIGNATURE_ALGORITHMS } from "../../base/signature-algorithms.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { JwtIssuer } from "../../model/jwt-issuer.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { UpstreamClient } from "../../upstream/upstream-client.ts";
import { KeySet } from "./key-set.ts";
import { ClaimError, readClaims, type TokenClient } from "./token-claims.ts";

const CLOCK_TOLERANCE_SECONDS = 30;
const MAX_TOKEN_LENGTH = 8192;
/** Keys that a token without a key id is verified with. Issuers have two of a kind while they rotate them. */
const MAX_TRIED_KEYS = 4;
/** An evicted key set is fetched again. */
const MAX_KEY_SETS = 1000;

export interface VerifiedToken extends TokenClient {
  readonly issuer: string;
  /**
   * Unix milliseconds. Requests are accepted a little longer, because clocks differ; streams end at this
   * time.
   */
  readonly expiresAt: number;
}

export class TokenVerifier {
  readonly #upstream: UpstreamClient;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By gateway and URL: tokens with unknown keys that one gateway gets must not delay the fetches of another. */
  readonly #keySets = new BoundedCache<string, KeySet>(MAX_KEY_SETS);

  constructor(upstream: UpstreamClient, clock: Clock, log: Log) {
    this.#upstream = upstream;
    this.#clock = clock;
    this.#log = log;
  }

  /** Throws a GatehouseError: `invalid_token`, or `token_keys_unavailable` if the token cannot be verified now. */
  async verify(token: string, issuers: readonly JwtIssuer[], gatewayId: string): Promise<VerifiedToken> {
    if (token.length > MAX_TOKEN_LENGTH)
      throw invalidToken(`The token is longer than ${MAX_TOKEN_LENGTH} characters.`);
    // Before keys are fetched: a token of an unknown issuer causes no request.
    const issuer = issuerOf(unverifiedPayload(token), issuers);
    if (issuer === null)
      throw invalidToken("The issuer and audience of the token are none of those that the gateway accepts.");
    requireAlgorithm(token);
    const payload = await this.#verifySignature(token, issuer, gatewayId);
    try {
      return { ...readClaims(payload, issuer), issuer: issuer.issuer, expiresAt: (payload.exp ?? 0) * 1000 };
    } catch (error) {
      if (error instanceof ClaimError) throw invalidToken(error.message);
      throw error;
    }
  }

  async #verifySignature(token: string, issuer: JwtIssuer, gatewayId: string): Promise<JWTPayload> {
    try {
      return await verifyWith(this.#keySet(issuer.jwks_url, gatewayId), token, {
        algorithms: SIGNATURE_ALGORITHMS,
        issuer: issuer.issuer,
        audience: issuer.audience,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ["exp"],
        currentDate: new Date(this.#clock.unixNow()),
      });
    } catch (cause) {
      if (cause instanceof GatehouseError) throw cause;
      // Also for keys that the runtime does not support: whatever went wrong, the token is not verified.
      throw invalidToken("The token is expired, not valid yet, or its signature is not valid.", cause);
    }
  }

  #keySet(url: string, gatewayId: string): KeySet {
    const name = `${gatewayId} ${url}`;
    let keySet = this.#keySets.get(name);
    if (keySet === undefined) {
      keySet = new KeySet(url, gatewayId, {
        upstream: this.#upstream,
        clock: this.#clock,
        onFailure: (error) =>
          this.#log.warn(
            { gateway_id: gatewayId, jwks_url: url, err: error },
            "keys of token issuer not fetched",
          ),
      });
      this.#keySets.set(name, keySet);
    }
    return keySet;
  }
}

/** A token need not name its key (RFC 7515, section 4.1.4). Then a signature of none of the known keys may be that of a new one. */
async function verifyWith(keys: KeySet, token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return await verifyWithKnown(keys, token, options);
  } catch (error) {
    const mayBeNew =
      error instanceof errors.JWSSignatureVerificationFailed &&
      decodeProtectedHeader(token).kid === undefined;
    if (!mayBeNew || !(await keys.fetchAgain())) throw error;
    return verifyWithKnown(keys, token, options);
  }
}

/** Several keys may be of the algorithm of a token that names none. */
async function verifyWithKnown(keys: KeySet, token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys.find, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (++tried > MAX_TRIED_KEYS) break;
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function unverifiedPayload(token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch (cause) {
    throw invalidToken("The token is not a JSON Web Token.", cause);
  }
}

/** Also before keys are fetched. Does not rely on the library, whose key sets accept no HMAC today. */
function requireAlgorithm(token: string): void {
  let alg: string | undefined;
  try {
    ({ alg } = decodeProtectedHeader(token));
  } catch (cause) {
    throw invalidToken("The token is not a JSON Web Token.", cause);
  }
  if (typeof alg === "string" && SIGNATURE_ALGORITHMS.includes(alg)) return;
  throw invalidToken(
    `The token is signed with "${String(alg).slice(0, 20)}". Accepted are ${SIGNATURE_ALGORITHMS.join(", ")}.`,
  );
}

function issuerOf({ iss, aud }: JWTPayload, issuers: readonly JwtIssuer[]): JwtIssuer | null {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return issuers.find(({ issuer, audience }) => issuer === iss && audiences.includes(audience)) ?? null;
}

function invalidToken(message: string, cause?: unknown): GatehouseError {
  return new GatehouseError("invalid_token", message, { cause });
}
