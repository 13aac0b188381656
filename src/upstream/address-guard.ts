// Keeps requests away from link-local and metadata addresses that a provider's name may resolve to.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isForbiddenAddress, isForbiddenHost } from "../base/forbidden-address.ts";

/** As long as the runtime itself keeps a resolved name. */
const KEPT_MS = 30_000;
const MAX_NAMES = 1000;

interface Verdict {
  readonly isForbidden: boolean;
  readonly until: number;
}

const verdicts = new Map<string, Verdict>();

/** Answers at once for addresses and for names it has looked up lately. */
export function isForbiddenUpstream(host: string): boolean | Promise<boolean> {
  const bare = host.startsWith("[") ? host.slice(1, -1) : host;
  if (isIP(bare) !== 0) return isForbiddenAddress(bare);
  const verdict = verdicts.get(bare);
  if (verdict !== undefined && verdict.until > performance.now()) return verdict.isForbidden;
  return lookUp(bare);
}

async function lookUp(name: string): Promise<boolean> {
  if (isForbiddenHost(name)) return true;
  let isForbidden = false;
  try {
    const found = await lookup(name, { all: true });
    isForbidden = found.some(({ address }) => isForbiddenAddress(address));
  } catch {
    // A name that does not resolve is the connection's fault to report, and may resolve next time.
    return false;
  }
  if (verdicts.size >= MAX_NAMES) verdicts.clear();
  verdicts.set(name, { isForbidden, until: performance.now() + KEPT_MS });
  return isForbidden;
}
