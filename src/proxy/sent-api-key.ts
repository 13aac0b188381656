// Finds the API key of this gateway in a request: in its own header, or where the SDKs of providers send their key.
import type { ReadableFields } from "../base/readable-fields.ts";
import { GatehouseError } from "../base/errors.ts";

const PREFIX = "gw_";
const BEARER_KEY = /^bearer +gw_/i;
/** Headers of Anthropic, Azure, and Google. */
const PROVIDER_HEADERS = ["x-api-key", "api-key", "x-goog-api-key"] as const;

/**
 * `query` starts with a question mark or is empty. `otherKeys` are keys in further places. Throws if the request has two
 * different keys.
 */
export function sentApiKey(
  headers: ReadableFields,
  query: string,
  otherKeys: readonly string[] | null = null,
): string | null {
  let key = headers.get("x-gw-api-key");
  const authorization = headers.get("authorization");
  if (authorization !== null && isBearerKey(authorization))
    key = sameKey(key, authorization.slice("bearer ".length).trim());
  for (const name of PROVIDER_HEADERS) {
    const value = headers.get(name);
    if (value?.startsWith(PREFIX) === true) key = sameKey(key, value);
  }
  if (otherKeys !== null) for (const other of otherKeys) key = sameKey(key, other);
  const inQuery = query === "" ? null : keyInQuery(query);
  return inQuery === null ? key : sameKey(key, inQuery);
}

/** Whether an Authorization header contains an API key of this gateway. */
export function isBearerKey(authorization: string): boolean {
  return BEARER_KEY.test(authorization);
}

function sameKey(known: string | null, found: string): string {
  if (known === null || known === found) return found;
  throw differentKeys();
}

export function differentKeys(): GatehouseError {
  return new GatehouseError("invalid_api_key", "The request has two different API keys. Send only one.");
}

/** Google's clients send their key as the query parameter `key`. */
function keyInQuery(query: string): string | null {
  if (!mayHaveKey(query)) return null;
  const keys = new URLSearchParams(query).getAll("key").filter((value) => value.startsWith(PREFIX));
  return keys.length === 0 ? null : keys.reduce(sameKey);
}

/** Returns the query without parameters named `key` that have a key of this gateway: nothing after authentication needs them. */
export function withoutApiKey(query: string): string {
  if (!mayHaveKey(query)) return query;
  const parameters = query.slice(1).split("&");
  const kept = parameters.filter((parameter) => keyInQuery(`?${parameter}`) === null);
  if (kept.length === parameters.length) return query;
  return kept.length === 0 ? "" : `?${kept.join("&")}`;
}

/** Some clients percent-encode the underscore of the prefix. */
function mayHaveKey(query: string): boolean {
  return query.includes(PREFIX) || query.includes("%");
}
