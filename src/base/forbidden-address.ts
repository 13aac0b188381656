// Addresses no provider lives at: link-local ranges and the metadata endpoints of clouds. A target there
// would hand the machine's own credentials to whoever writes the configuration.
import { BlockList, isIP } from "node:net";

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
]);

export function isForbiddenAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return forbidden.check(address, "ipv4");
  if (family !== 6) return false;
  const embedded = embeddedIpv4(address);
  return forbidden.check(address, "ipv6") || (embedded !== null && forbidden.check(embedded, "ipv4"));
}

/** As it stands in a URL: a name, an IPv4 address or a bracketed IPv6 address. */
export function isForbiddenHost(host: string): boolean {
  const bare = host
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return FORBIDDEN_NAMES.has(bare) || isForbiddenAddress(bare);
}

/** Where an IPv4 address stands inside an IPv6 one, by the groups before it: each of them can lead to the same machine. */
const EMBEDDINGS: readonly (readonly [prefix: readonly number[], at: number])[] = [
  [[0, 0, 0, 0, 0, 0xffff], 6], // mapped
  [[0, 0, 0, 0, 0xffff, 0], 6], // translated
  [[0, 0, 0, 0, 0, 0], 6], // compatible
  [[0x64, 0xff9b, 0, 0, 0, 0], 6], // NAT64
  [[0x2002], 1], // 6to4
];

function embeddedIpv4(address: string): string | null {
  const groups = groupsOf(address);
  for (const [prefix, at] of EMBEDDINGS) {
    if (!prefix.every((group, index) => groups[index] === group)) continue;
    const [high = 0, low = 0] = groups.slice(at, at + 2);
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  return null;
}

/** The eight groups of an IPv6 address. The URL parser writes a dotted tail as two of them. */
function groupsOf(address: string): number[] {
  const [head = "", tail] = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname
    .slice(1, -1)
    .split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  if (tail === undefined) return parse(head);
  const [before, after] = [parse(head), parse(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}
