// IP addresses in one canonical spelling, so that equal addresses are equal texts.
import { isIP } from "node:net";

/**
 * Returns the canonical spelling (RFC 5952) of an IP address, or the text itself if it is none. An IPv4-mapped IPv6 address, as an IPv6
 * socket reports an IPv4 peer, becomes IPv4. A zone (`%eth0`) is removed.
 */
export function canonicalAddress(text: string): string {
  if (!text.includes(":")) return text;
  const address = text.replace(/%.*$/, "");
  if (isIP(address) !== 6) return text;
  const groups = ipv6Groups(address);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? ipv4At(groups, 6) : new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** Returns the eight groups of an IPv6 address. The URL parser converts a dotted IPv4 part to two groups. */
export function ipv6Groups(address: string): number[] {
  const [left = "", right] = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname
    .slice(1, -1)
    .split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  if (right === undefined) return parse(left);
  const [before, after] = [parse(left), parse(right)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** Returns the IPv4 address that two groups of an IPv6 address contain. */
export function ipv4At(groups: readonly number[], index: number): string {
  const [high = 0, low = 0] = groups.slice(index, index + 2);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
