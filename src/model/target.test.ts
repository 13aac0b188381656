// The masking of credentials: what is shown tells nothing of a short secret and little of a long one.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { looksMasked, maskSecret } from "./target.ts";

describe("maskSecret", () => {
  test("shows the first 3 and last 4 characters from 12 characters on, and nothing under that", () => {
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

  test("the mask does not tell how long a long secret is", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12, maxLength: 500 }), (secret) => {
        expect(maskSecret(secret)).toHaveLength(10);
      }),
    );
  });
});

describe("looksMasked", () => {
  test.each(["sk-abcdefghijklmnop", "Bearer x", "**", "****", "abc***defgh", ""])("%p does not", (value) => {
    expect(looksMasked(value)).toBe(false);
  });
});
