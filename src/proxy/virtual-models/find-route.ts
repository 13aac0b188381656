// Finds the virtual model of a request, and the way through it.
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { VirtualRoute } from "./virtual-route.ts";

/** Returns the way of a request through its virtual model, before the plugins may change it; null if its model is no virtual one. */
export function virtualRouteOf(
  { fields, handshake }: Pick<Exchange, "fields" | "handshake">,
  rule: CompiledRule,
): VirtualRoute | null {
  const { model, isObject, formModel } = fields;
  if (model === null) return null;
  // Other bodies are forwarded unchanged, so that no model can be replaced in them.
  if (!isObject && formModel === null && handshake === null) return null;
  const chain = rule.virtualModels?.chainOf(model) ?? null;
  return chain === null ? null : new VirtualRoute(model, chain, rule);
}
