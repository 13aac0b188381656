// The compiled rules of a policy: decides about one tool at a time.
import { Undecidable } from "./schema-values.ts";
import { compileSchema } from "./schema.ts";
import type { ToolPolicySettings } from "./settings.ts";

type Rule = ToolPolicySettings["rules"][number];
export type Source = Rule["source"];
export type Action = Rule["action"];
export const SEVERITY: Readonly<Record<Action, number>> = { allow: 0, strip: 1, deny: 2 };

interface CompiledRule {
  readonly matchesName: (name: string) => boolean;
  readonly source: Source;
  readonly when: ((value: unknown) => boolean) | null;
  readonly action: Action;
}

/** The value is not known yet: only rules without a condition decide. */
export const UNKNOWN = Symbol("unknown");
/** The value cannot be read: conditions of rules that deny or strip count as met, those of rules that allow do not. */
export const UNREADABLE = Symbol("unreadable");

export class Policy {
  readonly #rules: readonly CompiledRule[];
  readonly #default: Action;

  constructor(settings: ToolPolicySettings) {
    this.#rules = settings.rules.map(({ tool, source, when, action }) => ({
      matchesName: nameMatcher(tool),
      source,
      when: when === undefined ? null : compileSchema(when),
      action,
    }));
    this.#default = settings.default;
  }

  has(source: Source): boolean {
    return this.#default === "deny" || this.#rules.some((rule) => rule.source === source);
  }

  /**
   * Returns null if the value is not known and a condition decides. `tool`: null for a call whose name is not known, which could be that of any
   * rule. Its name may still arrive while its arguments are not whole.
   */
  decide(source: Source, tool: string | null, value: unknown): Action | null {
    return this.#decide(source, tool, value, this.#default);
  }

  /** Decides about an item that a server offers. What no rule allows is left out. */
  decideListed(name: string | null, shape: unknown): Action {
    return this.#decide("offered", name, shape, this.#default === "deny" ? "strip" : "allow") ?? "deny";
  }

  #decide(source: Source, tool: string | null, value: unknown, otherwise: Action): Action | null {
    if (tool === null) return value === UNKNOWN ? null : this.#strictest(source);
    for (const rule of this.#rules) {
      if (rule.source !== source || !rule.matchesName(tool)) continue;
      if (rule.when !== null && value === UNKNOWN) return null;
      if (rule.when === null || isMet(rule.when, value, rule.action)) return rule.action;
    }
    return otherwise;
  }

  #strictest(source: Source): Action {
    const has = (action: Action) =>
      this.#rules.some((rule) => rule.source === source && rule.action === action);
    if (has("deny") || this.#default === "deny") return "deny";
    return has("strip") ? "strip" : "allow";
  }
}

function isMet(when: (value: unknown) => boolean, value: unknown, action: Action): boolean {
  if (value === UNREADABLE) return action !== "allow";
  try {
    return when(value);
  } catch (error) {
    if (error instanceof Undecidable) return action !== "allow";
    throw error;
  }
}

/** Without a regular expression, so that many stars take linear time per part. */
function nameMatcher(pattern: string): (name: string) => boolean {
  const parts = pattern.split("*");
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return (name) => name === pattern;
  const middle = parts.slice(1, -1);
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
      return false;
    let at = first.length;
    for (const part of middle) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= name.length - last.length;
  };
}
