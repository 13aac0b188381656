// Claims: what a request takes of limits. Plugins declare them, and the gateway reserves those of all plugins, and of budgets, in one step.
import type {
  ClaimState,
  LedgerSource,
  RequestsClaim,
  TokensClaim,
  UnavailablePolicy,
} from "../ledger/ledger.ts";
import type { RequestContext } from "./contexts.ts";

export type { ClaimState, UnavailablePolicy };

/**
 * One request of a limit in a sliding window. It is counted unless a later step rejects the request. Without
 * an `amount`, each message of an MCP batch counts as a request.
 */
export type RequestsLimitClaim = RequestsClaim;

/** Tokens, or any other amount, of a limit in a sliding window. The amount is reserved, and settled when the request has ended. */
export interface TokensLimitClaim extends TokensClaim {
  /**
   * What is charged in the end: of the tokens that the provider reports, all of them (the default), or those of the input or of the
   * output. `reserved`: the reserved amount.
   */
  readonly count?: "total" | "input" | "output" | "reserved";
  /** Whether the tokens of this model are charged; null if it is not known. Without it, those of all models are. */
  readonly countsModel?: (model: string | null) => boolean;
}

/** A `key` starts with `host.instanceId` and a colon, and names what the limit is about: `…:per_ip:203.0.113.7`. */
export type LimitClaim = RequestsLimitClaim | TokensLimitClaim;

export interface ClaimDecision {
  /** False: no claim of any plugin is reserved. */
  readonly isReserved: boolean;
  /**
   * Index of the claim of this plugin that does not fit or, if the source is `closed`, that cannot be checked. -1 if the request was
   * refused by another plugin or by a budget, or not at all.
   */
  readonly refusedBy: number;
  /** One per claim of this plugin, in the same order. */
  readonly states: readonly ClaimState[];
  readonly source: LedgerSource;
}

export interface ClaimSet {
  readonly claims: readonly LimitClaim[];
  /**
   * Called when the claims are reserved or refused. Sets headers of the response, and responds if one of its claims was refused. If it
   * does not respond then, the request continues without the claims of this plugin. Without this function, the client gets 429.
   */
  decided?(context: RequestContext, decision: ClaimDecision): void;
  /** Not null if the gateway may reserve the same limits for later requests without asking the plugin. */
  readonly repeats?: RepeatedLimits | null;
}

/**
 * The promise of a plugin that its claims depend on nothing but the gateway, its settings, the API key, the model and, if it says so, the user;
 * that their amounts are those of `tokensToReserve`; and that all it does when they are reserved is to report each limit with its name and to
 * count the events `decided`, by source, and `admitted`. The gateway may do this by itself then. It asks the plugin if a claim does not fit.
 */
export interface RepeatedLimits {
  /** The names for `reportTokenLimit`, one per claim in the same order. */
  readonly names: readonly string[];
  /** Whether one of the keys depends on `userKey`. */
  readonly dependsOnUser: boolean;
}

/**
 * Returns what a request takes of a limit at most or, if it does not limit its output, probably: then its
 * output counts as at most a quarter of the limit. So do its files, which alone never make a request too large
 * for the limit. At least one token unless the request has no output that counts: nothing would fit into a
 * limit that is exhausted, and the size of a request may be unknown.
 */
export function tokensToReserve(
  limit: number,
  count: "total" | "input" | "output",
  inputTokens: number,
  outputTokens: number,
  limitsOutput: boolean,
  fileTokens = 0,
): number {
  const quarter = Math.floor(limit / 4);
  const output = limitsOutput ? outputTokens : Math.min(outputTokens, quarter);
  if (count === "output") return outputTokens === 0 ? 0 : Math.max(1, output);
  const known = count === "input" ? inputTokens : inputTokens + output;
  return Math.max(1, known + Math.min(fileTokens, quarter, Math.max(0, limit - known)));
}

/** The size of a request before it is sent. */
export interface TokenEstimate {
  /** Estimated from the text of the body. */
  readonly inputTokens: number;
  /**
   * Tokens that the request may have in addition, which are not known before: files by their number of bytes,
   * and files and conversations that the provider has stored. At most as many as the model accepts.
   */
  readonly fileTokens?: number;
  /** Whether the request limits its output, as `max_tokens` does. */
  readonly limitsOutput: boolean;
  /**
   * Returns the output of all choices: the limit of the request or, without one, the 95th percentile of recent responses of the
   * model.
   */
  readonly outputTokens: (model: string | null) => number;
}

/** before_body: the body is still arriving. */
export interface BeforeBodyContext extends RequestContext {
  /** False for requests that run no model, such as those that list models or files, or count tokens. */
  readonly runsModel: boolean;
}

/** claims: before any limit of the request is checked. The body is complete. */
export interface ClaimContext extends BeforeBodyContext {
  /** The models that the request may be sent to; null is one that the gateway does not know. */
  readonly eligibleModels: readonly (string | null)[];
  /**
   * The model that a limit per model counts the request for: the virtual model, or the requested one if a target gets it, else the one that all
   * targets get instead. Null if it is not known. Has few values: a client cannot avoid a limit by names that it invents.
   */
  readonly countedModel: string | null;
  /**
   * Why the model cannot be determined although a server may read one in the body, such as a field `model` that occurs twice; null otherwise. A limit that depends on the model
   * should reject such a request: `eligibleModels` may not contain the model that runs.
   */
  readonly modelProblem: { readonly code: string; readonly message: string } | null;
  /** Returns a promise for a large body, which is parsed in a worker thread. */
  estimateTokens(): TokenEstimate | Promise<TokenEstimate>;
}
