// Seals ids of objects that providers store. A sealed id contains the provider's id and the target, encrypted, and can be
// opened only for the gateway and the API key that it was created for. All nodes with the same server secret can open it.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

const ALGORITHM = "aes-256-ctr";
const KEY_BYTES = 32;
const MAC_BYTES = 16;
/** Ids of providers have up to about 60 characters. */
const MAX_ID_LENGTH = 256;
/** Longer than every sealed id, also if the provider's id consists of characters with three bytes. */
const MAX_SEALED_LENGTH = 1200;

/** Clients may look at the start of an id, so it stays: `file-`, `batch_`, `msgbatch_`. */
const PREFIX = /^[A-Za-z]{1,16}[-_]/;
/** After the prefix. Must not be `gw_`, the start of API keys. The digit is the version of the seal. */
export const SEAL_MARK = "gw1";
const SEALED = /^([A-Za-z]{1,16}[-_])?gw1([A-Za-z0-9_-]+)$/;

/** Who may use an id. */
export interface IdOwner {
  readonly gatewayId: string;
  /** Null: all clients without an API key. */
  readonly apiKeyId: string | null;
}

interface OpenedId {
  readonly id: string;
  /** The tag of the target that has the object. */
  readonly targetTag: string;
}

/**
 * The same id is always sealed to the same text, because clients compare ids. Therefore the nonce is a MAC of what is
 * encrypted, which also authenticates it (the SIV construction of RFC 5297, with HMAC-SHA-256 and AES-256-CTR).
 */
export class IdSeal {
  readonly #macKey: Buffer;
  readonly #key: Buffer;

  constructor(secret: string) {
    const keys = Buffer.from(
      hkdfSync("sha256", secret, "", "gatehouse ids of stored objects", 2 * KEY_BYTES),
    );
    this.#macKey = keys.subarray(0, KEY_BYTES);
    this.#key = keys.subarray(KEY_BYTES);
  }

  /** Returns null if the id is too long to be one. */
  seal(id: string, targetTag: string, owner: IdOwner): string | null {
    if (id.length > MAX_ID_LENGTH || id === "") return null;
    const prefix = PREFIX.exec(id)?.[0] ?? "";
    const plain = Buffer.from(`${targetTag} ${id.slice(prefix.length)}`);
    const mac = this.#mac(plain, prefix, owner);
    const cipher = createCipheriv(ALGORITHM, this.#key, mac);
    const sealed = Buffer.concat([mac, cipher.update(plain), cipher.final()]);
    return prefix + SEAL_MARK + sealed.toString("base64url");
  }

  /** Returns null if the text is no sealed id, or not one of this owner. */
  open(text: string, owner: IdOwner): OpenedId | null {
    if (text.length > MAX_SEALED_LENGTH) return null;
    const [, prefix = "", encoded] = SEALED.exec(text) ?? [];
    if (encoded === undefined) return null;
    const sealed = Buffer.from(encoded, "base64url");
    // Several texts decode to the same bytes. Only the one that was issued counts.
    if (sealed.length <= MAC_BYTES || sealed.toString("base64url") !== encoded) return null;
    const mac = sealed.subarray(0, MAC_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, mac);
    const plain = Buffer.concat([decipher.update(sealed.subarray(MAC_BYTES)), decipher.final()]);
    if (!timingSafeEqual(mac, this.#mac(plain, prefix, owner))) return null;
    const [targetTag = "", ...rest] = plain.toString().split(" ");
    return { id: prefix + rest.join(" "), targetTag };
  }

  #mac(plain: Buffer, prefix: string, { gatewayId, apiKeyId }: IdOwner): Buffer {
    const context = JSON.stringify([gatewayId, apiKeyId, prefix]);
    const hmac = createHmac("sha256", this.#macKey).update(`${context.length} ${context}`).update(plain);
    return hmac.digest().subarray(0, MAC_BYTES);
  }
}
