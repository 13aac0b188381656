// The addresses of a provider's name, kept away from link-local and metadata ones. What is checked here is what is
// connected to: a name that resolves differently a moment later changes nothing.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isForbiddenAddress, isForbiddenHost } from "../base/forbidden-address.ts";
import { UpstreamError } from "./upstream-error.ts";

const KEPT_MS = 30_000;
const MAX_NAMES = 1000;

interface Resolved {
  readonly addresses: readonly string[];
  readonly until: number;
}

const names = new Map<string, Resolved>();

/** In the order in which they should be tried. Rejects with an UpstreamFault. */
export async function addressesOf(name: string): Promise<readonly string[]> {
  const known = names.get(name);
  if (known !== undefined && known.until > performance.now()) return known.addresses;
  const addresses = isIP(name) === 0 ? await resolve(name) : [name];
  if (addresses.some(isForbiddenAddress)) throw new UpstreamError("forbidden");
  if (names.size >= MAX_NAMES) names.clear();
  names.set(name, { addresses, until: performance.now() + KEPT_MS });
  return addresses;
}

async function resolve(name: string): Promise<string[]> {
  if (isForbiddenHost(name)) throw new UpstreamError("forbidden");
  try {
    const found = await lookup(name, { all: true });
    return found.map(({ address }) => address);
  } catch (cause) {
    throw new UpstreamError("unreachable", cause);
  }
}
