// Opens a database for the store: migrates its schema and checks that the encryption key is the one it was written with.
import type { CredentialCipher } from "./credential-cipher.ts";
import { openDatabase, withinDeadline, type Database, type Query } from "./database.ts";
import { migrate } from "./migrate.ts";
import { StoreRejected } from "./store.ts";

export const DEADLINE_MS = 2000;
/** A view or a migration may read every record of a large configuration. */
export const VIEW_DEADLINE_MS = 30_000;
const KEY_CHECK = "gatehouse";

export async function openAndCheck(url: string, cipher: CredentialCipher): Promise<Database> {
  const database = openDatabase(url);
  try {
    await withinDeadline(VIEW_DEADLINE_MS, migrate(database));
    await withinDeadline(DEADLINE_MS, checkEncryptionKey(database, cipher));
    return database;
  } catch (error) {
    await database.close().catch(() => undefined);
    throw error;
  }
}

/** The first node stores an encrypted constant. A node that cannot decrypt it has another key and could read no credential. */
async function checkEncryptionKey(database: Database, cipher: CredentialCipher): Promise<void> {
  const read = async (query: Query) =>
    (await query("SELECT key_check FROM configuration"))[0]?.["key_check"] ?? null;
  let keyCheck = await read(database.query);
  keyCheck ??= await database.writeTransaction(async (query) => {
    const existing = await read(query);
    if (existing !== null) return existing;
    const created = cipher.encrypt(KEY_CHECK, "configuration");
    await query("UPDATE configuration SET key_check = $1", [created]);
    return created;
  });
  try {
    cipher.decrypt(String(keyCheck), "configuration");
  } catch {
    throw new StoreRejected(
      "The credentials in this database were encrypted with another key. Set ENCRYPTION_KEY to that key or, " +
        "if it was never set, to the SERVER_SECRET_KEY that was used then.",
    );
  }
}
