// Creates the credential of each type. Loaded with the first request to a target that needs it.
import type { Clock } from "../../base/clock.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Credentials } from "../../model/credentials.ts";
import type { Authorize, RequestCredential } from "../request-credential.ts";
import { googleTokens, microsoftTokens, oauthTokens, type TokenAddresses } from "./access-tokens.ts";
import { RefreshedValue, type FetchedValue } from "./refreshed-value.ts";
import { Sigv4Signer, type AwsKeys, type SigningScope } from "./sigv4.ts";
import type { TokenClient } from "./token-client.ts";

export interface SourceParts {
  readonly clock: Clock;
  readonly client: TokenClient;
  readonly addresses: TokenAddresses;
  /** The keys of the environment's role, which all targets share. */
  readonly environmentKeys: () => RefreshedValue<AwsKeys>;
  /** Wraps a fetch, so that it is counted and its failure logged. */
  readonly observe: <T>(fetch: () => Promise<FetchedValue<T>>) => () => Promise<FetchedValue<T>>;
}

/** Credentials with a fixed header need no source. */
export type CloudCredential = Exclude<Credentials, { header_name: string }>;

export function createSource(credentials: CloudCredential, parts: SourceParts): RequestCredential {
  const { clock, client, addresses, observe } = parts;
  switch (credentials.type) {
    case "aws_sigv4":
      return createSigningCredential(credentials, parts);
    case "gcp_service_account":
      return new TokenCredential(clock, observe(googleTokens(credentials, client, addresses, clock)));
    case "azure_client":
      return new TokenCredential(clock, observe(microsoftTokens(credentials, client, addresses)));
    case "oauth_client_credentials":
      return new TokenCredential(clock, observe(oauthTokens(credentials, client)));
  }
}

function createSigningCredential(
  credentials: Extract<CloudCredential, { type: "aws_sigv4" }>,
  { clock, environmentKeys }: SourceParts,
): RequestCredential {
  const { access_key_id, secret_access_key, session_token } = credentials;
  if (access_key_id === null || secret_access_key === null)
    return new RoleCredential(environmentKeys(), credentials, clock);
  const keys = {
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    sessionToken: session_token,
  };
  const authorize = signWith(keys, credentials, clock);
  return { authorizer: () => authorize };
}

function signWith(keys: AwsKeys, scope: SigningScope, clock: Clock): Authorize {
  const signer = new Sigv4Signer(keys, scope);
  return (request) => signer.sign(request, clock.unixNow());
}

/** A bearer token. */
class TokenCredential implements RequestCredential {
  readonly #tokens: RefreshedValue<Authorize>;

  constructor(clock: Clock, fetch: () => Promise<FetchedValue<string>>) {
    this.#tokens = new RefreshedValue<Authorize>(clock, async () => {
      const { value: authorization, lifetimeMs } = await fetch();
      return { value: () => ({ authorization }), lifetimeMs };
    });
  }

  authorizer(now: number): ValueOrPromise<Authorize> {
    return this.#tokens.get(now);
  }
}

/** Signatures with the temporary keys of the environment's role. */
class RoleCredential implements RequestCredential {
  readonly #source: RefreshedValue<AwsKeys>;
  readonly #scope: SigningScope;
  readonly #clock: Clock;
  #keys: AwsKeys | null = null;
  #authorize: Authorize | null = null;

  constructor(source: RefreshedValue<AwsKeys>, scope: SigningScope, clock: Clock) {
    this.#source = source;
    this.#scope = scope;
    this.#clock = clock;
  }

  authorizer(now: number): ValueOrPromise<Authorize> {
    const keys = this.#source.get(now);
    return isPromise(keys) ? keys.then((fetched) => this.#authorizeWith(fetched)) : this.#authorizeWith(keys);
  }

  #authorizeWith(keys: AwsKeys): Authorize {
    if (this.#authorize === null || this.#keys !== keys) {
      this.#keys = keys;
      this.#authorize = signWith(keys, this.#scope, this.#clock);
    }
    return this.#authorize;
  }
}
