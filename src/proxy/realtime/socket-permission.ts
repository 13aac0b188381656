// Decides for each message of a client whether its WebSocket may continue. The configuration may have changed since the
// handshake: a WebSocket can be open for hours, so a revoked key must not keep it.
import type { ErrorCode } from "../../base/errors.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { CompiledApiKey } from "../../snapshot/compile.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { isAllowed } from "../authenticate.ts";
import type { Exchange } from "../exchange.ts";
import { forbiddenModelIn } from "./message-models.ts";

/** Why a WebSocket is closed; `reason` is sent in the close frame. */
interface Refusal {
  readonly code: ErrorCode;
  readonly reason: string;
}

const KEY_INVALID: Refusal = {
  code: "invalid_api_key",
  reason: "The API key has expired, was revoked, or may not use this rule any more.",
};
const MODEL_NOT_ALLOWED: Refusal = {
  code: "model_not_allowed",
  reason: "This API key may not use the model in a message.",
};
const GATEWAY_DELETED: Refusal = { code: "rule_not_found", reason: "The gateway was deleted." };

export class SocketPermission {
  readonly #exchange: Exchange;
  readonly #current: Pick<CurrentConfiguration, "snapshot">;
  /** The configuration in which `#key` was looked up. */
  #snapshot: Snapshot;
  /** The API key as it is now; null if it is revoked or the client sent none. */
  #key: CompiledApiKey | null;

  constructor(exchange: Exchange, current: Pick<CurrentConfiguration, "snapshot">) {
    this.#exchange = exchange;
    this.#current = current;
    this.#snapshot = exchange.snapshot;
    this.#key = exchange.apiKey;
  }

  /** Returns why the message must not reach the provider, or null. */
  refusalOf(message: string | Uint8Array): Refusal | null {
    const { gateway, apiKey } = this.#exchange;
    const { snapshot } = this.#current;
    if (snapshot !== this.#snapshot) {
      this.#snapshot = snapshot;
      this.#key = apiKey === null ? null : (snapshot.apiKeysByHash.get(apiKey.hash) ?? null);
    }
    if (gateway !== null && snapshot.gateways.get(gateway.id) === undefined) return GATEWAY_DELETED;
    return apiKey === null ? null : this.#refusalOfKey(message, this.#key);
  }

  #refusalOfKey(message: string | Uint8Array, key: CompiledApiKey | null): Refusal | null {
    const { rule, clock } = this.#exchange;
    if (key === null || rule === null || !isAllowed(key, rule)) return KEY_INVALID;
    if (key.expiresAt !== Infinity && key.expiresAt <= clock.unixNow()) return KEY_INVALID;
    const { models } = key;
    return models !== null && forbiddenModelIn(message, models) !== null ? MODEL_NOT_ALLOWED : null;
  }
}
