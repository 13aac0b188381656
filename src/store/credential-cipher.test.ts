// Properties of sealing: what goes in comes out, for its record and its key only, and no bit may change.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CredentialCipher } from "./credential-cipher.ts";

const cipher = new CredentialCipher("a secret");
// Halves of surrogate pairs are no text that UTF-8 could carry.
const text = fc.string({ unit: "grapheme", maxLength: 200 });
const PREFIX = "v1.";

describe("CredentialCipher", () => {
  test("opens what it sealed, for the same record", () => {
    fc.assert(
      fc.property(text, text, (value, record) => {
        expect(cipher.open(cipher.seal(value, record), record)).toBe(value);
      }),
    );
  });

  test("another instance with the same secret opens it; one with another secret does not", () => {
    fc.assert(
      fc.property(text, text, text, (value, secret, other) => {
        fc.pre(secret !== other);
        const sealed = new CredentialCipher(secret).seal(value, "record");
        expect(new CredentialCipher(secret).open(sealed, "record")).toBe(value);
        expect(() => new CredentialCipher(other).open(sealed, "record")).toThrow();
      }),
    );
  });

  test("does not open for another record", () => {
    fc.assert(
      fc.property(text, text, text, (value, record, other) => {
        fc.pre(record !== other);
        const sealed = cipher.seal(value, record);
        expect(() => cipher.open(sealed, other)).toThrow();
      }),
    );
  });

  test("does not open when any single bit differs", () => {
    const bytes = Buffer.from(cipher.seal("sk-0123456789", "record").slice(PREFIX.length), "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const tampered = Buffer.from(bytes);
      tampered[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => cipher.open(PREFIX + tampered.toString("base64url"), "record")).toThrow();
    }
    expect(cipher.open(PREFIX + bytes.toString("base64url"), "record")).toBe("sk-0123456789");
  });

  test("does not open when cut short, lengthened, or of another version", () => {
    const sealed = cipher.seal("sk-0123456789", "record");
    const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64url");
    for (let length = 0; length < bytes.length; length++) {
      expect(() => cipher.open(PREFIX + bytes.subarray(0, length).toString("base64url"), "record")).toThrow();
    }
    const longer = Buffer.concat([bytes, Buffer.alloc(1)]).toString("base64url");
    expect(() => cipher.open(PREFIX + longer, "record")).toThrow();
    expect(() => cipher.open(sealed.slice(PREFIX.length), "record")).toThrow();
    expect(() => cipher.open("v2." + sealed.slice(PREFIX.length), "record")).toThrow();
    expect(() => cipher.open("", "record")).toThrow();
  });

  test("seals the same text differently each time, without a trace of it", () => {
    const value = "a credential to be kept secret";
    const sealed = Array.from({ length: 100 }, () => cipher.seal(value, "record"));
    expect(new Set(sealed).size).toBe(100);
    const nonces = sealed.map((each) => each.slice(PREFIX.length, PREFIX.length + 16));
    expect(new Set(nonces).size).toBe(100);
    for (const each of sealed) {
      expect(Buffer.from(each.slice(PREFIX.length), "base64url").includes(value.slice(0, 8))).toBe(false);
    }
  });
});
