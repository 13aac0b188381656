// Which headers pass through, in both directions.
import type { ResponseHeaders } from "../upstream/response-headers.ts";

/** RFC 9110, section 7.6.1, and their relatives: they speak of one connection only. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** The client's provider credential: passed on only to a target that has none of its own. */
export const CREDENTIAL_HEADERS = ["authorization", "x-api-key", "api-key"] as const;

const NOT_FORWARDED = new Set([
  ...HOP_BY_HOP,
  ...CREDENTIAL_HEADERS,
  "host",
  "content-length",
  "expect",
  "cookie",
  "forwarded",
  "via",
  "x-real-ip",
  "x-client-ip",
  "client-ip",
  "true-client-ip",
  "cf-connecting-ip",
  "cf-connecting-ipv6",
  "fastly-client-ip",
  "fly-client-ip",
  "x-cluster-client-ip",
  "x-original-forwarded-for",
  "x-envoy-external-address",
  "x-appengine-user-ip",
  "x-azure-clientip",
  "x-azure-socketip",
  "x-vercel-forwarded-for",
  "x-forwarded",
  "forwarded-for",
  "x-remote-ip",
  "x-remote-addr",
  "x-originating-ip",
  "proxy-client-ip",
  "wl-proxy-client-ip",
]);

const NOT_ANSWERED = new Set(HOP_BY_HOP);

const OUR_PREFIX = "x-gw-";
const FORWARDING_PREFIX = "x-forwarded-";

/** The client's headers that go to a provider. Names arrive in lower case. */
export function forwardedHeaders(headers: Headers): Record<string, string> {
  const named = connectionNames(headers);
  const forwarded: Record<string, string> = {};
  headers.forEach((value, name) => {
    if (!isForwarded(name) || named?.has(name) === true) return;
    forwarded[name] = value;
  });
  return forwarded;
}

function isForwarded(name: string): boolean {
  // Many servers read `_` as `-`: a name that would become one of those above is not let through in disguise.
  const plain = name.includes("_") ? name.replaceAll("_", "-") : name;
  if (plain.charCodeAt(0) === 0x78 && (plain.startsWith(OUR_PREFIX) || plain.startsWith(FORWARDING_PREFIX)))
    return false;
  return !NOT_FORWARDED.has(plain);
}

/** What of a provider's words on its body is still true for the client. */
export interface StillTrue {
  readonly length: boolean;
  readonly encoding: boolean;
}

/** The headers of a provider's answer that go to the client; its own request id goes under another name. */
export function answeredHeaders(headers: ResponseHeaders, { length, encoding }: StillTrue): Headers {
  const named = connectionNames(headers);
  const answered = new Headers();
  const { names, values } = headers;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? "";
    if (NOT_ANSWERED.has(name) || named?.has(name) === true) continue;
    if ((name === "content-length" && !length) || (name === "content-encoding" && !encoding)) continue;
    const value = values[index] ?? "";
    if (name === "x-request-id") answered.append("X-GW-Provider-Request-Id", value);
    // These are our words to the client; a provider's own would be taken for them.
    else if (!name.startsWith(OUR_PREFIX)) answered.append(name, value);
  }
  return answered;
}

/** What `Connection` names is of this hop too, whatever it is. */
function connectionNames(headers: Pick<Headers, "get">): Set<string> | null {
  const connection = headers.get("connection");
  if (connection === null || connection === "keep-alive" || connection === "close") return null;
  return new Set(
    connection
      .toLowerCase()
      .split(",")
      .map((name) => name.trim())
      .filter(isToken),
  );
}

function isToken(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name);
}
