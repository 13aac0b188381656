// The context of claims hooks: the request, the models that may get it, and an estimate of its tokens.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise } from "../../base/value-or-promise.ts";
import type { ClaimContext, TokenEstimate } from "../../sdk/index.ts";
import { ArrivingRequestContext } from "../before-body-context.ts";
import {
  eligibleModels,
  estimateOf,
  estimatesOf,
  sizeOf,
  type EstimateParts,
} from "../budgets/request-estimate.ts";
import type { RequestSize } from "../budgets/request-size.ts";
import { modelProblemOf } from "../budgets/require-one-model.ts";
import type { Exchange } from "../exchange.ts";
import type { ModelProblem } from "../model-problems.ts";
import type { PluginCall } from "../plugin-call.ts";
import { countedModelOf } from "./counted-model.ts";

const NO_MODELS: readonly (string | null)[] = [];
const UNKNOWN_MODEL: readonly (string | null)[] = [null];

export class ClaimsContext extends ArrivingRequestContext implements ClaimContext {
  readonly #call: PluginCall;
  readonly #parts: EstimateParts;
  #eligibleModels: readonly (string | null)[] | null = null;

  constructor(call: PluginCall, parts: EstimateParts) {
    super(call);
    this.#call = call;
    this.#parts = parts;
  }

  get eligibleModels(): readonly (string | null)[] {
    const { exchange } = this.#call;
    // A copy: plugins may be plain JavaScript, and budgets use the same list.
    this.#eligibleModels ??= modelsOf(exchange).slice();
    return this.#eligibleModels;
  }

  get countedModel(): string | null {
    const { exchange } = this.#call;
    return countedModelOf(exchange, modelsOf(exchange));
  }

  get modelProblem(): ModelProblem | null {
    const { exchange } = this.#call;
    if (exchange.rule === null) return null;
    try {
      return modelProblemOf(exchange, exchange.rule);
    } catch (error) {
      // A later step rejects the request.
      if (error instanceof GatehouseError) return null;
      throw error;
    }
  }

  estimateTokens(): TokenEstimate | Promise<TokenEstimate> {
    const size = sizeOf(this.#call.exchange, this.#parts);
    return isPromise(size) ? size.then((known) => this.#estimateOf(known)) : this.#estimateOf(size);
  }

  #estimateOf(size: RequestSize): TokenEstimate {
    const { exchange } = this.#call;
    const { budgetAccounts } = this.#parts;
    const models = modelsOf(exchange);
    const estimates = estimatesOf(exchange, models, size, budgetAccounts);
    let inputTokens = 0;
    let fileTokens = 0;
    // Those of the model that counts most tokens.
    for (const estimate of estimates) {
      inputTokens = Math.max(inputTokens, estimate.inputTokens);
      fileTokens = Math.max(fileTokens, estimate.fileTokens);
    }
    return {
      inputTokens,
      fileTokens,
      limitsOutput: size.maxOutputTokens !== null,
      outputTokens: (model) => {
        for (const estimate of estimates) if (estimate.model === model) return estimate.outputTokens;
        return estimateOf(exchange, model, size, budgetAccounts).outputTokens;
      },
    };
  }
}

/** A request that no target can serve is rejected by a later step, unless a plugin changes it before: until then its model is not known. */
function modelsOf(exchange: Exchange): readonly (string | null)[] {
  if (exchange.rule === null) return NO_MODELS;
  try {
    return eligibleModels(exchange, exchange.rule);
  } catch (error) {
    if (error instanceof GatehouseError) return UNKNOWN_MODEL;
    throw error;
  }
}
