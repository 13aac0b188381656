// How documents identify rules: by name, by label, or by path.
import type { RuleFields } from "./rule.ts";

type RuleIdentity = Pick<RuleFields, "name" | "path" | "headers"> & { readonly methods: readonly string[] };

/** Returns what identifies a rule for people: its name, or its methods, path, and required headers. */
export function ruleLabel({ name, path, methods, headers }: RuleIdentity): string {
  if (name !== null) return name;
  const required = Object.entries(headers)
    .map(([header, value]) => `${header.toLowerCase()}=${value}`)
    .sort();
  return `${[...methods].sort().join(",")} ${path}${required.length === 0 ? "" : ` [${required.join(", ")}]`}`;
}

/** Returns a key that is different for every rule: the name of one rule may equal the label of an unnamed one. */
export function ruleIdentity(rule: RuleIdentity): string {
  return `${rule.name === null ? "unnamed" : "named"} ${ruleLabel(rule)}`;
}

/** Finds the rules of a gateway that policies refer to. A document may have a policy for each of very many rules. */
export class RuleNames<T extends RuleIdentity> {
  readonly #rules: readonly T[];
  /** By name, by label, and by path; built when the first policy is looked up. */
  #maps: readonly ReadonlyMap<string | null, readonly T[]>[] | null = null;

  constructor(rules: readonly T[]) {
    this.#rules = rules;
  }

  /** Returns the rules that a policy refers to: those with that name, else with that label, else with that path. */
  matching(policy: string): readonly T[] {
    this.#maps ??= [({ name }: T) => name, ruleLabel, ({ path }: T) => path].map((key) =>
      Map.groupBy<string | null, T>(this.#rules, key),
    );
    for (const map of this.#maps) {
      const found = map.get(policy);
      if (found !== undefined) return found;
    }
    return [];
  }

  /** Returns the shortest text that refers to this rule only. */
  policyFor(rule: T): string {
    const found = this.matching(rule.path);
    return rule.name === null && found.length === 1 && found[0] === rule ? rule.path : ruleLabel(rule);
  }
}
