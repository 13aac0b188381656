// Addresses no provider lives at: link-local ranges and the metadata endpoints of clouds. A target there
// would hand the machine's own credentials to whoever writes the configuration.
import { BlockList, isIP } from "node:net";

const forbidden = new BlockList();
forbidden.addSubnet("169.254.0.0", 16, "ipv4"); // link-local; AWS, Azure, Google, Oracle metadata
forbidden.addSubnet("fe80::", 10, "ipv6"); // link-local
forbidden.addAddress("fd00:ec2::254", "ipv6"); // AWS metadata
forbidden.addAddress("fd20:ce::254", "ipv6"); // Google metadata
forbidden.addAddress("100.100.100.200", "ipv4"); // Alibaba metadata
forbidden.addAddress("168.63.129.16", "ipv4"); // Azure's wire server

const FORBIDDEN_NAMES = new Set([
  "metadata",
  "metadata.google.internal",
  "instance-data",
  "instance-data.ec2.internal",
]);

export function isForbiddenAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return forbidden.check(address, "ipv4");
  if (family !== 6) return false;
  const mapped = mappedIpv4(address);
  return mapped === null ? forbidden.check(address, "ipv6") : forbidden.check(mapped, "ipv4");
}

/** As it stands in a URL: a name, an IPv4 address or a bracketed IPv6 address. */
export function isForbiddenHost(host: string): boolean {
  const bare = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return FORBIDDEN_NAMES.has(bare) || isForbiddenAddress(bare);
}

/** `::ffff:169.254.169.254` reaches the same machine; the URL parser writes it as `::ffff:a9fe:a9fe`. */
function mappedIpv4(address: string): string | null {
  const tail = /^(?:0{0,4}:){2,5}ffff:(.+)$/i.exec(address)?.[1];
  if (tail === undefined) return null;
  if (isIP(tail) === 4) return tail;
  const [high, low] = tail.split(":").map((group) => Number.parseInt(group, 16));
  if (high === undefined || low === undefined) return null;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
