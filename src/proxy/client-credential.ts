// The client's provider credential, which is forwarded to targets without a credential.
import { CREDENTIAL_HEADERS } from "./header-filter.ts";
import type { OwnCredentials } from "./own-credentials.ts";

/** Returns the credential headers of the client, without API keys and admin tokens of this gateway. */
export function clientCredentials(
  headers: Headers,
  own: OwnCredentials,
): readonly (readonly [string, string])[] {
  const credentials: [string, string][] = [];
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers.get(name);
    if (value !== null && !own.areIn(value)) credentials.push([name, value]);
  }
  return credentials;
}
