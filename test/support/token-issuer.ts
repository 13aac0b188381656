// An issuer of tokens for tests: serves its public keys, and signs whatever claims a test needs.
import { afterAll } from "bun:test";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";

export class TokenIssuer {
  readonly #server: Bun.Server<undefined>;
  readonly #privateKeys = new Map<string, { readonly key: CryptoKey; readonly alg: string }>();
  readonly publicKeys: JWK[] = [];
  fetches = 0;
  /** The status of responses with keys. */
  status = 200;

  constructor() {
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => {
        this.fetches++;
        return Response.json({ keys: this.publicKeys }, { status: this.status });
      },
    });
  }

  get url(): string {
    return this.#server.url.origin;
  }

  get jwksUrl(): string {
    return `${this.url}/jwks`;
  }

  async addKey(kid: string, alg: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    this.#privateKeys.set(kid, { key: privateKey, alg });
    this.publicKeys.push({ ...(await exportJWK(publicKey)), kid, alg, use: "sig" });
  }

  /** Signs with a key that was added. `claims` replace the usual ones; those that are undefined are left out. */
  sign(
    claims: Record<string, unknown> = {},
    kid = "one",
    header: { kid?: string } = { kid },
  ): Promise<string> {
    const signer = this.#privateKeys.get(kid);
    if (signer === undefined) throw new Error(`no key ${kid}`);
    const { key, alg } = signer;
    return new SignJWT(this.claims(claims)).setProtectedHeader({ alg, ...header }).sign(key);
  }

  claims(claims: Record<string, unknown> = {}): Record<string, unknown> {
    const now = Math.floor(Date.now() / 1000);
    return {
      iss: this.url,
      aud: "https://tools.example.com",
      sub: "ann",
      iat: now,
      exp: now + 300,
      ...claims,
    };
  }

  /** The record of this issuer in `jwt_issuers`. */
  record(claims: Record<string, unknown> = {}): Record<string, unknown> {
    return { issuer: this.url, audience: "https://tools.example.com", jwks_url: this.jwksUrl, claims };
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }
}

/** Starts an issuer with the key `one`, which stops after the tests of the file. */
export async function useTokenIssuer(): Promise<TokenIssuer> {
  const issuer = new TokenIssuer();
  await issuer.addKey("one", "ES256");
  afterAll(() => issuer.stop());
  return issuer;
}
