// The claims of one response of a WebSocket on the token limits and budgets of its gateway.
import { GatehouseError } from "../../base/errors.ts";
import type { TokensLimitClaim } from "../../sdk/index.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import { planBudgets } from "../budgets/plan-budgets.ts";
import type { PlannedClaim, ReservedClaims } from "../budgets/reserved-claims.ts";
import { UNKNOWN_SIZE } from "../budgets/request-size.ts";
import type { PermissionParts } from "../client-permission.ts";
import { isErrorBody } from "../error-format.ts";
import type { Exchange } from "../exchange.ts";
import { LimiterCall } from "../limits/limiter-call.ts";
import type { ClaimParts } from "../limits/reserve-claims.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";

export interface TurnClaimParts extends ClaimParts, PluginParts, PermissionParts {}

export interface TurnSize {
  /** Estimated. */
  readonly inputTokens: number;
  /** How many of them may be audio. */
  readonly audioTokens: number;
  /** Null if the response is not limited: then its output is estimated. */
  readonly maxOutputTokens: number | null;
}

export interface Claims {
  readonly limits: readonly TokensLimitClaim[];
  readonly budgets: readonly PlannedClaim[];
}

/** A plugin rejects the response, whatever is left of its limits. */
export interface Rejection {
  readonly code: string;
  readonly reason: string;
}

export class TurnClaims {
  readonly #exchange: Exchange;
  readonly #parts: TurnClaimParts;
  #last: Claims;

  /** `reserved` is what the handshake has reserved. */
  constructor(exchange: Exchange, parts: TurnClaimParts, reserved: ReservedClaims | null) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#last = { limits: countedOnly(reserved?.limits ?? []), budgets: reserved?.budgets ?? [] };
  }

  /** Whether anything limits the responses of the socket in the current configuration. */
  get areNeeded(): boolean {
    const current = this.#current;
    return current !== null && (current.budgets !== null || (current.chain?.limiters ?? null) !== null);
  }

  /** With the limits and budgets of the current configuration: a socket can be open for hours. Throws if a budget rejects the model. */
  async claimsFor(size: TurnSize): Promise<Claims | Rejection> {
    const { rule } = this.#exchange;
    const current = this.#current;
    if (current === null || rule === null) return { limits: [], budgets: [] };
    try {
      this.#exchange.knownSize = { body: this.#exchange.body, size: { ...UNKNOWN_SIZE, ...size } };
      const limits = await this.#limitsOf(current);
      if (!Array.isArray(limits)) return limits;
      const budgets =
        current.budgets === null ? [] : await planBudgets(this.#exchange, rule, current.budgets, this.#parts);
      return (this.#last = { limits, budgets });
    } finally {
      // The size is that of one response, and the exchange is that of the socket.
      this.#exchange.knownSize = null;
    }
  }

  /**
   * Returns claims on nothing, to charge what was generated without a reservation: always possible, whatever is left. If the current ones cannot
   * be determined, those of the last response are charged.
   */
  async claimsToCharge(): Promise<Claims> {
    let claims = this.#last;
    try {
      const current = await this.claimsFor({ inputTokens: 0, audioTokens: 0, maxOutputTokens: null });
      if ("limits" in current) claims = current;
    } catch (error) {
      if (!(error instanceof GatehouseError)) {
        const { requestId } = this.#exchange;
        this.#parts.log.error({ request_id: requestId, err: error }, "limits of a WebSocket not determined");
      }
    }
    // While Redis is unavailable, it is charged later, whatever the policy for new requests.
    return {
      limits: claims.limits.map((claim) => ({ ...claim, amount: 0, onUnavailable: "open" as const })),
      budgets: claims.budgets.map((claim) => ({ ...claim, amount: 0, onUnavailable: "open" as const })),
    };
  }

  get #current(): CompiledGateway | null {
    const { gateway } = this.#exchange;
    return this.#parts.current.snapshot.gateways.get(gateway?.id ?? "") ?? null;
  }

  async #limitsOf({ chain }: CompiledGateway): Promise<TokensLimitClaim[] | Rejection> {
    if (chain === null || chain.limiters === null) return [];
    const calls = this.#callsOf(chain.limiters);
    for (const call of calls) await call.ask();
    for (const { call } of calls) {
      if (call.response === null) continue;
      const { body } = call.response;
      return isErrorBody(body)
        ? { code: body.code, reason: body.error }
        : { code: "plugin_answered", reason: `The plugin ${call.link.name} has rejected the response.` };
    }
    return countedOnly(calls.flatMap(({ claims }) => claims));
  }

  /** The calls are not part of the telemetry of the handshake. */
  #callsOf(limiters: readonly ChainLink[]): LimiterCall[] {
    const { pluginRuns } = this.#exchange;
    this.#exchange.pluginRuns = null;
    const create = (link: ChainLink) => new PluginCall(this.#exchange, link, "pre_request", this.#parts);
    const calls = limiters.map((link) => new LimiterCall(create(link), this.#parts));
    this.#exchange.pluginRuns = pluginRuns;
    return calls;
  }
}

/** Requests, and tokens that are charged as reserved, count once per socket. */
function countedOnly(claims: ReservedClaims["limits"]): TokensLimitClaim[] {
  return claims.filter((claim) => claim.kind === "tokens").filter(({ count }) => count !== "reserved");
}
