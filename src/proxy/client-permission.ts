// Decides whether the client of a request that lasts may continue: the configuration may have changed since
// it began. A stream or a WebSocket can be open for hours, so a revoked key must not keep it.
import type { ErrorCode } from "../base/errors.ts";
import type { CurrentConfiguration } from "../runtime/current-configuration.ts";
import type { CompiledApiKey } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { isAllowed, requiresKey } from "./authenticate.ts";
import type { Exchange } from "./exchange.ts";

/** How often an open stream finds out whether its client may continue. */
export const PERMISSION_CHECK_MS = 500;

/** Why a request must not continue. */
export interface Refusal {
  readonly code: ErrorCode;
  /** A sentence. Short enough for the close frame of a WebSocket (123 bytes). */
  readonly reason: string;
}

export interface PermissionParts {
  readonly current: Pick<CurrentConfiguration, "snapshot">;
  readonly requireApiKey: boolean;
}

const KEY_INVALID: Refusal = {
  code: "invalid_api_key",
  reason: "The API key has expired, was revoked, or may not use this rule any more.",
};
const KEY_REQUIRED: Refusal = { code: "api_key_required", reason: "An API key is required now." };
const TOKEN_INVALID: Refusal = {
  code: "invalid_token",
  reason: "The token has expired, or its issuer is not accepted any more.",
};
const GATEWAY_DELETED: Refusal = { code: "rule_not_found", reason: "The gateway was deleted." };
const RULE_DELETED: Refusal = { code: "rule_not_found", reason: "The rule was deleted or deactivated." };

export class ClientPermission {
  readonly #exchange: Exchange;
  readonly #parts: PermissionParts;
  /** The configuration in which the key and the rule were looked up. */
  #snapshot: Snapshot;
  #key: CompiledApiKey | null;
  #rule: CompiledRule | null;
  /** Why the current configuration does not allow the request. */
  #refusal: Refusal | null = null;

  constructor(exchange: Exchange, parts: PermissionParts) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#snapshot = exchange.snapshot;
    this.#key = exchange.apiKey;
    this.#rule = exchange.rule;
  }

  /**
   * The API key as it is now, or the token; null if the client sent none, or the key is revoked. Call
   * `refusal` before.
   */
  get key(): CompiledApiKey | null {
    return this.#key;
  }

  /** The rule as it is now. Call `refusal` before. */
  get rule(): CompiledRule | null {
    return this.#rule;
  }

  /** Returns why the client must not continue, or null. */
  refusal(): Refusal | null {
    const { snapshot } = this.#parts.current;
    if (snapshot !== this.#snapshot) {
      this.#snapshot = snapshot;
      this.#refusal = this.#lookUp(snapshot);
    }
    if (this.#refusal !== null) return this.#refusal;
    const key = this.#key;
    if (key === null || key.expiresAt === Infinity || key.expiresAt > this.#exchange.clock.unixNow())
      return null;
    return key.user === null ? KEY_INVALID : TOKEN_INVALID;
  }

  #lookUp(snapshot: Snapshot): Refusal | null {
    const { gateway, rule, apiKey } = this.#exchange;
    const current = gateway === null ? undefined : snapshot.gateways.get(gateway.id);
    if (gateway === null || current === undefined) return GATEWAY_DELETED;
    this.#rule = current === gateway ? rule : (current.rules.find(({ id }) => id === rule?.id) ?? null);
    if (this.#rule === null) return RULE_DELETED;
    if (apiKey === null) return requiresKey(this.#rule, this.#parts.requireApiKey) ? KEY_REQUIRED : null;
    if (apiKey.user !== null) {
      const isAccepted = sameJson(gateway.gateway.jwt_issuers, current.gateway.jwt_issuers);
      return isAccepted && this.#rule.jwtIssuers !== null ? null : TOKEN_INVALID;
    }
    this.#key = snapshot.apiKeysByHash.get(apiKey.hash) ?? null;
    return this.#key !== null && isAllowed(this.#key, this.#rule) ? null : KEY_INVALID;
  }
}

function sameJson(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
