// A rule as requests are matched against it.
import type { Rule } from "../model/rule.ts";
import type { CompiledUpstream } from "./compile-upstream.ts";

export interface CompiledRule {
  readonly id: string;
  readonly rule: Rule;
  readonly pathKind: "exact" | "parameters" | "prefix";
  /** Among rules that match equally well the lower one serves: priority, then more headers, then age. */
  readonly precedence: number;
  readonly methods: ReadonlySet<string>;
  /** Names in lower case with the value they must have, or `*`. */
  readonly headers: readonly (readonly [string, string])[];
  /** The rule's own word, else its gateway's. */
  readonly requireApiKey: boolean;
  readonly upstream: CompiledUpstream;
}
