// Opens a database for the store: migrates its schema, checks that an encryption key is the one it was written with, and encrypts
// secrets that an older version stored in plain text.
import type { CredentialCipher } from "./credential-cipher.ts";
import { openDatabase, withinDeadline, type Database, type Query } from "./database.ts";
import { migrate } from "./migrate.ts";
import { StoreRejected } from "./store.ts";

export const DEADLINE_MS = 2000;
/** A view or a migration may read every record of a large configuration. */
export const VIEW_DEADLINE_MS = 30_000;
const KEY_CHECK = "gatehouse";
const KEY_CHECK_BINDING = "configuration";

export async function openAndCheck(
  url: string,
  cipher: CredentialCipher,
  usesOwnTime = false,
): Promise<Database> {
  const database = openDatabase(url, usesOwnTime);
  try {
    await withinDeadline(VIEW_DEADLINE_MS, migrate(database));
    await withinDeadline(DEADLINE_MS, checkEncryptionKey(database, cipher));
    await sealPlainSecrets(database, cipher);
    return database;
  } catch (error) {
    await database.close().catch(() => undefined);
    throw error;
  }
}

/** Whether a node that has only the newest key can open the database. */
export async function isKeyCheckNewest(database: Database, cipher: CredentialCipher): Promise<boolean> {
  const [row] = await database.query("SELECT key_check FROM configuration");
  return cipher.open(String(row?.["key_check"]), KEY_CHECK_BINDING).isNewest;
}

/** From now on, only nodes that have the newest key can open the database. */
export async function renewKeyCheck(database: Database, cipher: CredentialCipher): Promise<void> {
  if (await isKeyCheckNewest(database, cipher)) return;
  const created = cipher.encrypt(KEY_CHECK, KEY_CHECK_BINDING);
  await database.writeTransaction((query) => query("UPDATE configuration SET key_check = $1", [created]));
}

/** The first node stores an encrypted constant. A node that cannot decrypt it has another key and could read no credential. */
async function checkEncryptionKey(database: Database, cipher: CredentialCipher): Promise<void> {
  const read = async (query: Query) =>
    (await query("SELECT key_check FROM configuration"))[0]?.["key_check"] ?? null;
  let keyCheck = await read(database.query);
  keyCheck ??= await database.writeTransaction(async (query) => {
    const existing = await read(query);
    if (existing !== null) return existing;
    const created = cipher.encrypt(KEY_CHECK, KEY_CHECK_BINDING);
    await query("UPDATE configuration SET key_check = $1", [created]);
    return created;
  });
  try {
    cipher.decrypt(String(keyCheck), KEY_CHECK_BINDING);
  } catch {
    throw new StoreRejected(
      "The credentials in this database were encrypted with another key. Set ENCRYPTION_KEY to that key or, " +
        "if it was never set, to the SERVER_SECRET_KEY that was used then. To replace it by a new key, give both: " +
        "ENCRYPTION_KEY=new,old.",
    );
  }
}

/**
 * Values of `configuration.sealed_headers`, which covers all secrets that older versions stored in plain
 * text.
 */
const [ERASE_PENDING, SEALED] = [-1, 1];

/**
 * Encrypts secret headers and webhooks that an older version stored in plain text, on the first start of this
 * version. A SQLite file contains replaced values until they are erased, so another process, or the next
 * start, erases them if this one fails to.
 */
async function sealPlainSecrets(database: Database, cipher: CredentialCipher): Promise<void> {
  const readState = async () =>
    (await database.query("SELECT sealed_headers FROM configuration"))[0]?.["sealed_headers"];
  const setState = (state: number) =>
    database.writeTransaction((query) => query("UPDATE configuration SET sealed_headers = $1", [state]));
  if ((await readState()) === SEALED) return;
  const { resealAll } = await import("./reseal.ts");
  const sealAll = async () => {
    const { plain } = await resealAll(database, cipher, "count");
    if (plain === 0) return;
    await setState(ERASE_PENDING);
    await resealAll(database, cipher, "plain");
  };
  await withinDeadline(VIEW_DEADLINE_MS, sealAll());
  try {
    if ((await readState()) === ERASE_PENDING) await database.eraseDeleted();
  } catch {
    return; // for example because the disk is full
  }
  await setState(SEALED);
}
