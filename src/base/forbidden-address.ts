// Addresses that targets must not have: link-local ranges and the metadata endpoints of clouds. A target with such an
// address would give the machine's cloud credentials to anyone who may write the configuration (SSRF).
import { BlockList, isIP } from "node:net";
import { ipv6Groups } from "./ip-address.ts";

const forbidden = new BlockList();
forbidden.addSubnet("169.254.0.0", 16, "ipv4"); // link-local; AWS, Azure, Google, Oracle metadata
forbidden.addSubnet("fe80::", 10, "ipv6"); // link-local
forbidden.addAddress("fd00:ec2::254", "ipv6"); // AWS metadata
forbidden.addAddress("fd00:ec2::23", "ipv6"); // AWS credentials of pods
forbidden.addAddress("fd20:ce::254", "ipv6"); // Google metadata
forbidden.addAddress("100.100.100.200", "ipv4"); // Alibaba metadata
forbidden.addAddress("192.0.0.192", "ipv4"); // Oracle metadata, older
forbidden.addAddress("168.63.129.16", "ipv4"); // Azure's wire server

const FORBIDDEN_NAMES = new Set([
  "metadata",
  "metadata.google.internal",
  "instance-data",
  "instance-data.ec2.internal",
  "metadata.goog",
  "metadata.azure.internal",
  "metadata.tencentyun.com",
  "metadata.platformequinix.com",
]);

export function isForbiddenAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return forbidden.check(address, "ipv4");
  if (family !== 6) return false;
  return (
    forbidden.check(address, "ipv6") || embeddedIpv4(address).some((each) => forbidden.check(each, "ipv4"))
  );
}

/** `host` is the host of a URL: a name, an IPv4 address, or an IPv6 address in brackets. */
export function isForbiddenHost(host: string): boolean {
  const bare = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return FORBIDDEN_NAMES.has(bare) || isForbiddenAddress(bare);
}

const LAST_BYTES = [12, 13, 14, 15];

/**
 * IPv6 addresses that contain an IPv4 address and may lead to the same machine: the leading groups, and the positions of the
 * bytes of the IPv4 address.
 */
const EMBEDDINGS: readonly (readonly [prefix: readonly number[], bytes: readonly number[]])[] = [
  [[0, 0, 0, 0, 0, 0xffff], LAST_BYTES], // mapped
  [[0, 0, 0, 0, 0xffff, 0], LAST_BYTES], // translated
  [[0, 0, 0, 0, 0, 0], LAST_BYTES], // compatible
  [[0x64, 0xff9b, 0, 0, 0, 0], LAST_BYTES], // NAT64
  // NAT64 with a local prefix (RFC 8215): a /96 inside it is usual, a /48, /56 or /64 possible (RFC 6052, section 2.2).
  [[0x64, 0xff9b, 1], LAST_BYTES],
  [
    [0x64, 0xff9b, 1],
    [6, 7, 9, 10],
  ],
  [
    [0x64, 0xff9b, 1],
    [7, 9, 10, 11],
  ],
  [
    [0x64, 0xff9b, 1],
    [9, 10, 11, 12],
  ],
  [[0x2002], [2, 3, 4, 5]], // 6to4
];

function embeddedIpv4(address: string): string[] {
  const groups = ipv6Groups(address);
  const byteAt = (position: number) => ((groups[position >> 1] ?? 0) >> (position % 2 === 0 ? 8 : 0)) & 255;
  return EMBEDDINGS.filter(([prefix]) => prefix.every((group, index) => groups[index] === group)).map(
    ([, bytes]) => bytes.map(byteAt).join("."),
  );
}
