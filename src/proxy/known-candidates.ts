// The targets that may get a request, and what they depend on. Plugins may change it, and several steps need them.
import type { Endpoint } from "../formats/operations.ts";
import type { Candidates } from "../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { BodyFields } from "./request-body.ts";
import type { StoredAt } from "./stored-ids/stored-at.ts";

export interface KnownCandidates extends Candidates {
  readonly rule: CompiledRule;
  readonly fields: BodyFields;
  readonly path: string;
  readonly query: string;
  readonly endpoint: Endpoint | null;
  readonly storedAt: StoredAt | null;
  /** The models that the targets get; null until they are needed. */
  models: readonly (string | null)[] | null;
}
