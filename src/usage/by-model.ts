// Values per gateway and model. Clients may send any model name, so the models of each gateway are bounded; those of one gateway never
// evict those of another.
import { BoundedCache } from "../base/bounded-cache.ts";

const KEPT_MODELS = 200;
const KEPT_GATEWAYS = 10_000;

export class ByModel<Value extends object> {
  readonly #gateways = new BoundedCache<string, BoundedCache<string, Value>>(KEPT_GATEWAYS);
  readonly #create: () => Value;
  readonly #keptModels: number;
  /** The value that was used last: a request needs it several times. */
  #lastGatewayId: string | null = null;
  #lastModel = "";
  #last: Value | undefined = undefined;

  constructor(create: () => Value, keptModels = KEPT_MODELS) {
    this.#create = create;
    this.#keptModels = keptModels;
  }

  get(gatewayId: string, model: string): Value | undefined {
    if (model === this.#lastModel && gatewayId === this.#lastGatewayId) return this.#last;
    const value = this.#gateways.get(gatewayId)?.get(model);
    if (value !== undefined) this.#remember(gatewayId, model, value);
    return value;
  }

  getOrCreate(gatewayId: string, model: string): Value {
    const known = this.get(gatewayId, model);
    if (known !== undefined) return known;
    let models = this.#gateways.get(gatewayId);
    if (models === undefined) this.#gateways.set(gatewayId, (models = new BoundedCache(this.#keptModels)));
    const value = this.#create();
    models.set(model, value);
    this.#remember(gatewayId, model, value);
    return value;
  }

  #remember(gatewayId: string, model: string, value: Value): void {
    this.#lastGatewayId = gatewayId;
    this.#lastModel = model;
    this.#last = value;
  }
}
