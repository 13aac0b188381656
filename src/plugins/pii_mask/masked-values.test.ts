// The values that placeholders represent, compared with a map.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { MaskedValues } from "./masked-values.ts";
import { Placeholders } from "./placeholders.ts";

const type = fc.constantFrom("email", "ip", "badge_2");
const reserved = fc.tuple(type, fc.nat(6)).map(([name, number]) => `<${name.toUpperCase()}_${number}>`);

test("every placeholder has its value, in another thread too, and others have none", () => {
  const values = fc.array(fc.tuple(type, fc.string({ minLength: 1, maxLength: 3, unit: "binary" })), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(values, fc.array(reserved, { maxLength: 4 }), (given, literals) => {
      const placeholders = new Placeholders();
      placeholders.reserve(literals.join(" "));
      const expected = new Map(given.map(([name, value]) => [placeholders.for(name, value), value]));
      const masked = new MaskedValues(structuredClone(new MaskedValues(placeholders.values).data));
      for (const [placeholder, value] of expected) expect(masked.get(placeholder)).toBe(value);
      for (const literal of literals) expect(masked.get(literal)).toBeUndefined();
      for (const other of ["<EMAIL_0>", "<EMAIL_01>", "<EMAIL_>", "<EMAIL_21>", "<_1>", "<1>", "<EMAIL_1e0>"])
        expect(masked.get(other)).toBeUndefined();
    }),
  );
});
