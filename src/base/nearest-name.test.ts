// The suggested name, or null if no known name is similar.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { nearestName } from "./nearest-name.ts";

const FIELDS = ["name", "subdomain", "required_plugins", "require_api_key", "targets", "algorithm"];

describe("nearestName", () => {
  test.each([
    ["nmae", "name"],
    ["Name", "name"],
    ["sub_domain", "subdomain"],
    ["plugins", null],
    ["requird_plugins", "required_plugins"],
    ["requireApiKey", "require_api_key"],
    ["target", "targets"],
    ["zzzzzzzz", null],
  ] as const)("%s suggests %p", (name, meant) => expect(nearestName(name, FIELDS)).toBe(meant));

  test("a known name suggests itself", () => {
    fc.assert(
      fc.property(fc.constantFrom(...FIELDS), (name) => expect(nearestName(name, FIELDS)).toBe(name)),
    );
  });

  test("one missing, additional, or wrong character is tolerated", () => {
    const slip = fc.record({
      name: fc.constantFrom(...FIELDS),
      at: fc.nat({ max: 30 }),
      how: fc.nat({ max: 2 }),
    });
    fc.assert(
      fc.property(slip, ({ name, at, how }) => {
        const place = at % name.length;
        const written = name.slice(0, place) + ["", "x", `x${name[place]}`][how]! + name.slice(place + 1);
        expect(nearestName(written, FIELDS)).toBe(name);
      }),
    );
  });

  test("the result is always a known name or null", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2000 }), (name) => {
        expect([...FIELDS, null]).toContain(nearestName(name, FIELDS));
      }),
    );
  });

  test("without known names there is no suggestion", () => expect(nearestName("name", [])).toBeNull());
});
