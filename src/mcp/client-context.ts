// Everything that serving one request of a client needs: the service and its servers, what the client may use, and the links
// to the servers.
import type { ItemAccess } from "./item-access.ts";
import type { MessageText } from "./json-rpc.ts";
import type { MessageRefusal } from "./message-refusal.ts";
import type { RequestObserver } from "./observe-request.ts";
import type { PublicNames } from "./public-names.ts";
import type { ServerLinks } from "./server-links.ts";
import type { McpServerTarget } from "./server-target.ts";
import type { StreamPlace } from "./session-seal.ts";
import type { ClientDescription } from "./server-link.ts";

/** Where messages to the client go that precede the response, and what inspects them. */
export interface ClientSink {
  /**
   * `text` is a JSON-RPC message, or empty for an event that has only an id. The caller waits before it sends more. Resolves to null, or to
   * the refusal of a message that is not sent: its event then has only an id.
   */
  send(text: MessageText, eventId: string | null, retry: number | null): Promise<MessageRefusal | null>;
  /** Whether plugins inspect the parts of servers in a merged result, instead of the result. */
  readonly inspectsParts: boolean;
  /** `part` is a response with the part of one server. Resolves to `part` itself if no plugin changes it. */
  inspectPart(part: MessageText): Promise<MessageText | MessageRefusal>;
}

export interface ClientContext {
  readonly gatewayId: string;
  /** The servers of the service of which the client may use something. */
  readonly servers: readonly McpServerTarget[];
  readonly names: PublicNames<McpServerTarget>;
  readonly client: ClientDescription;
  readonly links: ServerLinks;
  /** Null: the client may use everything. */
  readonly access: ItemAccess | null;
  /** Returns a header field of the client's request. */
  readonly header: (name: string) => string | null;
  readonly signal: AbortSignal;
  readonly sink: ClientSink;
  /** A server asks the client a question during the request. `id` is the one that the client gets. */
  readonly onQuestion: (id: string) => void;
  /** Returns the id of an event as the client gets it; null if the client cannot resume the stream there. */
  readonly sealPlace: (place: StreamPlace) => string | null;
  readonly observer: RequestObserver;
}
