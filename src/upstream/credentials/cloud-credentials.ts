// The credentials of all targets that are not a fixed header. Equal credentials share one object, so that a token is fetched once
// per process, also across changes of the configuration. Targets keep the objects alive.
import type { Clock } from "../../base/clock.ts";
import { sha256 } from "../../base/sha256.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Credentials } from "../../model/credentials.ts";
import type { Authorize, RequestCredential } from "../request-credential.ts";
import type { UpstreamPool } from "../upstream-pool.ts";
import type { TokenAddresses } from "./access-tokens.ts";
import type { CloudCredential, SourceParts } from "./credential-source.ts";
import type { Environment } from "./environment-keys.ts";

type CloudCredentialType = CloudCredential["type"];

interface CloudCredentialsParts {
  readonly pool: Pick<UpstreamPool, "send">;
  readonly clock: Clock;
  /** The variables with the keys of the environment's role; null if targets must not use them. */
  readonly environment: Environment | null;
  /** Called after each fetch of a token or of keys; `error` is null if it succeeded. */
  readonly onFetch: (type: CloudCredentialType, error: unknown) => void;
  /** Replaces the addresses of the clouds, for tests. */
  readonly addresses?: TokenAddresses;
}

/** What compiling a target needs. */
export interface TargetCredentials {
  /** Returns null for credentials with a fixed header. */
  of(credentials: Credentials): RequestCredential | null;
  /** Returns why the credentials must not be used; null if they may. */
  problemOf(credentials: Credentials): string | null;
}

export class CloudCredentials implements TargetCredentials {
  readonly #parts: CloudCredentialsParts;
  readonly #known = new Map<string, WeakRef<LoadedOnDemand>>();
  readonly #released = new FinalizationRegistry<string>((key) => {
    if (this.#known.get(key)?.deref() === undefined) this.#known.delete(key);
  });
  #loading: Promise<Sources> | null = null;

  constructor(parts: CloudCredentialsParts) {
    this.#parts = parts;
  }

  of(credentials: Credentials): RequestCredential | null {
    if ("header_name" in credentials) return null;
    const key = sha256(JSON.stringify(credentials));
    const known = this.#known.get(key)?.deref();
    if (known !== undefined) return known;
    const { clock } = this.#parts;
    const created = new LoadedOnDemand(clock, async () => {
      const sources = await (this.#loading ??= loadSources(this.#parts));
      return sources.create(credentials);
    });
    this.#known.set(key, new WeakRef(created));
    this.#released.register(created, key);
    return created;
  }

  problemOf(credentials: Credentials): string | null {
    return usesEnvironment(credentials) && this.#parts.environment === null
      ? "has no access_key_id and no secret_access_key, so that the role of the gateway's environment would be used; give " +
          "both keys, or allow it with ALLOW_ENVIRONMENT_CREDENTIALS=true"
      : null;
  }

  /** Aborts fetches in progress. */
  async close(): Promise<void> {
    (await this.#loading)?.close();
  }
}

export function usesEnvironment(credentials: Credentials): boolean {
  return credentials.type === "aws_sigv4" && credentials.access_key_id === null;
}

interface Sources {
  create(credentials: CloudCredential): RequestCredential;
  close(): void;
}

async function loadSources({
  pool,
  clock,
  environment,
  onFetch,
  addresses,
}: CloudCredentialsParts): Promise<Sources> {
  const [source, tokens, client, keys, refreshed] = await Promise.all([
    import("./credential-source.ts"),
    import("./access-tokens.ts"),
    import("./token-client.ts"),
    import("./environment-keys.ts"),
    import("./refreshed-value.ts"),
  ]);
  const tokenClient = new client.TokenClient(pool, clock);
  const observeAs =
    (type: CloudCredentialType): SourceParts["observe"] =>
    (fetch) =>
    async () => {
      try {
        const fetched = await fetch();
        onFetch(type, null);
        return fetched;
      } catch (error) {
        onFetch(type, error);
        throw error;
      }
    };
  const environmentKeys = new keys.EnvironmentKeys(environment ?? {}, tokenClient, clock);
  const fetchKeys = observeAs("aws_sigv4")(() => environmentKeys.fetch());
  const roleKeys = new refreshed.RefreshedValue(clock, fetchKeys);
  return {
    create: (credentials) =>
      source.createSource(credentials, {
        clock,
        client: tokenClient,
        addresses: addresses ?? tokens.TOKEN_ADDRESSES,
        environmentKeys: () => roleKeys,
        observe: observeAs(credentials.type),
      }),
    close: () => tokenClient.close(),
  };
}

/** The code of the credentials is loaded with the first request that needs them. */
class LoadedOnDemand implements RequestCredential {
  readonly #clock: Clock;
  readonly #load: () => Promise<RequestCredential>;
  #loading: Promise<RequestCredential> | null = null;
  #loaded: RequestCredential | null = null;

  constructor(clock: Clock, load: () => Promise<RequestCredential>) {
    this.#clock = clock;
    this.#load = load;
  }

  authorizer(now: number): ValueOrPromise<Authorize> {
    return this.#loaded === null ? this.#authorizerAfterLoading() : this.#loaded.authorizer(now);
  }

  async #authorizerAfterLoading(): Promise<Authorize> {
    this.#loading ??= this.#load();
    this.#loaded = await this.#loading;
    return this.#loaded.authorizer(this.#clock.now());
  }
}
