// The model that limits by model count a request for. A client may send any name, and must not get a new count with each of them.
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { virtualRouteOf } from "../virtual-models/find-route.ts";

/** Names of a gateway that only clients have given: those of targets that serve all models. */
const MAX_INVENTED_NAMES = 1000;
/** In characters: a name may be as long as a body, and is kept. */
const MAX_INVENTED_LENGTH = 255;

/** Those that have been counted. A gateway is compiled again when its configuration changes. */
const inventedNames = new WeakMap<CompiledGateway, Set<string>>();

/**
 * Returns the virtual model, whichever of its names the client uses, or the requested model if a target gets it, else the one that all targets
 * get instead. Null if it is not known, and for further names that are not in the configuration. `models` are those that targets may get.
 */
export function countedModelOf(exchange: Exchange, models: readonly (string | null)[]): string | null {
  const { rule, gateway, route, fields, body, handshake } = exchange;
  if (rule === null || gateway === null || (body === null && handshake === null)) return null;
  const virtual = route ?? virtualRouteOf(exchange, rule);
  if (virtual !== null) return virtual.model.name;
  const [only = null] = models.length === 1 ? models : [];
  const model = fields.model !== null && models.includes(fields.model) ? fields.model : only;
  return model === null || isListed(model, rule) || isCounted(model, gateway) ? model : null;
}

function isListed(model: string, { upstream }: CompiledRule): boolean {
  return upstream.targets.some(
    ({ models, defaultModel }) => defaultModel === model || models?.has(model) === true,
  );
}

/** Whether the name has a count of its own. */
function isCounted(model: string, gateway: CompiledGateway): boolean {
  if (model.length > MAX_INVENTED_LENGTH) return false;
  let names = inventedNames.get(gateway);
  if (names === undefined) inventedNames.set(gateway, (names = new Set()));
  if (names.size < MAX_INVENTED_NAMES) names.add(model);
  return names.has(model);
}
