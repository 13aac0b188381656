// Accepts a token (JWT) instead of an API key at MCP endpoints of gateways with `jwt_issuers`.
import { GatehouseError } from "../../base/errors.ts";
import { sha256 } from "../../base/sha256.ts";
import { ToolPatterns } from "../../mcp/tool-patterns.ts";
import type { TokenVerifier, VerifiedToken } from "../../mcp/tokens/token-verifier.ts";
import type { JwtIssuer } from "../../model/jwt-issuer.ts";
import type { CompiledApiKey, CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { labelSetOf } from "../../usage/label-set.ts";
import { apiKeyRequired, requiresKey } from "../authenticate.ts";
import type { Exchange } from "../exchange.ts";
import { isBearerKey } from "../sent-api-key.ts";
import { metadataAddress, type ResourceParts } from "./resource-metadata.ts";

const BEARER = /^bearer(?: |$)/i;
/** RFC 6750, section 2.1. Repeated headers arrive as one value with commas, which this does not match. */
const BEARER_TOKEN = /^bearer +([\w.~+/-]+=*) *$/i;
const BASIC = /^basic +(\S+)/i;

export interface TokenParts extends ResourceParts {
  readonly requireApiKey: boolean;
}

/** The endpoint that the request is for. */
interface TokenEndpoint {
  readonly gateway: CompiledGateway;
  readonly rule: CompiledRule;
  readonly issuers: readonly JwtIssuer[];
}

/** Sets the client that the token identifies. `verifier` resolves to null where requests are only explained. */
export async function acceptToken(
  exchange: Exchange,
  { gateway, rule, issuers }: TokenEndpoint,
  parts: TokenParts,
  verifier: () => Promise<TokenVerifier | null>,
): Promise<null> {
  try {
    const authorization = exchange.request.headers.get("authorization");
    if (authorization === null || !BEARER.test(authorization) || isBearerKey(authorization)) {
      if (exchange.apiKey === null && requiresKey(rule, parts.requireApiKey)) throw apiKeyRequired();
      return null;
    }
    if (exchange.apiKey !== null)
      throw invalidToken("The request has an API key and a token. Send only one.");
    const token = BEARER_TOKEN.exec(authorization)?.[1];
    if (token === undefined) throw invalidToken("The Authorization header does not have exactly one token.");
    const loaded = await verifier();
    if (loaded === null)
      throw invalidToken("Tokens are not verified in an explanation. Explain the request with an API key.");
    const verified = await loaded.verify(token, issuers, gateway.id);
    // The exchange does not listen for a disconnect yet.
    if (exchange.request.isDisconnected) throw new UpstreamError("client_left");
    removeToken(exchange, token);
    exchange.apiKey = clientOf(verified, gateway.id);
    return null;
  } catch (error) {
    if (error instanceof GatehouseError && error.status === 401) challenge(exchange, gateway, error, parts);
    throw error;
  }
}

/** RFC 9728, section 5.1. Set on the exchange, so that scripts of allowed websites may read it. */
function challenge(
  exchange: Exchange,
  gateway: CompiledGateway,
  { code }: GatehouseError,
  parts: TokenParts,
): void {
  // RFC 6750, section 3.1: no error code for a request without a token.
  const error = code === "invalid_token" ? 'error="invalid_token", ' : "";
  const address = metadataAddress(exchange, gateway, parts);
  exchange.setResponseHeader("WWW-Authenticate", `Bearer ${error}resource_metadata="${address}"`);
}

/** No later step sees the token: neither servers nor plugins get it. The token names the user, so a client must not. */
function removeToken({ request: { headers } }: Exchange, token: string): void {
  const names = ["authorization", "x-user-id"];
  for (const [name, value] of headers.entries()) {
    const encoded = BASIC.exec(value)?.[1];
    const decoded = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("latin1");
    if (value.includes(token) || decoded.includes(token)) names.push(name);
  }
  for (const name of names) headers.delete(name);
}

/** The client in the form of an API key, so that limits, budgets, tools and sessions apply to it. */
function clientOf(
  { issuer, user, labels, tools, expiresAt }: VerifiedToken,
  gatewayId: string,
): CompiledApiKey {
  return {
    id: `jwt_${sha256(JSON.stringify([gatewayId, issuer, user]))}`,
    // Budgets and game days name keys: a token must not be taken for the key whose name its user has.
    name: `jwt:${user}`,
    user,
    hash: "",
    gatewayId,
    policies: null,
    expiresAt,
    models: null,
    tools: tools === null ? null : new ToolPatterns(tools),
    labels: labelSetOf(labels),
    labelValues: labels,
  };
}

function invalidToken(message: string): GatehouseError {
  return new GatehouseError("invalid_token", message);
}
