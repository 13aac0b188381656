// Values per gateway and model. Clients may send any model name, so the models of each gateway are bounded; those of one gateway never
// evict those of another.
import { BoundedCache } from "../base/bounded-cache.ts";

const KEPT_MODELS = 200;
const KEPT_GATEWAYS = 10_000;

export class ByModel<Value extends object> {
  readonly #gateways = new BoundedCache<string, BoundedCache<string, Value>>(KEPT_GATEWAYS);

  get(gatewayId: string, model: string): Value | undefined {
    return this.#gateways.get(gatewayId)?.get(model);
  }

  getOrCreate(gatewayId: string, model: string, create: () => Value): Value {
    let models = this.#gateways.get(gatewayId);
    if (models === undefined) this.#gateways.set(gatewayId, (models = new BoundedCache(KEPT_MODELS)));
    let value = models.get(model);
    if (value === undefined) models.set(model, (value = create()));
    return value;
  }
}
