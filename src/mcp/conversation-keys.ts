// Derives the secrets of conversations of MCP clients. Every node with the same server secret derives the
// same ones, without any state.
import { createHmac, hkdfSync } from "node:crypto";
import type { SessionOwner } from "./session-seal.ts";

export interface Conversation {
  readonly owner: SessionOwner;
  /** Distinguishes the users of one API key. */
  readonly user: string;
  /** The nonce of the session; null for all requests of the user without a session. */
  readonly session: string | null;
}

export class ConversationKeys {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "gatehouse mcp conversations", 32));
  }

  /**
   * Returns 43 base64url characters. Plugins with other names get other ones, so that none knows what another
   * one derives from them.
   */
  keyOf({ owner, user, session }: Conversation, plugin: string): string {
    const { gatewayId, serviceId, client } = owner;
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([gatewayId, serviceId, client, user, session, plugin]))
      .digest("base64url");
  }
}
