// A rule with the records that it leads to, for the warnings about a configuration.
import { endpointIn, type Endpoint } from "../../formats/operations.ts";
import { ANY_METHOD, HTTP_METHODS } from "../../model/http-methods.ts";
import type { Rule } from "../../model/rule.ts";
import type { Service } from "../../model/service.ts";
import type { Target } from "../../model/target.ts";
import type { Upstream } from "../../model/upstream.ts";
import type { DocumentParts } from "../../kinds/kind.ts";
import { byPrecedence } from "../rule-precedence.ts";

export interface RoutedRule {
  readonly rule: Rule;
  readonly service: Service;
  readonly upstream: Upstream;
  readonly isPrefix: boolean;
  /** The path without the final `/*` of a prefix. */
  readonly base: string;
  /** The path without the names of its parameters: rules with the same pattern match the same paths. */
  readonly pattern: string;
  readonly methods: ReadonlySet<string>;
  /** What `base` names; null if it names no operation. */
  readonly endpoint: Endpoint | null;
}

/** Returns the active rules in order of precedence. */
export function routedRules({ rules, services, upstreams }: DocumentParts): RoutedRule[] {
  const servicesById = new Map(services.map((service) => [service.id, service]));
  const upstreamsById = new Map(upstreams.map((upstream) => [upstream.id, upstream]));
  const active = rules.filter((rule) => rule.active).sort(byPrecedence);
  return active.flatMap((rule) => {
    const service = servicesById.get(rule.service_id);
    const upstream = upstreamsById.get(service?.upstream_id ?? "");
    if (service === undefined || upstream === undefined) return [];
    const isPrefix = rule.path.endsWith("/*");
    const base = isPrefix ? rule.path.slice(0, -2) : rule.path;
    const methods = new Set<string>(rule.methods.includes(ANY_METHOD) ? HTTP_METHODS : rule.methods);
    const pattern = rule.path.replaceAll(/\{[^}]*\}/g, "{}");
    return [{ rule, service, upstream, isPrefix, base, pattern, methods, endpoint: endpointIn(base) }];
  });
}

/** Returns the targets that get requests, with their index in the upstream. */
export function usedTargets({ targets }: Upstream): { readonly index: number; readonly target: Target }[] {
  return targets.map((target, index) => ({ index, target })).filter(({ target }) => target.weight > 0);
}
