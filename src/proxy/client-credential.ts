// The client's provider credential, which is forwarded to targets without a credential. Never includes an admin token or a
// gateway API key.
import { createHmac, timingSafeEqual } from "node:crypto";
import { CREDENTIAL_HEADERS } from "./header-filter.ts";

const GATEWAY_KEY = /gw_[A-Za-z0-9_-]{43}/;
const JWT = /([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)/g;

export type ClientCredentials = (headers: Headers) => readonly (readonly [string, string])[];

export function createClientCredentials(secret: string): ClientCredentials {
  const isSigned = (signed: string, signature: string) => {
    const expected = createHmac("sha256", secret).update(signed).digest();
    const given = Buffer.from(signature, "base64url");
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  /** Repeated headers arrive as one value, so every token in it is checked. */
  const holdsAdminToken = (value: string) =>
    [...value.matchAll(JWT)].some(([, signed = "", signature = ""]) => isSigned(signed, signature));
  return (headers) => {
    const credentials: [string, string][] = [];
    for (const name of CREDENTIAL_HEADERS) {
      const value = headers.get(name);
      if (value !== null && !GATEWAY_KEY.test(value) && !holdsAdminToken(value))
        credentials.push([name, value]);
    }
    return credentials;
  };
}
