// Encrypts the messages between nodes, which pass through Redis: only nodes with the same server secret can read or send them.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

export class NodeCipher {
  /** Differs between installations that share a Redis server. */
  readonly channel: string;
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "gatehouse messages between nodes", 32));
    const digest = createHmac("sha256", this.#key).update("channel").digest("hex");
    this.channel = `gatehouse:nodes:${digest.slice(0, 16)}`;
  }

  seal(text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv);
    const encrypted = [cipher.update(text, "utf8"), cipher.final()];
    return Buffer.concat([iv, ...encrypted, cipher.getAuthTag()]).toString("base64");
  }

  /** Returns null if the message was not sealed with this key. */
  open(sealed: string): string | null {
    const bytes = Buffer.from(sealed, "base64");
    if (bytes.length < IV_BYTES + TAG_BYTES) return null;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return null;
    }
  }
}
