// Protects the console's origin from responses of providers: the admin listener passes unclaimed paths on to the data plane, so that
// one address serves both. A provider's page or script must not run where operators sign in.
import { errorResponse } from "../base/error-response.ts";
import { GatehouseError } from "../base/errors.ts";
import { requestIdFrom } from "../base/ids.ts";
import { isIP } from "node:net";

/** Destinations of fetch() and of clients that are no browsers. A browser states any other use in `Sec-Fetch-Dest`. */
const DATA_DESTINATIONS = new Set(["empty", ""]);

/** Makes a browser treat a response as an inert document of another origin, however it is opened. */
const SANDBOX = "sandbox; default-src 'none'";

/** With these a response changes what a browser keeps for its origin: cookies, also those of a session, and rules for later connections. */
const ORIGIN_HEADERS = ["set-cookie", "strict-transport-security", "alt-svc", "nel", "report-to"];

/** Returns an error if a browser would run or show the response: as a document, frame, script, worker, style, image. */
export function rejectBrowserDestination(request: Request): Response | null {
  const destination = request.headers.get("sec-fetch-dest") ?? "";
  if (DATA_DESTINATIONS.has(destination)) return null;
  const error = new GatehouseError(
    "cross_site_request",
    `The data plane on the admin listener does not serve browsers (Sec-Fetch-Dest: ${destination.slice(0, 40)}). Use PROXY_PORT.`,
  );
  return sandboxed(errorResponse(error, requestIdFrom(request.headers.get("x-request-id"))));
}

export function sandboxed(response: Response): Response {
  for (const name of ORIGIN_HEADERS) response.headers.delete(name);
  response.headers.set("Content-Security-Policy", SANDBOX);
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

/**
 * Whether a browser sends the request from a page of this listener, as the playgrounds of the console do. A name that an attacker
 * points at this address (DNS rebinding) also has an Origin that equals the Host. Such a name has no certificate, and is
 * neither an IP address nor localhost.
 */
export function isFromConsole({ headers }: Request): boolean {
  const origin = headers.get("origin");
  if (origin === null || !URL.canParse(origin)) return false;
  const { protocol, host, hostname } = new URL(origin);
  if (host === "" || host !== headers.get("host")?.toLowerCase()) return false;
  if (protocol === "https:") return true;
  return protocol === "http:" && (hostname === "localhost" || isIP(hostname.replaceAll(/[[\]]/g, "")) !== 0);
}

/**
 * Throws for a state-changing request that another site makes a browser send. The Admin API requires a token that no browser adds by
 * itself, so this is a second defense. `publicUrl` is the origin of the console if it is known from the settings.
 */
export function rejectCrossSite(request: Request, publicUrl: string | null): void {
  if (request.method === "GET" || request.method === "HEAD" || request.method === "OPTIONS") return;
  const site = request.headers.get("sec-fetch-site");
  const isForeign =
    site === null ? hasForeignOrigin(request, publicUrl) : site === "cross-site" || site === "same-site";
  if (isForeign)
    throw new GatehouseError("cross_site_request", "Another site must not send requests to the Admin API.");
}

/**
 * For browsers without fetch metadata: the Origin header names another host than the Host header, which a reverse proxy may have
 * replaced, and is not the known origin of the console.
 */
function hasForeignOrigin({ headers }: Request, publicUrl: string | null): boolean {
  const origin = headers.get("origin");
  if (origin === null || origin === publicUrl) return false;
  const host = headers.get("host") ?? "";
  return !URL.canParse(origin) || new URL(origin).host !== host;
}
