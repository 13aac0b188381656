// Seals provider credentials: AES-256-GCM, a fresh nonce each time, bound to the record they belong to.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const VERSION = "v1.";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class CredentialCipher {
  readonly #key: Buffer;

  /** `secret` is ENCRYPTION_KEY, or SERVER_SECRET_KEY where there is none: a text of any length. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "gatehouse provider credentials", 32));
  }

  /** `boundTo` is authenticated but not stored: a sealed value moved to another record does not open. */
  seal(text: string, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(boundTo));
    const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return VERSION + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Throws when the key, the record or a single bit differs. */
  open(sealed: string, boundTo: string): string {
    if (!sealed.startsWith(VERSION)) throw new Error("not a sealed credential");
    const bytes = Buffer.from(sealed.slice(VERSION.length), "base64url");
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce)
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(tag);
    const opened = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
    return Buffer.concat(opened).toString("utf8");
  }
}
