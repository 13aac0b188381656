// A rule in the form that requests are matched against.
import type { Rule } from "../model/rule.ts";
import type { CompiledUpstream } from "./compile-upstream.ts";

export interface CompiledRule {
  readonly id: string;
  readonly rule: Rule;
  readonly pathKind: "exact" | "parameters" | "prefix";
  /** Of two rules that match equally well, the lower value wins: by priority, then more headers, then age. */
  readonly precedence: number;
  readonly methods: ReadonlySet<string>;
  /** Header names in lower case with the required value, or `*` for any value. */
  readonly headers: readonly (readonly [string, string])[];
  /** The setting of the rule if it has one, otherwise that of its gateway. */
  readonly requireApiKey: boolean;
  readonly upstream: CompiledUpstream;
}
