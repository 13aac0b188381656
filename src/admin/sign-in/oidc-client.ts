// Client of an OpenID provider: authorization code flow with PKCE. Verifies the ID token, and returns who has signed in.
import { createHash, timingSafeEqual } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTPayload } from "jose";
import type { Clock } from "../../base/clock.ts";
import { SIGNATURE_ALGORITHMS } from "../../base/signature-algorithms.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { SignInSettings } from "../../config/sign-in-settings.ts";
import type { SignInFlow } from "./flow-cookie.ts";
import { ProviderRequests, unavailable } from "./provider-requests.ts";

const CLOCK_TOLERANCE_SECONDS = 30;
const METADATA_LIFETIME_MS = 3_600_000;
const MAX_GROUPS = 10_000;

interface ProviderMetadata {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint: string | null;
  readonly keys: ReturnType<typeof createRemoteJWKSet>;
  /** The provider names itself in the response to the browser (RFC 9207). */
  readonly sendsIssuer: boolean;
  readonly usesPost: boolean;
  readonly readAt: number;
}

interface SignedInUser {
  readonly sub: string;
  /** Never empty. */
  readonly name: string;
  readonly groups: readonly string[];
}

export class OidcClient {
  readonly #settings: SignInSettings;
  readonly #redirectUri: string;
  readonly #clock: Clock;
  readonly #requests: ProviderRequests;
  #metadata: ProviderMetadata | null = null;

  constructor(settings: SignInSettings, redirectUri: string, clock: Clock) {
    this.#settings = settings;
    this.#redirectUri = redirectUri;
    this.#clock = clock;
    this.#requests = new ProviderRequests(clock);
  }

  /** Returns the address at the provider that the browser is sent to. */
  async authorizationUrl({ state, nonce, verifier }: SignInFlow): Promise<string> {
    const { authorizationEndpoint } = await this.#readMetadata();
    const url = new URL(authorizationEndpoint);
    const parameters = {
      response_type: "code",
      client_id: this.#settings.clientId,
      redirect_uri: this.#redirectUri,
      scope: this.#settings.scopes,
      state,
      nonce,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** Returns the user for the parameters with which the provider has sent the browser back. */
  async finish(query: URLSearchParams, flow: SignInFlow): Promise<SignedInUser> {
    if (!isEqual(query.get("state") ?? "", flow.state))
      throw failed("The state does not match. Start again.");
    const metadata = await this.#readMetadata();
    const issuer = query.get("iss");
    if (issuer === null ? metadata.sendsIssuer : issuer !== this.#settings.issuer)
      throw failed("Another provider has responded. Start again.");
    const error = query.get("error");
    if (error !== null)
      throw failed(`The OpenID provider reports: ${error.replaceAll(/[^\w .-]/g, "").slice(0, 64)}.`);
    const code = query.get("code") ?? "";
    if (code === "") throw failed("The OpenID provider sent no code. Start again.");
    const tokens = await this.#exchange(metadata, code, flow.verifier);
    const claims = await this.#verify(metadata, tokens.idToken, flow.nonce);
    return this.#readUser(metadata, claims, tokens.accessToken);
  }

  async #readMetadata(): Promise<ProviderMetadata> {
    const now = this.#clock.now();
    if (this.#metadata !== null && now - this.#metadata.readAt < METADATA_LIFETIME_MS) return this.#metadata;
    const { issuer } = this.#settings;
    const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const { status, body } = await this.#requests.json(url);
    if (status !== 200 || body["issuer"] !== issuer)
      throw unavailable(`${url} does not describe the issuer OIDC_ISSUER. Check the setting.`);
    const methods = body["token_endpoint_auth_methods_supported"];
    this.#metadata = {
      authorizationEndpoint: this.#endpoint(body, "authorization_endpoint"),
      tokenEndpoint: this.#endpoint(body, "token_endpoint"),
      userinfoEndpoint:
        body["userinfo_endpoint"] === undefined ? null : this.#endpoint(body, "userinfo_endpoint"),
      // ID tokens are received from the provider only, so nobody else can cause keys to be fetched for each of them.
      keys: createRemoteJWKSet(new URL(this.#endpoint(body, "jwks_uri")), {
        cooldownDuration: 0,
        [customFetch]: (address, init) => this.#fetchKeys(address, init),
      }),
      sendsIssuer: body["authorization_response_iss_parameter_supported"] === true,
      usesPost:
        Array.isArray(methods) &&
        !methods.includes("client_secret_basic") &&
        methods.includes("client_secret_post"),
      readAt: now,
    };
    return this.#metadata;
  }

  async #fetchKeys(address: string, init: RequestInit): Promise<Response> {
    const { status, body } = await this.#requests.json(address, init);
    if (status !== 200) throw unavailable("The OpenID provider did not return its keys. Retry later.");
    return Response.json(body);
  }

  #endpoint(body: JsonObject, name: string): string {
    const text = body[name];
    const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
    // A provider on a loopback address may go without TLS, any other must not.
    if (
      url !== null &&
      (url.protocol === "https:" || url.protocol === new URL(this.#settings.issuer).protocol)
    )
      return url.href;
    throw unavailable(`The OpenID provider has no usable ${name}.`);
  }

  async #exchange(
    { tokenEndpoint, usesPost }: ProviderMetadata,
    code: string,
    verifier: string,
  ): Promise<{ readonly idToken: string; readonly accessToken: string | null }> {
    const { clientId, clientSecret } = this.#settings;
    const isBasic = clientSecret !== null && !usesPost;
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: this.#redirectUri,
      code_verifier: verifier,
      ...(!isBasic && { client_id: clientId }),
      ...(clientSecret !== null && usesPost && { client_secret: clientSecret }),
    });
    const headers = {
      Accept: "application/json",
      "Content-Type": "application/x-www-form-urlencoded",
      ...(isBasic && { Authorization: basic(clientId, clientSecret) }),
    };
    const request = { method: "POST", headers, body: form.toString() };
    const { status, body } = await this.#requests.json(tokenEndpoint, request);
    if (status >= 500) throw unavailable("The OpenID provider reports an error of its own. Retry later.");
    const { id_token: issued, access_token: bearer } = body;
    if (status !== 200 || typeof issued !== "string")
      throw failed("The OpenID provider did not accept the sign-in. Start again.", {
        status,
        error: body["error"],
      });
    return { idToken: issued, accessToken: typeof bearer === "string" ? bearer : null };
  }

  async #verify(
    { keys }: ProviderMetadata,
    idToken: string,
    nonce: string,
  ): Promise<JWTPayload & { sub: string }> {
    const { issuer, clientId } = this.#settings;
    const verify = () =>
      jwtVerify(idToken, keys, {
        algorithms: SIGNATURE_ALGORITHMS,
        issuer,
        audience: clientId,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ["sub", "exp", "iat", "nonce"],
        currentDate: new Date(this.#clock.unixNow()),
      });
    let claims: JWTPayload;
    try {
      const verified = await verify().catch(async (error: unknown) => {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
        // A provider may replace a key that has no id, or keep the id. An unknown id causes a fetch by itself.
        await keys.reload();
        return verify();
      });
      claims = verified.payload;
    } catch (cause) {
      if (cause instanceof GatehouseError) throw cause;
      throw failed("The ID token of the OpenID provider is not valid. Start again.", cause);
    }
    const { sub, aud, azp } = claims;
    // OpenID Connect Core, section 3.1.3.7: a token for several clients names the one it was issued to.
    const isOurs = azp === undefined ? !Array.isArray(aud) || aud.length === 1 : azp === clientId;
    if (!isOurs) throw failed("The ID token was issued to another client. Start again.");
    if (typeof claims["nonce"] !== "string" || !isEqual(claims["nonce"], nonce))
      throw failed("The nonce does not match. Start again.");
    if (typeof sub !== "string" || sub === "") throw failed("The ID token names no user. Start again.");
    return { ...claims, sub };
  }

  /** Many providers return groups and names only with the user info. */
  async #readUser(
    { userinfoEndpoint }: ProviderMetadata,
    claims: JWTPayload & { sub: string },
    accessToken: string | null,
  ): Promise<SignedInUser> {
    const { sub } = claims;
    const { groupsClaim } = this.#settings;
    const groups = groupsIn(claims, groupsClaim);
    const isComplete = groups !== null && nameIn(claims) !== null;
    if (isComplete || userinfoEndpoint === null || accessToken === null)
      return { sub, name: nameIn(claims) ?? sub, groups: groups ?? [] };
    const headers = { Accept: "application/json", Authorization: `Bearer ${accessToken}` };
    const { status, body } = await this.#requests.json(userinfoEndpoint, { headers });
    if (status !== 200) throw unavailable("The OpenID provider did not return the user info. Retry later.");
    // Section 5.3.4: otherwise the access token could be that of another user.
    if (body["sub"] !== sub) throw failed("The user info is about another user. Start again.");
    return {
      sub,
      name: nameIn(claims) ?? nameIn(body) ?? sub,
      groups: groups ?? groupsIn(body, groupsClaim) ?? [],
    };
  }
}

/** Returns a name for people; null if there is none. `sub` identifies the user. */
function nameIn(claims: JsonObject): string | null {
  const email = claims["email_verified"] === false ? undefined : claims["email"];
  for (const name of [email, claims["preferred_username"], claims["name"]])
    if (typeof name === "string" && name !== "") return name;
  return null;
}

/** Returns null if there is no such claim. A name with dots is a claim of this name, or a path. */
function groupsIn(claims: JsonObject, name: string): string[] | null {
  let value: unknown = claims[name];
  if (value === undefined) {
    value = claims;
    for (const member of name.split("."))
      value = typeof value === "object" && value !== null ? Reflect.get(value, member) : undefined;
  }
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return null;
  return value.slice(0, MAX_GROUPS).filter((group) => typeof group === "string");
}

/** RFC 6749, section 2.3.1: both parts are encoded like a form. */
function basic(clientId: string, clientSecret: string): string {
  const encode = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString("base64")}`;
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export function failed(message: string, cause?: unknown): GatehouseError {
  return new GatehouseError("sign_in_failed", message, { cause });
}
