// Addresses that targets must not have: link-local ranges and the metadata endpoints of clouds. A target with such an
// address would give the machine's cloud credentials to anyone who may write the configuration (SSRF).
import { BlockList, isIP } from "node:net";
import { ipv4At, ipv6Groups } from "./ip-address.ts";

const forbidden = new BlockList();
forbidden.addSubnet("169.254.0.0", 16, "ipv4"); // link-local; AWS, Azure, Google, Oracle metadata
forbidden.addSubnet("fe80::", 10, "ipv6"); // link-local
// NAT64 with a local prefix (RFC 8215): where such an address contains the IPv4 address depends on the network.
forbidden.addSubnet("64:ff9b:1::", 48, "ipv6");
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
  const embedded = embeddedIpv4(address);
  return forbidden.check(address, "ipv6") || (embedded !== null && forbidden.check(embedded, "ipv4"));
}

/** `host` is the host of a URL: a name, an IPv4 address, or an IPv6 address in brackets. */
export function isForbiddenHost(host: string): boolean {
  const bare = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return FORBIDDEN_NAMES.has(bare) || isForbiddenAddress(bare);
}

/**
 * IPv6 addresses that contain an IPv4 address and may lead to the same machine: the leading groups, and the index of the
 * first of the two groups with the IPv4 address.
 */
const EMBEDDINGS: readonly (readonly [prefix: readonly number[], at: number])[] = [
  [[0, 0, 0, 0, 0, 0xffff], 6], // mapped
  [[0, 0, 0, 0, 0xffff, 0], 6], // translated
  [[0, 0, 0, 0, 0, 0], 6], // compatible
  [[0x64, 0xff9b, 0, 0, 0, 0], 6], // NAT64
  [[0x2002], 1], // 6to4
];

function embeddedIpv4(address: string): string | null {
  const groups = ipv6Groups(address);
  for (const [prefix, at] of EMBEDDINGS) {
    if (!prefix.every((group, index) => groups[index] === group)) continue;
    return ipv4At(groups, at);
  }
  return null;
}
