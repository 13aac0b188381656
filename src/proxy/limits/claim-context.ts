// The context of claims hooks: the request, the models that may get it, and an estimate of its tokens.
import { isPromise } from "../../base/value-or-promise.ts";
import type { ClaimContext, TokenEstimate } from "../../sdk/index.ts";
import { mayCost } from "../budgets/plan-budgets.ts";
import {
  eligibleModels,
  inputTokensOf,
  outputTokensOf,
  sizeOf,
  type EstimateParts,
} from "../budgets/request-estimate.ts";
import type { RequestSize } from "../budgets/request-size.ts";
import type { PluginCall } from "../plugin-call.ts";
import { PreRequestContext } from "../pre-request-context.ts";
import { priceFor } from "../record-usage.ts";

export class ClaimsContext extends PreRequestContext implements ClaimContext {
  readonly #call: PluginCall;
  readonly #parts: EstimateParts;
  #eligibleModels: readonly (string | null)[] | null = null;

  constructor(call: PluginCall, parts: EstimateParts) {
    super(call);
    this.#call = call;
    this.#parts = parts;
  }

  get runsModel(): boolean {
    const { exchange } = this.#call;
    return exchange.rule !== null && mayCost(exchange, exchange.rule);
  }

  get eligibleModels(): readonly (string | null)[] {
    const { exchange } = this.#call;
    this.#eligibleModels ??= exchange.rule === null ? [] : eligibleModels(exchange, exchange.rule);
    return this.#eligibleModels;
  }

  estimateTokens(): TokenEstimate | Promise<TokenEstimate> {
    const size = sizeOf(this.#call.exchange, this.#parts);
    return isPromise(size) ? size.then((known) => this.#estimateOf(known)) : this.#estimateOf(size);
  }

  #estimateOf(size: RequestSize): TokenEstimate {
    const { exchange } = this.#call;
    return {
      inputTokens: inputTokensOf(exchange, this.eligibleModels, size, this.#parts.budgetAccounts),
      limitsOutput: size.maxOutputTokens !== null,
      outputTokens: (model) =>
        outputTokensOf(exchange, model, priceFor(exchange, model), size, this.#parts.budgetAccounts),
    };
  }
}
