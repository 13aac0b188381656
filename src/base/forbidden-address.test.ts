// Forbidden addresses, in every notation that leads to them.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isForbiddenAddress, isForbiddenHost } from "./forbidden-address.ts";

const byte = fc.nat({ max: 255 });
const hostOf = (authority: string) => new URL(`http://${authority}/`).hostname;

describe("isForbiddenAddress", () => {
  test("every address of 169.254.0.0/16, also mapped into IPv6", () => {
    fc.assert(
      fc.property(byte, byte, (c, d) => {
        const address = `169.254.${c}.${d}`;
        expect(isForbiddenAddress(address)).toBe(true);
        expect(isForbiddenAddress(`::ffff:${address}`)).toBe(true);
        expect(isForbiddenHost(hostOf(`[::ffff:${address}]`))).toBe(true);
      }),
    );
  });

  test("every address of fe80::/10", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0xfe80, max: 0xfebf }), fc.nat({ max: 0xffff }), (first, last) => {
        expect(isForbiddenAddress(`${first.toString(16)}::${last.toString(16)}`)).toBe(true);
      }),
    );
  });

  test("other IPv4 addresses are allowed, mapped or not", () => {
    const metadata = new Set(["100.100.100.200", "168.63.129.16"]);
    fc.assert(
      fc.property(byte, byte, byte, byte, (a, b, c, d) => {
        const address = `${a}.${b}.${c}.${d}`;
        fc.pre(!(a === 169 && b === 254) && !metadata.has(address));
        expect(isForbiddenAddress(address)).toBe(false);
        expect(isForbiddenAddress(`::ffff:${address}`)).toBe(false);
      }),
    );
  });

  test.each([
    "100.100.100.200",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254",
    "FE80::1",
    "::FFFF:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "64:ff9b:1:ffff::808:808",
    "2002:a9fe:a9fe::1",
  ])("%s is forbidden", (address) => expect(isForbiddenAddress(address)).toBe(true));

  test.each([
    "127.0.0.1",
    "10.0.0.1",
    "::1",
    "fec0::1",
    "fd00:ec2::253",
    "64:ff9b::808:808",
    "64:ff9b:2::1",
    "2001:db8::1",
    "169.255.0.1",
    "",
    "x",
  ])("%p is allowed", (address) => expect(isForbiddenAddress(address)).toBe(false));
});

describe("isForbiddenHost", () => {
  test("every number that a URL parser converts to the same address", () => {
    for (const spelled of [
      "2852039166",
      "0xa9fea9fe",
      "0251.0376.0251.0376",
      "169.254.43518",
      "169.16689662",
      "169.254.169.254.",
    ]) {
      expect(isForbiddenHost(hostOf(spelled))).toBe(true);
    }
  });

  test.each([
    "metadata",
    "Metadata.Google.Internal",
    "metadata.google.internal.",
    "instance-data",
    "[fe80::1]",
  ])("%s is forbidden", (host) => expect(isForbiddenHost(host)).toBe(true));

  test.each([
    "api.openai.com",
    "localhost",
    "metadata.example.com",
    "my-metadata",
    "[::1]",
    "169.254.169.254.example.com",
  ])("%s is allowed", (host) => expect(isForbiddenHost(host)).toBe(false));
});
