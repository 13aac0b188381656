// Fetches access tokens: client credentials (RFC 6749, 4.4), and the signed assertion of a Google service account (RFC 7523).
import { sign } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { parseObject, type JsonObject } from "../../base/json.ts";
import type { Credentials } from "../../model/credentials.ts";
import { CredentialError } from "../request-credential.ts";
import type { FetchedValue } from "./refreshed-value.ts";
import { tokenObject, type TokenClient, type TokenResponse } from "./token-client.ts";

/** The token addresses of the clouds. Tests replace them; the configuration cannot. */
export interface TokenAddresses {
  readonly google: string;
  /** The tenant and the rest of the path follow. */
  readonly microsoft: string;
}

export const TOKEN_ADDRESSES: TokenAddresses = {
  google: "https://oauth2.googleapis.com/token",
  microsoft: "https://login.microsoftonline.com",
};

/** Returns the address that tokens are fetched from; null for credentials without a token. */
export function tokenAddressOf(credentials: Credentials): string | null {
  switch (credentials.type) {
    case "gcp_service_account":
      return TOKEN_ADDRESSES.google;
    case "azure_client":
      return TOKEN_ADDRESSES.microsoft;
    case "oauth_client_credentials":
      return credentials.token_url;
    default:
      return null;
  }
}

type CredentialsOf<Type> = Extract<Credentials, { type: Type }>;
type TokenFetch = () => Promise<FetchedValue<string>>;

/** Of a token without `expires_in`, which RFC 6749 only recommends. */
const DEFAULT_LIFETIME_SECONDS = 300;
const MAX_LIFETIME_SECONDS = 86_400;
const ASSERTION_SECONDS = 3600;
/** The characters of a token in a header (RFC 6750, 2.1), and some more that servers use. */
const TOKEN = /^[\x21-\x7E]{1,16384}$/;

/** Returns the value of the Authorization header. */
function tokenIn(response: TokenResponse): FetchedValue<string> {
  const { access_token: text, token_type: type, expires_in: lifetime } = tokenObject(response);
  if (typeof text !== "string" || !TOKEN.test(text))
    throw new CredentialError("the token server sent no usable access_token");
  if (typeof type === "string" && type.toLowerCase() !== "bearer")
    throw new CredentialError("the token server sent a token that is not a bearer token");
  const given = lifetime === undefined || lifetime === null ? DEFAULT_LIFETIME_SECONDS : Number(lifetime);
  if (!(given > 0)) throw new CredentialError("the token server sent a token that has expired");
  return { value: `Bearer ${text}`, lifetimeMs: Math.min(given, MAX_LIFETIME_SECONDS) * 1000 };
}

export function googleTokens(
  { service_account, scopes }: CredentialsOf<"gcp_service_account">,
  client: TokenClient,
  { google }: TokenAddresses,
  clock: Clock,
): TokenFetch {
  return async () => {
    const account = parseObject(service_account);
    if (account === null) throw new CredentialError("the service account is not valid JSON");
    const assertion = assertionOf(account, scopes, google, clock);
    const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    return tokenIn(await client.post(google, { grant_type, assertion }));
  };
}

/** The audience is the address that the token is fetched from, whatever `token_uri` of the account says. */
function assertionOf(account: JsonObject, scopes: readonly string[], audience: string, clock: Clock): string {
  const issuedAt = Math.floor(clock.unixNow() / 1000);
  const header = { alg: "RS256", typ: "JWT", kid: account["private_key_id"] };
  const claims = {
    iss: account["client_email"],
    scope: scopes.join(" "),
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + ASSERTION_SECONDS,
  };
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const text = `${encode(header)}.${encode(claims)}`;
  try {
    const signature = sign("RSA-SHA256", Buffer.from(text), String(account["private_key"]));
    return `${text}.${signature.toString("base64url")}`;
  } catch {
    // The error of the parser may quote the key.
    throw new CredentialError("the private key of the service account cannot sign");
  }
}

export function microsoftTokens(
  { tenant_id, client_id, client_secret, scope }: CredentialsOf<"azure_client">,
  client: TokenClient,
  { microsoft }: TokenAddresses,
): TokenFetch {
  const url = `${microsoft}/${encodeURIComponent(tenant_id)}/oauth2/v2.0/token`;
  const form = { grant_type: "client_credentials", client_id, client_secret, scope };
  return async () => tokenIn(await client.post(url, form));
}

/**
 * The client and its secret are sent in the body, which most servers accept. A server that rejects this client gets them in the
 * Authorization header instead (RFC 6749, 2.3.1), then and later.
 */
export function oauthTokens(
  { token_url, client_id, client_secret, scope }: CredentialsOf<"oauth_client_credentials">,
  client: TokenClient,
): TokenFetch {
  const form = { grant_type: "client_credentials", ...(scope !== null && { scope }) };
  const basic = Buffer.from(`${formEncode(client_id)}:${formEncode(client_secret)}`).toString("base64");
  let usesHeader = false;
  return async () => {
    if (!usesHeader) {
      const response = await client.post(token_url, { ...form, client_id, client_secret });
      if (!rejectsClient(response)) return tokenIn(response);
    }
    const response = await client.post(token_url, form, { authorization: `Basic ${basic}` });
    const token = tokenIn(response);
    usesHeader = true;
    return token;
  };
}

function rejectsClient({ status, text }: TokenResponse): boolean {
  return status === 401 || (status === 400 && parseObject(text)?.["error"] === "invalid_client");
}

function formEncode(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
