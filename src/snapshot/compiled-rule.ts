// A rule in the form that requests are matched against.
import type { Endpoint, Operation } from "../formats/operations.ts";
import type { CompiledMcpService } from "../mcp/compiled.ts";
import type { JwtIssuer } from "../model/jwt-issuer.ts";
import type { Rule } from "../model/rule.ts";
import type { VirtualModelTable } from "./compile-virtual-models.ts";
import type { CompiledUpstream } from "./compile-upstream.ts";
import type { RuleGuards } from "./rule-guards.ts";

export interface CompiledRule {
  readonly id: string;
  readonly rule: Rule;
  readonly pathKind: "exact" | "parameters" | "prefix";
  /** Of two rules that match equally well, the lower value wins: by priority, then more headers, then age. */
  readonly precedence: number;
  readonly methods: ReadonlySet<string>;
  /** What its path names; null if it names no operation. For rules that match one path only. */
  readonly endpoint: Endpoint | null;
  /** What it allows in addition to inference. */
  readonly operations: ReadonlySet<Operation>;
  /** Header names in lower case with the required value, or `*` for any value. */
  readonly headers: readonly (readonly [string, string])[];
  /** The setting of the rule if it has one, otherwise that of its gateway. */
  readonly requireApiKey: boolean;
  /** Of a rule that leads to MCP servers: one without targets. */
  readonly upstream: CompiledUpstream;
  /** Null if the rule leads to an upstream. */
  readonly mcp: CompiledMcpService | null;
  /** The issuers whose tokens are accepted instead of an API key; null unless the rule leads to MCP servers and there are some. */
  readonly jwtIssuers: readonly JwtIssuer[] | null;
  /** The guards that cannot inspect all texts of its requests; null if there are none, or the rule lets all pass. */
  readonly guards: RuleGuards | null;
  /** The virtual models that the rule serves; null if there are none. */
  readonly virtualModels: VirtualModelTable | null;
}
