// The network of a client address: one IPv4 address, or the IPv6 prefix that a provider assigns to one customer.

/**
 * Returns the IPv6 network of `prefixLength` bits, such as `2001:db8:0:1::/64`, or any other address unchanged. One customer has a whole
 * /64 and could use a new address for every request. `address` has its canonical spelling.
 */
export function networkOf(address: string, prefixLength: number): string {
  if (!address.includes(":") || prefixLength >= 128) return address;
  const [left = "", right] = address.split("::");
  const leading = left === "" ? [] : left.split(":");
  const trailing = right === undefined || right === "" ? [] : right.split(":");
  const zeros = new Array<string>(Math.max(0, 8 - leading.length - trailing.length)).fill("0");
  const groups = right === undefined ? leading : [...leading, ...zeros, ...trailing];
  const kept = groups.map((group, index) => {
    const bits = Math.min(16, Math.max(0, prefixLength - index * 16));
    return (Number.parseInt(group, 16) & (0xffff << (16 - bits)) & 0xffff).toString(16);
  });
  return `${kept.slice(0, Math.ceil(prefixLength / 16)).join(":")}::/${prefixLength}`;
}
