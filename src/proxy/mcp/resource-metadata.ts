// Metadata of MCP endpoints that accept tokens (RFC 9728): where clients find the issuers, and where clients find the metadata.
import { isLoopback } from "../../config/loopback.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { Exchange } from "../exchange.ts";
import { matchRule, type Matched } from "../match-rule.ts";
import { gatewayOfHost } from "../resolve-gateway.ts";

/** RFC 9728, section 3.1: it precedes the path of the resource. */
const WELL_KNOWN = "/.well-known/oauth-protected-resource";

export interface ResourceParts {
  readonly baseDomain: string | null;
  /** Setting PUBLIC_URL. */
  readonly publicUrl: string | null;
}

/** Responds to a request for the metadata of an MCP endpoint. Returns null for any other: the path may be that of a rule. */
export function respondWithResourceMetadata(
  exchange: Exchange,
  parts: ResourceParts,
): OutgoingResponse | null {
  const { path, method, requestId } = exchange;
  if (!path.startsWith(WELL_KNOWN) || (method !== "GET" && method !== "HEAD")) return null;
  const resourcePath = path.slice(WELL_KNOWN.length);
  if (resourcePath !== "" && !resourcePath.startsWith("/")) return null;
  const found = findEndpoint(exchange, resourcePath, parts);
  if (found === null) return null;
  const { matched, rulePath } = found;
  exchange.gateway = matched.gateway;
  const { origin, basePath } = publicBase(exchange, matched.gateway, parts);
  const issuers = (matched.rule.jwtIssuers ?? []).map(({ issuer }) => issuer);
  return OutgoingResponse.json(
    {
      resource: origin + basePath + (rulePath === "/" ? "" : rulePath),
      authorization_servers: [...new Set(issuers)],
      bearer_methods_supported: ["header"],
    },
    { headers: { "X-Request-Id": requestId } },
  );
}

/** Returns the address of the metadata of the endpoint that the request is for. */
export function metadataAddress(exchange: Exchange, gateway: CompiledGateway, parts: ResourceParts): string {
  const { origin, basePath } = publicBase(exchange, gateway, parts);
  const path = exchange.path === "/" ? "" : exchange.path;
  // As a URL, it contains no character that would end a quoted string.
  return new URL(origin + WELL_KNOWN + basePath + path).href;
}

/** A proxy may keep the path of PUBLIC_URL, or remove it. */
function findEndpoint(
  exchange: Exchange,
  resourcePath: string,
  parts: ResourceParts,
): { readonly matched: Matched; readonly rulePath: string } | null {
  const paths = [resourcePath === "" ? "/" : resourcePath];
  const prefix = parts.publicUrl === null ? "" : pathOf(new URL(parts.publicUrl));
  if (prefix !== "" && `${resourcePath}/`.startsWith(`${prefix}/`))
    paths.unshift(resourcePath.slice(prefix.length) || "/");
  for (const rulePath of paths) {
    const matched = matchEndpoint(exchange, rulePath, gatewayOfHost(exchange, parts.baseDomain));
    if (matched !== null) return { matched, rulePath };
  }
  return null;
}

function matchEndpoint(
  { request, snapshot }: Exchange,
  path: string,
  gateway: CompiledGateway | null,
): Matched | null {
  try {
    const matched = matchRule({ path, method: "POST", request, snapshot }, gateway);
    return matched.rule.jwtIssuers === null ? null : matched;
  } catch {
    // No rule, or rules of several gateways.
    return null;
  }
}

/** PUBLIC_URL is the address of the whole data plane; a gateway with a subdomain is only reached at its own host. */
function publicBase(
  exchange: Exchange,
  gateway: CompiledGateway,
  { publicUrl, baseDomain }: ResourceParts,
): { readonly origin: string; readonly basePath: string } {
  const host = exchange.request.headers.get("host") ?? "localhost";
  const configured = publicUrl === null ? null : new URL(publicUrl);
  const isAtSubdomain = baseDomain !== null && gatewayOfHost(exchange, baseDomain) === gateway;
  if (configured !== null && !isAtSubdomain)
    return { origin: configured.origin, basePath: pathOf(configured) };
  const { hostname } = new URL(`http://${host}`);
  // OAuth requires https except on loopback addresses; the gateway itself is usually behind a proxy that terminates TLS.
  const scheme = isLoopback(hostname.replaceAll(/[[\]]/g, "")) ? "http:" : "https:";
  return { origin: `${configured?.protocol ?? scheme}//${host}`, basePath: "" };
}

function pathOf({ pathname }: URL): string {
  return pathname.replace(/\/+$/, "");
}
