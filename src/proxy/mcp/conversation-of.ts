// Which conversation a request of an MCP client belongs to.
import { randomBytes } from "node:crypto";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import type { Conversation } from "../../mcp/conversation-keys.ts";
import type { ClientSession } from "../../mcp/session-seal.ts";
import type { Exchange } from "../exchange.ts";
import { hasTrustedUser, userKeyOf } from "../user-of.ts";
import { ownerOf } from "./read-mcp-body.ts";

/**
 * Its session, else all requests of its user to the service. Without a session, an API key or a user that is
 * trusted, anybody may have sent it: then it is a conversation of its own.
 */
export function conversationOf(
  exchange: Exchange,
  service: CompiledMcpService,
  session: ClientSession | null,
): Conversation {
  const owner = ownerOf(exchange, service);
  if (session !== null) return { owner, user: "", session: session.nonce };
  if (exchange.apiKey === null && !hasTrustedUser(exchange))
    return { owner, user: "", session: randomBytes(16).toString("base64url") };
  return { owner, user: userKeyOf(exchange), session: null };
}
