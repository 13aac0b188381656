// Encrypts secrets with AES-256-GCM and a new nonce each time, bound to the record they belong to.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const VERSION = "v1.";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A value that none of the keys decrypts: a node with other keys has encrypted it, or it was changed. */
export class DecryptionError extends Error {
  constructor(cause: unknown) {
    const fix = "add the key that encrypted it";
    super(`A stored secret cannot be decrypted with any key of ENCRYPTION_KEY; ${fix}.`, { cause });
    this.name = "DecryptionError";
  }
}

export class CredentialCipher {
  readonly #newest: Buffer;
  readonly #older: readonly Buffer[];

  /** The secrets are those of ENCRYPTION_KEY or, if that is not set, SERVER_SECRET_KEY. They may have any length. */
  constructor(newest: string, ...older: readonly string[]) {
    this.#newest = deriveKey(newest);
    this.#older = older.map(deriveKey);
  }

  /** Uses the newest key. `boundTo` is authenticated but not stored: a value that is moved to another record cannot be decrypted. */
  encrypt(text: string, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#newest, nonce).setAAD(Buffer.from(boundTo));
    const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return VERSION + Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString("base64url");
  }

  /** Throws if none of the keys fits, or if the record or a single bit differs. */
  decrypt(encrypted: string, boundTo: string): string {
    return this.open(encrypted, boundTo).text;
  }

  /** Like `decrypt`, but also returns whether the value was encrypted with the newest key. */
  open(encrypted: string, boundTo: string): { readonly text: string; readonly isNewest: boolean } {
    if (!encrypted.startsWith(VERSION)) throw new Error("The value is not an encrypted credential.");
    const bytes = Buffer.from(encrypted.slice(VERSION.length), "base64url");
    try {
      return { text: decryptWith(this.#newest, bytes, boundTo), isNewest: true };
    } catch (cause) {
      for (const key of this.#older) {
        try {
          return { text: decryptWith(key, bytes, boundTo), isNewest: false };
        } catch {
          // Another key may fit.
        }
      }
      throw new DecryptionError(cause);
    }
  }
}

function deriveKey(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "gatehouse provider credentials", 32));
}

function decryptWith(key: Buffer, bytes: Buffer, boundTo: string): string {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(boundTo)).setAuthTag(tag);
  const decrypted = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
  return Buffer.concat(decrypted).toString("utf8");
}
