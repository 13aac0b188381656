// Scopes are the same, and have the same text, exactly if all of their parts are equal.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { KnownKeys } from "./known-keys.ts";
import { fieldsOf, isSameScope, scopeText, type Scope } from "./scope.ts";
import { runs } from "../../../test/support/long-form.ts";

/** Short texts of few characters, including those that join the parts. */
const text = fc.string({ unit: fc.constantFrom("a", "1", ":", ",", "-", ";"), maxLength: 3 });
const optional = fc.option(text, { nil: null });
const header = fc.tuple(fc.constantFrom("x-a", "x-b"), text);
const headers = fc.uniqueArray(header, { maxLength: 2, selector: ([name]) => name });
const fields = headers.map((entries) => fieldsOf(new Headers(entries)));

const owner: fc.Arbitrary<Pick<Scope, "isolation" | "owner">> = fc.oneof(
  fc.constant({ isolation: "gateway" as const, owner: null }),
  fc.record({ isolation: fc.constantFrom("user" as const, "key" as const, "label" as const), owner: text }),
);
const parts = fc.record({
  gateway: text,
  rule: text,
  format: text,
  operation: optional,
  path: text,
  query: text,
  models: fc.array(optional, { maxLength: 2 }),
  formatHeaders: fields,
  // The number of these headers is that of the settings.
  variedHeaders: fc.constantFrom("-,", "1:a,", "3:1:a,"),
  credentials: fields,
});
const scope = fc.tuple(owner, parts).map(([owned, others]): Scope => ({ ...owned, ...others }));
/** Two scopes that differ in one part at most. */
const pair = fc.tuple(scope, scope, fc.nat()).map(([a, b, index]): [Scope, Scope] => {
  const names = Object.keys(a) as (keyof Scope)[];
  const name = names[index % names.length] ?? "path";
  const isOwner = name === "isolation" || name === "owner";
  return [a, isOwner ? { ...a, isolation: b.isolation, owner: b.owner } : { ...a, [name]: b[name] }];
});

test("two scopes are the same exactly if they are equal, and so are their texts", () => {
  fc.assert(
    fc.property(fc.oneof(pair, fc.tuple(scope, scope)), ([a, b]) => {
      const isEqual = Bun.deepEquals(a, b);
      expect(isSameScope(a, b)).toBe(isEqual);
      expect(scopeText(a) === scopeText(b)).toBe(isEqual);
    }),
    { numRuns: runs({ short: 400, long: 2000 }) },
  );
});

describe("known keys", () => {
  const [given] = fc.sample(scope, 1);
  if (given === undefined) throw new Error("no scope");

  test("a key is found by the digest and the scope, and the hash of the body by the digest alone", () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const known = new KnownKeys();
        known.set("digest", "hash", a, scopeText(a).length, "key");
        expect(known.find("digest", b)).toBe(isSameScope(a, b) ? "key" : undefined);
        expect([known.find("other", a), known.bodyHash("other")]).toEqual([undefined, null]);
        expect(known.bodyHash("digest")).toBe("hash");
      }),
    );
  });

  test("a body without a key is known, too", () => {
    const known = new KnownKeys();
    known.set("digest", null, given, scopeText(given).length, null);
    expect([known.find("digest", given), known.bodyHash("digest")]).toEqual([null, null]);
  });

  test("neither many nor long ones are kept", () => {
    const known = new KnownKeys();
    const long = { ...given, path: `/${"a".repeat(5000)}` };
    known.set("long", "hash", long, scopeText(long).length, "key");
    expect(known.find("long", long)).toBeUndefined();
    for (let count = 0; count < 5000; count++) known.set(`digest ${count}`, "hash", given, 100, "key");
    expect(known.find("digest 0", given)).toBeUndefined();
    expect(known.find("digest 4999", given)).toBe("key");
  });
});
