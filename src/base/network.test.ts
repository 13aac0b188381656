// The IPv6 network that per_ip counts as one client.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { networkOf } from "./network.ts";

test.each([
  ["192.0.2.1", 64, "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", 64, "2001:db8:1:2::/64"],
  ["2001:db8::1", 64, "2001:db8:0:0::/64"],
  ["::1", 64, "0:0:0:0::/64"],
  ["2001:db8:1:2ff:3:4:5:6", 56, "2001:db8:1:200::/56"],
  ["2001:db8:1:2::7", 48, "2001:db8:1::/48"],
  ["2001:db8::1", 128, "2001:db8::1"],
])("%s with /%d is %s", (address, prefixLength, network) => {
  expect(networkOf(address, prefixLength)).toBe(network);
});

test("addresses share a network exactly if their first bits are equal", () => {
  const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 });
  const bits = (address: readonly number[]) =>
    address.map((group) => group.toString(2).padStart(16, "0")).join("");
  const text = (address: readonly number[]) => address.map((group) => group.toString(16)).join(":");
  fc.assert(
    fc.property(groups, fc.nat(127), fc.integer({ min: 1, max: 127 }), (one, flipped, prefixLength) => {
      const other = [...one];
      const index = flipped >> 4;
      other[index] = (other[index] ?? 0) ^ (0x8000 >> (flipped & 15));
      const isSame = bits(one).slice(0, prefixLength) === bits(other).slice(0, prefixLength);
      expect(networkOf(text(one), prefixLength) === networkOf(text(other), prefixLength)).toBe(isSame);
    }),
    { numRuns: 2000 },
  );
});
