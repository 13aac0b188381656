// The client's provider credential, which is forwarded to targets without a credential.
import type { ReadableFields } from "../base/readable-fields.ts";
import { sha256 } from "../base/sha256.ts";
import { CREDENTIAL_HEADERS } from "./header-filter.ts";
import type { OwnCredentials } from "./own-credentials.ts";

/** Returns the credential headers of the client, without API keys and admin tokens of this gateway. */
export function clientCredentials(
  headers: ReadableFields,
  own: OwnCredentials,
): readonly (readonly [string, string])[] {
  const credentials: [string, string][] = [];
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers.get(name);
    if (value !== null && !own.areIn(value)) credentials.push([name, value]);
  }
  return credentials;
}

/** Names of query parameters in which providers accept a credential. */
const KEY_PARAMETERS = /[?&](?:(?:api[-_]?)?key|access[-_]?token)=[^&]*/gi;

/**
 * Returns a hash of the credential in a request to a target without its own, or null if there is none. Clients with different
 * credentials must not share connections.
 */
export function credentialHash(headers: Readonly<Record<string, string>>, query: string): string | null {
  let credential = "";
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers[name];
    if (value !== undefined) credential += `${name}: ${value}\n`;
  }
  if (query !== "") for (const [parameter] of query.matchAll(KEY_PARAMETERS)) credential += parameter;
  return credential === "" ? null : sha256(credential);
}
