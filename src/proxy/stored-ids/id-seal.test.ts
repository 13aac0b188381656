import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { IdSeal } from "./id-seal.ts";
import { anyCharacter } from "../../../test/support/characters.ts";

const SECRET = "a-secret-that-is-long-enough-for-tests-0123456789";
const OWNER = { gatewayId: "gateway", apiKeyId: "key" };
const idSeal = new IdSeal(SECRET);
const seal = (id: string, tag = "aabbccddeeff", owner = OWNER) => idSeal.seal(id, tag, owner) ?? "";

describe("IdSeal", () => {
  test("keeps the provider's prefix, and the rest of the id is not visible", () => {
    expect(seal("file-Abc123")).toMatch(/^file-gw1[A-Za-z0-9_-]{40,}$/);
    expect(seal("msgbatch_01")).toMatch(/^msgbatch_gw1/);
    expect(seal("0d4b8a31-1fe2-4c1a-8f1d-9f7c2a1b3c4d")).toMatch(/^gw1/);
    expect(seal("file-Abc123")).not.toContain("Abc123");
  });

  test("seals an id to the same text every time and on every node, and opens it", () => {
    expect(new IdSeal(SECRET).seal("file-1", "aabbccddeeff", OWNER)).toBe(seal("file-1"));
    expect(new IdSeal(SECRET).open(seal("file-1"), OWNER)).toEqual({
      id: "file-1",
      targetTag: "aabbccddeeff",
    });
  });

  test("does not open raw ids, or those of another gateway, API key, secret or kind of object", () => {
    const sealed = seal("file-1");
    expect(idSeal.open("file-1", OWNER)).toBeNull();
    expect(idSeal.open("file-gw1", OWNER)).toBeNull();
    expect(idSeal.open(sealed, { ...OWNER, gatewayId: "other" })).toBeNull();
    expect(idSeal.open(sealed, { ...OWNER, apiKeyId: "other" })).toBeNull();
    expect(idSeal.open(sealed, { gatewayId: "gateway", apiKeyId: null })).toBeNull();
    expect(new IdSeal(`${SECRET}x`).open(sealed, OWNER)).toBeNull();
    expect(idSeal.open(sealed.replace("file-", "batch_"), OWNER)).toBeNull();
  });

  test("different targets have different ids", () => {
    expect(seal("file-1", "aabbccddeeff")).not.toBe(seal("file-1", "000000000000"));
  });

  test("property: opens what it sealed, and nothing that differs in one character", () => {
    const id = fc.oneof(fc.string({ minLength: 1, maxLength: 80, unit: anyCharacter }), fc.uuid());
    fc.assert(
      fc.property(id, fc.nat(), fc.constantFrom("A", "a", "0", "_", "-", "="), (given, place, character) => {
        // Lone surrogates have no representation in UTF-8.
        fc.pre(given.isWellFormed());
        const sealed = seal(given);
        expect(idSeal.open(sealed, OWNER)?.id).toBe(given);
        const at = place % sealed.length;
        const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
        if (changed !== sealed) expect(idSeal.open(changed, OWNER)).toBeNull();
      }),
    );
  });

  test("bounds the length of ids", () => {
    expect(idSeal.seal("x".repeat(257), "aabbccddeeff", OWNER)).toBeNull();
    expect(idSeal.open(`file-gw1${"A".repeat(100_000)}`, OWNER)).toBeNull();
    expect(idSeal.open(seal("漢".repeat(256)), OWNER)?.id).toBe("漢".repeat(256));
  });
});
