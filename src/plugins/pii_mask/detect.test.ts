// What pii_mask finds, and what it must not take for personal data.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileDetector } from "./detect.ts";
import { isIban, isSsn, LuhnSums } from "./number-checks.ts";
import { TYPES } from "./settings.ts";

const detect = compileDetector({ types: [...TYPES], custom: [] });
const found = (text: string): string[] =>
  detect(text).map(({ type, start, end }) => `${type} ${text.slice(start, end)}`);

function isLuhn(digits: string): boolean {
  const sums = new LuhnSums();
  for (const digit of digits) sums.add(Number(digit));
  return sums.isValid;
}

describe("values that are found", () => {
  test.each([
    ["write to bob@example.com.", "email bob@example.com"],
    ["<o'neil+news@mail.example.co.uk>", "email o'neil+news@mail.example.co.uk"],
    ["jürgen@müller.de", "email jürgen@müller.de"],
    ["call +44 20 7946 0958 now", "phone +44 20 7946 0958"],
    ["(415) 555-2671", "phone (415) 555-2671"],
    ["415-555-2671", "phone 415-555-2671"],
    ["card 4111 1111 1111 1111, exp 12/30", "credit_card 4111 1111 1111 1111"],
    ["378282246310005", "credit_card 378282246310005"],
    ["GB82 WEST 1234 5698 7654 32 is mine", "iban GB82 WEST 1234 5698 7654 32"],
    ["de89370400440532013000", "iban de89370400440532013000"],
    ["ssn 078-05-1120.", "us_ssn 078-05-1120"],
    ["from 192.168.10.254:443", "ip 192.168.10.254"],
    ["at 2001:db8::8a2e:370:7334.", "ip 2001:db8::8a2e:370:7334"],
    ["at fe80:0:0:0:0:0:0:1", "ip fe80:0:0:0:0:0:0:1"],
    [`key sk-${"a1".repeat(12)}`, `secret sk-${"a1".repeat(12)}`],
    ["AKIAIOSFODNN7EXAMPLE", "secret AKIAIOSFODNN7EXAMPLE"],
    [
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVm",
      "secret eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVm",
    ],
    ["4111111111111111@example.com", "email 4111111111111111@example.com"],
  ])("%s", (text, expected) => {
    expect(found(text)).toEqual([expected]);
  });
});

test("checksums and rules of issue", () => {
  const harmless = [
    "4111 1111 1111 1112",
    "GB82 WEST 1234 5698 7654 33",
    "000-12-3456",
    "666-12-3456",
    "900-12-3456",
    "123-00-4567",
    "123-45-0000",
    "1234-56-7890",
    "256.1.1.1",
    "1.2.3.4.5",
    "12:34:56",
    "std::vector<int>",
    "a@b",
    "user@localhost",
    "@mention",
    "order 20261117123456",
    "sk-short",
    "+12",
    "v1.2.3",
  ];
  for (const text of harmless) expect(found(text)).toEqual([]);
});

test("random numbers are accepted at the rate of their checksum", () => {
  // A changed digit breaks both checksums.
  fc.assert(
    fc.property(fc.nat(15), fc.integer({ min: 1, max: 9 }), (at, by) => {
      const digits = "4111111111111111";
      const changed = `${digits.slice(0, at)}${(Number(digits[at]) + by) % 10}${digits.slice(at + 1)}`;
      expect(isLuhn(changed)).toBe(false);
      expect(isLuhn(digits)).toBe(true);
    }),
  );
  expect(isIban("GB82WEST12345698765432")).toBe(true);
  expect(isSsn("078051120")).toBe(true);
});

test("custom patterns come before built-in types, and the longer one counts", () => {
  const custom = [
    { name: "employee", pattern: "\\bEMP-\\d{6}\\b" },
    { name: "contact", pattern: "mail:[a-z@.]+" },
  ];
  const own = compileDetector({ types: ["email"], custom });
  const text = "EMP-123456 mail:a@b.cc";
  expect(own(text).map(({ type, start, end }) => [type, text.slice(start, end)])).toEqual([
    ["employee", "EMP-123456"],
    ["contact", "mail:a@b.cc"],
  ]);
});

test("findings of any text are in order and do not overlap", () => {
  const part = fc.constantFrom(
    "@",
    "a",
    ".com",
    "+",
    "1",
    "4111111111111111",
    "-",
    " ",
    ":",
    "::",
    "fe80",
    "(",
    ")",
    "GB82",
    "sk-",
    "ü",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      let last = 0;
      for (const { start, end } of detect(parts.join(""))) {
        expect(start).toBeGreaterThanOrEqual(last);
        expect(end).toBeGreaterThan(start);
        last = end;
      }
    }),
  );
});
