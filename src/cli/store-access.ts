// Opens the database of a server for a command, with the keys that decrypt its secrets.
import { join } from "node:path";
import { findServerSecret } from "../config/server-secret.ts";
import type { Settings } from "../config/settings.ts";
import { CredentialCipher } from "../store/credential-cipher.ts";

export function databaseUrl({ DATABASE_URL, DATA_DIR }: Settings): string {
  return DATABASE_URL ?? `sqlite://${join(DATA_DIR, "gatehouse.db")}`;
}

/** Returns null if there is no key yet: the first start generates one. */
export function findCipher(settings: Settings): CredentialCipher | null {
  if (settings.ENCRYPTION_KEY !== null) return new CredentialCipher(...settings.ENCRYPTION_KEY);
  const secret = findServerSecret(settings);
  return secret === null ? null : new CredentialCipher(secret);
}
