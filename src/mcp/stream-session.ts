// The session with a server that one subscription of a stateless client uses: servers may allow one stream per session, and keep subscriptions
// to resources until the session ends.
import type { FederationParts } from "./federation.ts";
import type { ServerLinks } from "./server-links.ts";
import { endSession, isSessionLost, type ServerLink } from "./server-link.ts";
import type { McpServerTarget } from "./server-target.ts";

export class StreamSession {
  readonly #links: ServerLinks;
  readonly #server: McpServerTarget;
  readonly #parts: FederationParts;
  /** Null before the session, and if the server keeps none. */
  #link: ServerLink | null = null;

  constructor(links: ServerLinks, server: McpServerTarget, parts: FederationParts) {
    this.#links = links;
    this.#server = server;
    this.#parts = parts;
  }

  /** Calls `run` with the link. If the server has lost the session, the next call starts another one. */
  async use(run: (link: ServerLink) => Promise<void>): Promise<void> {
    const link = this.#link ?? (await this.#links.start(this.#server));
    this.#link = link.sessionId === null ? null : link;
    try {
      await run(link);
    } catch (error) {
      if (isSessionLost(error, link)) this.#link = null;
      throw error;
    }
  }

  /** Does not wait for the server. */
  end(): void {
    if (this.#link !== null) void endSession(this.#link, this.#parts);
    this.#link = null;
  }
}
