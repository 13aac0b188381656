// Decides which header fields are forwarded to a provider and relayed to a client.
import type { OwnCredentials } from "./own-credentials.ts";
import type { HeaderFields } from "../http/header-fields.ts";

/** Fields that concern one connection only: RFC 9110, section 7.6.1, and related ones. */
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

/** Fields with the client's provider credential, which is forwarded only to a target without a credential. */
export const CREDENTIAL_HEADERS = [
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
] as const;

const NOT_FORWARDED = new Set([
  ...HOP_BY_HOP,
  ...CREDENTIAL_HEADERS,
  // The gateway makes its own handshakes (RFC 6455, section 11.3). A plugin that inspects headers could take a
  // random key for code.
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
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
  // Some servers take the method or the path from these instead of the request line.
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
]);

/** Fields by which the gateway reads the body. Under another spelling, a server would read another body than the one that was inspected. */
const BODY_FIELDS = new Set(["content-type", "content-encoding"]);

const NOT_RELAYED = new Set([
  ...HOP_BY_HOP,
  // A web server in front of the gateway would send a file of its own.
  "x-sendfile",
  "x-lighttpd-send-file",
  // These would act on the whole origin: they let a script take over all pages, or delete the data of the console.
  "service-worker-allowed",
  "clear-site-data",
]);

/** nginx acts on these: `X-Accel-Redirect` makes it send another request, to a path that the provider chose. */
const NGINX_PREFIX = "x-accel-";

const GATEWAY_PREFIX = "x-gw-";
const FORWARDING_PREFIX = "x-forwarded-";

/** Returns the client's headers that are forwarded to a provider, with names in lower case, without credentials of this gateway. */
export function forwardedHeaders(
  headers: HeaderFields,
  ownCredentials: OwnCredentials,
): Record<string, string> {
  const connectionFields = connectionNames(headers);
  const forwarded: Record<string, string> = {};
  const { names } = headers;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? "";
    if (!isForwarded(name) || connectionFields?.has(name) === true) continue;
    const value = headers.joinedAt(index);
    if (value !== null && !ownCredentials.areIn(value)) forwarded[name] = value;
  }
  return forwarded;
}

function isForwarded(name: string): boolean {
  // Many servers treat `_` like `-`, so a field that is not forwarded must not pass under that spelling either.
  const plain = name.includes("_") ? name.replaceAll("_", "-") : name;
  if (
    plain.charCodeAt(0) === 0x78 &&
    (plain.startsWith(GATEWAY_PREFIX) || plain.startsWith(FORWARDING_PREFIX))
  )
    return false;
  return !NOT_FORWARDED.has(plain) && (plain === name || !BODY_FIELDS.has(plain));
}

/** Which of the provider's statements about the body still hold for the body that the client gets. */
interface KeptFields {
  readonly keepsLength: boolean;
  readonly keepsEncoding: boolean;
}

/** Adds the provider's headers that are relayed to the client to `relayed`. Its request id is relayed under another name. */
export function relayHeaders(
  headers: HeaderFields,
  { keepsLength, keepsEncoding }: KeptFields,
  relayed: HeaderFields,
): void {
  const connectionFields = connectionNames(headers);
  const { names, values } = headers;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? "";
    if (NOT_RELAYED.has(name) || connectionFields?.has(name) === true) continue;
    if (name.startsWith(NGINX_PREFIX)) continue;
    if (name === "content-length" && !keepsLength) continue;
    if (name === "content-encoding" && !keepsEncoding) continue;
    const value = values[index] ?? "";
    if (name === "x-request-id") relayed.append("X-GW-Provider-Request-Id", value);
    // X-GW-* fields are statements of the gateway. The client could not tell a provider's from them.
    else if (!name.startsWith(GATEWAY_PREFIX)) relayed.add(name, value);
  }
}

/** Returns the fields that `Connection` names: they concern this connection only (RFC 9110, section 7.6.1). */
function connectionNames(headers: HeaderFields): Set<string> | null {
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
