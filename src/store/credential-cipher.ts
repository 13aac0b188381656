// Encrypts provider credentials with AES-256-GCM and a new nonce each time, bound to the record they belong to.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const VERSION = "v1.";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class CredentialCipher {
  readonly #key: Buffer;

  /** `secret` is ENCRYPTION_KEY or, if that is not set, SERVER_SECRET_KEY. It may have any length. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "gatehouse provider credentials", 32));
  }

  /** `boundTo` is authenticated but not stored: a value that is moved to another record cannot be decrypted. */
  encrypt(text: string, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(boundTo));
    const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return VERSION + Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString("base64url");
  }

  /** Throws if the key, the record, or a single bit differs. */
  decrypt(encrypted: string, boundTo: string): string {
    if (!encrypted.startsWith(VERSION)) throw new Error("The value is not an encrypted credential.");
    const bytes = Buffer.from(encrypted.slice(VERSION.length), "base64url");
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce)
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(tag);
    const decrypted = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(decrypted).toString("utf8");
  }
}
