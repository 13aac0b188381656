// The checks of a request to an MCP service before its body is read: its site, its method, and its content types.
import { GatehouseError } from "../../base/errors.ts";
import type { Exchange } from "../exchange.ts";
import { requireInspectedMessages } from "../guarded-uploads.ts";
import { McpRequest } from "./mcp-request.ts";
import { rejectForeignSite } from "./reject-foreign-site.ts";
import type { ResourceParts } from "./resource-metadata.ts";

const METHODS = ["POST", "GET", "DELETE"];
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

export function enterMcp(exchange: Exchange, parts: ResourceParts): null {
  const { method, request } = exchange;
  const accept = request.headers.get("accept") ?? "";
  exchange.mcp = new McpRequest(prefersStream(accept));
  rejectForeignSite(exchange, parts);
  requireInspectedMessages(exchange);
  if (!METHODS.includes(method))
    throw new GatehouseError(
      "method_not_allowed",
      `Method ${method} is not allowed for an MCP endpoint. Use POST.`,
      {
        headers: { Allow: METHODS.join(", ") },
      },
    );
  if (method === "POST") {
    if (!JSON_TYPE.test(request.headers.get("content-type") ?? ""))
      throw new GatehouseError("unsupported_media_type", "The Content-Type must be application/json.");
    if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream"))
      throw notAcceptable("application/json and text/event-stream");
  } else if (method === "GET" && !accepts(accept, "text/event-stream"))
    throw notAcceptable("text/event-stream");
  return null;
}

function accepts(accept: string, type: string): boolean {
  const [group] = type.split("/");
  return accept.split(",").some((part) => {
    const range = part.split(";")[0]?.trim().toLowerCase();
    return range === type || range === "*/*" || range === `${group}/*`;
  });
}

const STREAM_FIRST = /^\s*text\/event-stream\s*,/i;

/**
 * Whether the client lists event streams before JSON, without weights. Both types are acceptable to it, and the order is the only
 * hint. The official SDKs list JSON first.
 */
function prefersStream(accept: string): boolean {
  return STREAM_FIRST.test(accept);
}

function notAcceptable(types: string): GatehouseError {
  return new GatehouseError("not_acceptable", `The Accept header must list ${types}.`);
}
