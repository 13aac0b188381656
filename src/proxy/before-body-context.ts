// The context of before_body hooks: the request without its body, and whether it runs a model.
import type { BeforeBodyContext } from "../sdk/index.ts";
import { mayCost } from "./budgets/plan-budgets.ts";
import type { PluginCall } from "./plugin-call.ts";
import { PreRequestContext } from "./pre-request-context.ts";

export class ArrivingRequestContext extends PreRequestContext implements BeforeBodyContext {
  readonly #call: PluginCall;

  constructor(call: PluginCall) {
    super(call);
    this.#call = call;
  }

  get runsModel(): boolean {
    const { exchange } = this.#call;
    return exchange.rule !== null && mayCost(exchange, exchange.rule);
  }
}
