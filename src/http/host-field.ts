// Validates the Host header field of a request.
import { BoundedCache } from "../base/bounded-cache.ts";
import { GatehouseError } from "../base/errors.ts";

const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~-]+)(?::\d{1,5})?$/;

/** Host headers that were valid: every request has one, and there are few different ones. */
const validHosts = new BoundedCache<string, true>(1000);

/**
 * Repeated Host headers arrive joined by a comma. They are rejected, because proxies disagree on which one counts. So is a host that
 * is no authority of a URL (a port above 65535, an IPv4 address with a number above 255): Bun does not normalize the URLs of such requests.
 */
export function rejectInvalidHost(host: string | null): void {
  if (host === null || validHosts.get(host) === true) return;
  if (!HOST.test(host) || !URL.canParse(`http://${host}`))
    throw new GatehouseError("bad_request", `The Host header "${host.slice(0, 100)}" is not one valid host.`);
  validHosts.set(host, true);
}
