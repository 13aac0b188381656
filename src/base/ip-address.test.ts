// Canonical spelling of IP addresses.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalAddress, ipv6Groups } from "./ip-address.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["2001:0db8:0:0:0:0:0:1", "2001:db8::1"],
  ["2001:db8::0.0.0.1", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:0201", "192.0.2.1"],
  ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
  ["not an address", "not an address"],
  ["a:b", "a:b"],
  ["", ""],
])("%s is %s", (text, expected) => {
  expect(canonicalAddress(text)).toBe(expected);
});

test("all spellings of an IPv6 address have one canonical spelling", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), (groups) => {
      const short = groups.map((group) => group.toString(16)).join(":");
      const long = groups.map((group) => group.toString(16).toUpperCase().padStart(4, "0")).join(":");
      expect(canonicalAddress(long)).toBe(canonicalAddress(short));
      expect(ipv6Groups(short)).toEqual(groups);
    }),
  );
});
