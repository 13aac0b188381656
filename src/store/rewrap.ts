// Replaces an encryption key: counts the stored secrets by key, and encrypts all of them with the newest one.
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Database } from "./database.ts";
import { isKeyCheckNewest, openAndCheck, renewKeyCheck } from "./open-and-check.ts";
import { resealAll, type SecretCounts } from "./reseal.ts";

/** `isCheckNewest`: whether a node that has only the newest key can start. */
interface StoredSecrets extends SecretCounts {
  readonly isCheckNewest: boolean;
}

export function countSecrets(url: string, cipher: CredentialCipher): Promise<StoredSecrets> {
  return withDatabase(url, cipher, (database) => count(database, cipher));
}

interface Rewrapped {
  /** How the secrets were stored before. */
  readonly before: SecretCounts;
  /** How they are stored now. Nodes with another newest key may have written meanwhile. */
  readonly after: StoredSecrets;
  /** False if the former values may still be found in the files of the database. */
  readonly isErased: boolean;
}

/**
 * Encrypts every secret with the newest key, in short transactions between the writes of running nodes. Creates no revision,
 * because no record changes.
 */
export function rewrapSecrets(url: string, cipher: CredentialCipher): Promise<Rewrapped> {
  return withDatabase(url, cipher, async (database) => {
    const before = await resealAll(database, cipher, "all");
    const remaining = await resealAll(database, cipher, "count");
    // Until nothing needs an older key, nodes without it must not start.
    if (remaining.older + remaining.plain + remaining.unreadable === 0) await renewKeyCheck(database, cipher);
    const isErased = await database.eraseDeleted().then(
      () => true,
      () => false,
    );
    return { before, after: await count(database, cipher), isErased };
  });
}

async function count(database: Database, cipher: CredentialCipher): Promise<StoredSecrets> {
  const counts = await resealAll(database, cipher, "count");
  return { ...counts, isCheckNewest: await isKeyCheckNewest(database, cipher) };
}

async function withDatabase<T>(
  url: string,
  cipher: CredentialCipher,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openAndCheck(url, cipher);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
