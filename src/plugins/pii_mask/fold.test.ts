// Values in other spaces, hyphens and digits, and with characters that are not displayed, are found at their place.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../../test/support/long-form.ts";
import { compileDetector } from "./detect.ts";
import { TYPES } from "./settings.ts";

const detect = compileDetector({ types: [...TYPES], custom: [] });
const found = (text: string): string[] =>
  detect(text).map(({ type, start, end }) => `${type} ${text.slice(start, end)}`);

describe("text that is folded", () => {
  test.each([
    ["4111\u00a01111\u202f1111\u20091111", "credit_card"],
    ["4111\u200b1111\u200d11\u206011\ufeff1111", "credit_card"],
    ["４１１１　１１１１　１１１１　１１１１", "credit_card"],
    ["4\u{e0041}111111111111111", "credit_card"],
    ["GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032", "iban"],
    ["ＧＢ８２ＷＥＳＴ１２３４５６９８７６５４３２", "iban"],
    ["078\u201105\u20111120", "us_ssn"],
    ["078\u00a005\u00a01120", "us_ssn"],
    ["+44\u00a020\u20097946\u200a0958", "phone"],
    ["＋４４　２０　７９４６　０９５８", "phone"],
    ["10.\u200b1.2.3", "ip"],
    ["１９２．１６８．０．１", "ip"],
    ["bob\u200b@exam\u00adple.com", "email"],
    ["ｂｏｂ＠ｅｘａｍｐｌｅ．ｃｏｍ", "email"],
    [`ghp_${"a1".repeat(5)}\u200b${"b2".repeat(15)}`, "secret"],
  ])("%s", (value, type) => {
    expect(found(`before ${value}\u200b after`)).toEqual([`${type} ${value}`]);
  });

  const SPACES = ["\u00a0", "\u1680", "\u2000", "\u2009", "\u202f", "\u205f", "\u3000"];
  const IGNORED = ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufe0f", "\ufeff", "\u{e0020}", "\u{e01ef}"];

  test("any way to write the characters of a value has the finding, at its place", () => {
    const values = fc.constantFrom(
      ["credit_card", "4111 1111 1111 1111"],
      ["iban", "GB82 WEST 1234 5698 7654 32"],
      ["us_ssn", "078 05 1120"],
      ["phone", "+44 20 7946 0958"],
      ["ip", "192.168.10.254"],
      ["ip", "2001:db8::8a2e:370:7334"],
      ["email", "bob@example.com"],
    );
    const way = fc.record({
      form: fc.nat(2),
      space: fc.constantFrom(...SPACES),
      ignored: fc.constantFrom(...IGNORED),
    });
    fc.assert(
      fc.property(values, fc.array(way, { minLength: 30, maxLength: 30 }), ([type, value = ""], ways) => {
        const written = Array.from(value, (character, index) => {
          const { form, space, ignored } = ways[index] ?? { form: 0, space: " ", ignored: "" };
          const wide = String.fromCharCode(character.charCodeAt(0) + 0xfee0);
          const other = character === " " ? space : wide;
          return (index > 0 && form === 2 ? ignored : "") + (form === 1 ? other : character);
        }).join("");
        expect(found(`漢 ${written} 漢`)).toEqual([`${type} ${written}`]);
      }),
      { numRuns: runs({ short: 200, long: 100_000 }) },
    );
  });

  test("folding loses no finding", () => {
    expect(found("id\u200b4111111111111111")).toEqual(["credit_card 4111111111111111"]);
    expect(found("bob@example.com–call")).toEqual(["email bob@example.com"]);
  });
});
