// What pii_mask finds, and what it must not take for personal data.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../../test/support/long-form.ts";
import { compileDetector } from "./detect.ts";
import { detectNaively } from "./naive-detect.fixture.ts";
import { TYPES } from "./settings.ts";

const detect = compileDetector({ types: [...TYPES], custom: [] });
const found = (text: string): string[] =>
  detect(text).map(({ type, start, end }) => `${type} ${text.slice(start, end)}`);

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
    ["4000000000000000006", "credit_card 4000000000000000006"],
    ["GB82 WEST 1234 5698 7654 32 is mine", "iban GB82 WEST 1234 5698 7654 32"],
    ["de89370400440532013000", "iban de89370400440532013000"],
    ["ssn 078-05-1120.", "us_ssn 078-05-1120"],
    ["from 192.168.10.254:443", "ip 192.168.10.254"],
    ["at 2001:db8::8a2e:370:7334.", "ip 2001:db8::8a2e:370:7334"],
    ["at fe80:0:0:0:0:0:0:1", "ip fe80:0:0:0:0:0:0:1"],
    ["1:2:3:4:5:6:7:8: the first", "ip 1:2:3:4:5:6:7:8"],
    ["1:2:3:4:5:6:7:8::", "ip 2:3:4:5:6:7:8::"],
    ["1:2:3:4:5:6:7:8:9", "ip 2:3:4:5:6:7:8:9"],
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

describe("addresses of IPv6", () => {
  test.each([
    ["listen on ::1 only", "::1"],
    ["http://[::1]:8080/", "::1"],
    ["ping fe80::1.", "fe80::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["fd00::/8", "fd00::"],
    ["fd00::5/64", "fd00::5"],
    ["::ffff:10.1.2.3", "::ffff:10.1.2.3"],
    ["64:ff9b::192.0.2.33", "64:ff9b::192.0.2.33"],
    ['hosts["::1"]', "::1"],
  ])("%s", (text, expected) => {
    expect(found(text)).toEqual([`ip ${expected}`]);
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
    "1:::2",
    ":1:2:3:4:5:6:7",
    "std::vector<int>",
    "a@b",
    "user@localhost",
    "@mention",
    "order 20261117123456",
    "sk-short",
    "+12",
    "v1.2.3",
    "even = xs[1::2]; rows[2000::2]; all[:, 0x3f, ::1]; x[a[0]:fd00::2]",
    "Add::add, Bad::face and dead::beef::Feed are scopes; a::b1, Fee::d2, feed::bee",
    "every second: [::2]",
    "30:0::",
    "fc:1::",
    "a10.1.2.30:0::",
    "sha1 key = da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "key: src/components/account/settings/AccountSettings",
    '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="',
    "-----BEGIN PUBLIC KEY-----",
    "how to work with hooks.slack.com",
  ];
  for (const text of harmless) expect(found(text)).toEqual([]);
});

test("a changed digit breaks the checksums", () => {
  const change = (value: string, at: number, by: number) =>
    `${value.slice(0, at)}${(Number(value[at]) + by) % 10}${value.slice(at + 1)}`;
  fc.assert(
    fc.property(fc.nat(15), fc.integer({ min: 1, max: 9 }), (at, by) => {
      expect(found(change("4111111111111111", at, by))).toEqual([]);
      expect(found(change("GB82WEST12345698765432", 8 + (at % 14), by))).toEqual([]);
    }),
  );
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

test.each([
  ["(?i)emp-\\d+", "EMP-1 emp-2", ["EMP-1", "emp-2"]],
  ["(?i)a1|b2", "A1 B2", ["A1", "B2"]],
  ["(?i:emp)-\\d+", "EMP-1 Emp-2", ["EMP-1", "Emp-2"]],
  ["^id:\\d+|\\bno \\d+$", "id:1 id:2 no 3 no 4", ["id:1", "no 4"]],
  ["BEGIN[^E]*END", `BEGIN${"x".repeat(1000)}END`, [`BEGIN${"x".repeat(1000)}END`]],
  ["\\p{Lu}\\p{Ll}+-\\d", "Ärger-1", ["Ärger-1"]],
])("custom pattern %s", (pattern, text, expected) => {
  const own = compileDetector({ types: [], custom: [{ name: "own", pattern }] });
  expect(own(text).map(({ start, end }) => text.slice(start, end))).toEqual(expected);
});

/** Pieces that values consist of, and whole values, next to what may be confused with them. */
const unitsOf = (units: string) => fc.string({ unit: fc.constantFrom(...Array.from(units)), maxLength: 24 });
const piece = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...Array.from("@ .-:+()/_,'%ü×ß漢\n"),
      "::",
      '"',
      "[",
      "]",
      "xs[",
      "fe80::1",
      "::1",
      ".com",
      ".aaaaaaaaaa",
      "xn--",
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "sk-",
      "eyJ",
      "eyJ-eyJ-",
      "ghp_",
      "AKIA",
      "a".repeat(36),
      "fe80",
      "a::b",
      "SG.",
      "gw_",
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("4111111111111111", "4111 1111 1111 1111", "GB82 WEST 1234 5698 7654 32"),
  },
  { weight: 2, arbitrary: fc.constantFrom("078-05-1120", "+44 20 7946 0958", "(415) 555-2671", "10.1.2.3") },
  { weight: 1, arbitrary: unitsOf("0123456789 -.") },
  { weight: 1, arbitrary: unitsOf("+0123456789 -./()") },
  { weight: 1, arbitrary: unitsOf("0123456789abcdefAF::::g ") },
  { weight: 1, arbitrary: unitsOf("abc.-_@ü1") },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.constantFrom("a", "12", "fff", "1234", "12345", ""), { maxLength: 9 })
      .map((groups) => groups.join(":")),
  },
  { weight: 1, arbitrary: fc.array(fc.nat(300), { maxLength: 5 }).map((octets) => octets.join(".")) },
);
const text = fc.array(piece, { maxLength: 12, size: "max" }).map((pieces) => pieces.join(""));

test("any text has the findings that regular expressions have", () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(detect(given)).toEqual(detectNaively(given));
    }),
    { numRuns: runs({ short: 500, long: 500_000 }) },
  );
}, 3_600_000);

test("long runs of characters that credentials consist of have the same findings", () => {
  const length = fc.integer({ min: 4085, max: 4105 });
  const tail = fc.constantFrom(
    "",
    ".a.b",
    `.${"a".repeat(12)}.${"b".repeat(12)}`,
    `.${"a".repeat(4097)}.${"b".repeat(12)}`,
  );
  fc.assert(
    fc.property(
      fc.constantFrom("eyJ-", "sk-", "a-", "AKIA-"),
      fc.nat(4),
      length,
      tail,
      (start, count, size, end) => {
        const given = `${start.repeat(count)}eyJ${"q".repeat(size)}${end} 10.1.2.3`;
        expect(detect(given)).toEqual(detectNaively(given));
      },
    ),
    { numRuns: runs({ short: 60, long: 5000 }) },
  );
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
