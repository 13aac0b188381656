// Properties of encryption: only the same key and record decrypt a value, and a change of any bit is detected.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CredentialCipher } from "./credential-cipher.ts";
import { grapheme } from "../../test/support/characters.ts";

const cipher = new CredentialCipher("a secret");
// No lone surrogates: UTF-8 cannot encode them.
const text = fc.string({ unit: grapheme, maxLength: 200 });
const PREFIX = "v1.";

describe("CredentialCipher", () => {
  test("decrypts what it encrypted, for the same record", () => {
    fc.assert(
      fc.property(text, text, (value, record) => {
        expect(cipher.decrypt(cipher.encrypt(value, record), record)).toBe(value);
      }),
    );
  });

  test("an instance with the same secret decrypts a value; one with another secret does not", () => {
    fc.assert(
      fc.property(text, text, text, (value, secret, other) => {
        fc.pre(secret !== other);
        const encrypted = new CredentialCipher(secret).encrypt(value, "record");
        expect(new CredentialCipher(secret).decrypt(encrypted, "record")).toBe(value);
        expect(() => new CredentialCipher(other).decrypt(encrypted, "record")).toThrow();
      }),
    );
  });

  test("with several secrets: encrypts with the first, decrypts with any, and says whether it was the first", () => {
    const secrets = fc.uniqueArray(text, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(text, secrets, text, fc.nat(), (value, keys, other, at) => {
        fc.pre(!keys.includes(other));
        const [newest = "", ...older] = keys;
        const several = new CredentialCipher(newest, ...older);
        const used = keys[at % keys.length] ?? "";
        const encrypted = new CredentialCipher(used).encrypt(value, "record");
        expect(several.open(encrypted, "record")).toEqual({ text: value, isNewest: used === newest });
        expect(several.decrypt(encrypted, "record")).toBe(value);
        expect(() => several.decrypt(encrypted, "another record")).toThrow();
        expect(new CredentialCipher(newest).decrypt(several.encrypt(value, "record"), "record")).toBe(value);
        expect(() =>
          several.decrypt(new CredentialCipher(other).encrypt(value, "record"), "record"),
        ).toThrow();
      }),
    );
  });

  test("does not decrypt for another record", () => {
    fc.assert(
      fc.property(text, text, text, (value, record, other) => {
        fc.pre(record !== other);
        const encrypted = cipher.encrypt(value, record);
        expect(() => cipher.decrypt(encrypted, other)).toThrow();
      }),
    );
  });

  test("does not decrypt when any single bit differs", () => {
    const bytes = Buffer.from(cipher.encrypt("sk-0123456789", "record").slice(PREFIX.length), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const tampered = Buffer.from(bytes);
      tampered[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => cipher.decrypt(PREFIX + tampered.toString("base64url"), "record")).toThrow();
    }
    expect(cipher.decrypt(PREFIX + bytes.toString("base64url"), "record")).toBe("sk-0123456789");
  });

  test("does not decrypt a value that is truncated, extended, or of another version", () => {
    const encrypted = cipher.encrypt("sk-0123456789", "record");
    const bytes = Buffer.from(encrypted.slice(PREFIX.length), "base64url");
    for (let length = 0; length < bytes.length; length++) {
      expect(() =>
        cipher.decrypt(PREFIX + bytes.subarray(0, length).toString("base64url"), "record"),
      ).toThrow();
    }
    const longer = Buffer.concat([bytes, Buffer.alloc(1)]).toString("base64url");
    expect(() => cipher.decrypt(PREFIX + longer, "record")).toThrow();
    expect(() => cipher.decrypt(encrypted.slice(PREFIX.length), "record")).toThrow();
    expect(() => cipher.decrypt("v2." + encrypted.slice(PREFIX.length), "record")).toThrow();
    expect(() => cipher.decrypt("", "record")).toThrow();
  });

  test("encrypts the same text differently each time, and the result does not contain it", () => {
    const value = "a credential to be kept secret";
    const encrypted = Array.from({ length: 100 }, () => cipher.encrypt(value, "record"));
    expect(new Set(encrypted).size).toBe(100);
    const nonces = encrypted.map((each) => each.slice(PREFIX.length, PREFIX.length + 16));
    expect(new Set(nonces).size).toBe(100);
    for (const each of encrypted) {
      expect(Buffer.from(each.slice(PREFIX.length), "base64url").includes(value.slice(0, 8))).toBe(false);
    }
  });
});
