// An OpenID provider that sends what a test tells it to: ID tokens with wrong claims, algorithms and keys, and broken responses.
import { generateKeyPair, exportJWK, SignJWT, type CryptoKey, type JWTPayload } from "jose";

export const HOSTILE_CLIENT = "gatehouse";
export const HOSTILE_SECRET = "the client secret of tests";

export interface HostileBehavior {
  /** Claims that replace the right ones. Undefined removes a claim. */
  claims?: JWTPayload | Record<string, unknown>;
  /** Creates the ID token instead of signing the claims with the key of the provider. */
  makeToken?: (claims: JWTPayload, provider: HostileProvider) => Promise<string> | string;
  userinfo?: Record<string, unknown>;
  /** Members of the metadata that replace the right ones. */
  metadata?: Record<string, unknown>;
  token?: () => Response | Promise<Response>;
  keys?: () => Response | Promise<Response>;
}

export class HostileProvider {
  behavior: HostileBehavior = {};
  /** The nonce of the last authorization request. */
  nonce = "";
  /** The body and the Authorization header of the last request for a token. */
  tokenRequest = { body: new URLSearchParams(), authorization: "" };
  #pair!: { publicKey: CryptoKey; privateKey: CryptoKey };
  #kid = 0;
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => this.#respond(request),
  });

  get issuer(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  get publicKey(): CryptoKey {
    return this.#pair.publicKey;
  }

  get kid(): string {
    return `key-${this.#kid}`;
  }

  /** Replaces the key by a new one, which has a new id unless `keepsId`. */
  async rotateKey(keepsId = false): Promise<void> {
    if (!keepsId) this.#kid++;
    this.#pair = await generateKeyPair("RS256", { extractable: true });
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  /** Signs claims with the key of the provider. */
  sign(claims: JWTPayload, key = this.#pair.privateKey, kid = this.kid): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid }).sign(key);
  }

  async #respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const { behavior, issuer } = this;
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          userinfo_endpoint: `${issuer}/me`,
          ...behavior.metadata,
        });
      case "/jwks": {
        if (behavior.keys !== undefined) return behavior.keys();
        const key = await exportJWK(this.#pair.publicKey);
        return Response.json({ keys: [{ ...key, kid: this.kid, use: "sig" }] });
      }
      case "/me":
        return Response.json(behavior.userinfo ?? { sub: "mallory", groups: ["staff"] });
      case "/token": {
        const authorization = request.headers.get("authorization") ?? "";
        this.tokenRequest = { body: new URLSearchParams(await request.text()), authorization };
        if (behavior.token !== undefined) return behavior.token();
        const claims = this.#claims();
        const id_token = await (behavior.makeToken?.(claims, this) ?? this.sign(claims));
        return Response.json({ id_token, access_token: "an access token", token_type: "Bearer" });
      }
      default:
        return new Response("nothing here", { status: 404 });
    }
  }

  #claims(): JWTPayload {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: HOSTILE_CLIENT,
      sub: "mallory",
      iat: now,
      exp: now + 300,
      nonce: this.nonce,
      groups: ["staff"],
      ...this.behavior.claims,
    };
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  }
}
