// Decides for each message of a client, and while nothing is sent, whether its WebSocket may continue.
import { LargeMessage, type ReceivedMessage } from "../../http/websocket/messages.ts";
import { ClientPermission, type PermissionParts, type Refusal } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";
import { forbiddenModelIn } from "./message-models.ts";
import type { NamedModels } from "./read-client-message-task.ts";

const MODEL_NOT_ALLOWED: Refusal = {
  code: "model_not_allowed",
  reason: "This API key may not use the model in a message.",
};

const NOT_INSPECTED: Refusal = {
  code: "guard_not_applicable",
  reason: "The gateway now has a plugin that cannot inspect messages of WebSockets.",
};

export class SocketPermission {
  readonly #client: ClientPermission;

  constructor(exchange: Exchange, parts: PermissionParts) {
    this.#client = new ClientPermission(exchange, parts);
  }

  /** Returns why the WebSocket must not stay open, or null. */
  refusal(): Refusal | null {
    const refusal = this.#client.refusal();
    if (refusal !== null) return refusal;
    const guards = this.#client.rule?.guards ?? null;
    return guards !== null && guards.realtime !== null ? NOT_INSPECTED : null;
  }

  /** Returns why the message must not reach the provider, or null. The models of a large one are known when it is read. */
  refusalOf(message: ReceivedMessage): Refusal | null {
    const refusal = this.refusal();
    if (refusal !== null || message instanceof LargeMessage) return refusal;
    const models = this.#client.key?.models ?? null;
    return models !== null && forbiddenModelIn(message, models) !== null ? MODEL_NOT_ALLOWED : null;
  }

  /** Returns why a message that names these models must not reach the provider, or null. */
  refusalOfModels(named: NamedModels): Refusal | null {
    const refusal = this.refusal();
    if (refusal !== null) return refusal;
    const models = this.#client.key?.models ?? null;
    if (models === null) return null;
    return named !== "too_many" && named.every((model) => models.allows(model)) ? null : MODEL_NOT_ALLOWED;
  }
}
