// Masking of credentials.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { looksMasked, maskSecret } from "./secret-mask.ts";

describe("maskSecret", () => {
  test("shows the first 3 and last 4 characters of 12 or more, and nothing of a shorter secret", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60 }), (secret) => {
        const expected = secret.length < 12 ? "***" : `${secret.slice(0, 3)}***${secret.slice(-4)}`;
        expect(maskSecret(secret)).toBe(expected);
      }),
    );
  });

  test("every mask looks masked, so that it is never stored as a secret", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (secret) => {
        expect(looksMasked(maskSecret(secret))).toBe(true);
      }),
    );
  });

  test("the mask does not reveal the length of a long secret", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12, maxLength: 500 }), (secret) => {
        expect(maskSecret(secret)).toHaveLength(10);
      }),
    );
  });
});

describe("looksMasked", () => {
  test.each(["sk-abcdefghijklmnop", "Bearer x", "**", "****", "abc***defgh", ""])(
    "%p does not look masked",
    (value) => {
      expect(looksMasked(value)).toBe(false);
    },
  );
});
