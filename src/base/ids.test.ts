// Identifiers: format, order, and which request ids of clients are accepted.
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { apiKeyPrefix, hashApiKey, looksLikeApiKey, newApiKey, newId, requestIdFrom } from "./ids.ts";
import { anyCharacter } from "../../test/support/characters.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("record ids", () => {
  test("are UUIDv7 and sort in the order of creation", () => {
    const ids = Array.from({ length: 10_000 }, newId);
    for (const id of ids) expect(id).toMatch(UUID_V7);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("request ids", () => {
  test("a valid one is kept", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9._:/+=@-]{1,128}$/), (id) => {
        expect(requestIdFrom(id)).toBe(id);
      }),
    );
  });

  test("the result is always safe in a header and a log line", () => {
    fc.assert(
      fc.property(fc.option(fc.string({ unit: anyCharacter, maxLength: 300 })), (given) => {
        expect(requestIdFrom(given)).toMatch(/^[A-Za-z0-9._:/+=@-]{1,128}$/);
      }),
    );
  });

  test.each([null, "", "a b", "a\nb", "x".repeat(129), "id\r\nSet-Cookie: a=b"])(
    "%p is replaced",
    (given) => {
      expect(requestIdFrom(given)).toMatch(UUID_V7);
    },
  );
});

describe("API keys", () => {
  test("are gw_ and 43 base64url characters of 32 random bytes", () => {
    const keys = Array.from({ length: 1000 }, newApiKey);
    for (const key of keys) {
      expect(key).toMatch(/^gw_[A-Za-z0-9_-]{43}$/);
      expect(Buffer.from(key.slice(3), "base64url")).toHaveLength(32);
      expect(looksLikeApiKey(key)).toBe(true);
      expect(key).toStartWith(apiKeyPrefix(key));
    }
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("are hashed with SHA-256", () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        expect(hashApiKey(key)).toBe(createHash("sha256").update(key).digest("base64url"));
      }),
    );
  });

  test.each([
    "",
    "gw_",
    `gw_${"a".repeat(42)}`,
    `gw_${"a".repeat(44)}`,
    `GW_${"a".repeat(43)}`,
    `gw_${"+".repeat(43)}`,
  ])("%p is not one", (text) => expect(looksLikeApiKey(text)).toBe(false));
});
