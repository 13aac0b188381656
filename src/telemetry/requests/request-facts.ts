// The facts of one finished request, from which the access log, metrics, request log, traffic and traces are made. They contain
// no part of the configuration, no credential, and no body unless the gateway sets `log_bodies`.
import type { FormatName } from "../../formats/format-names.ts";
import type { Operation } from "../../formats/operations.ts";
import type { ResponseDetails } from "../../formats/response-details.ts";
import type { ReportedTokens } from "../../formats/token-counts.ts";
import type { AttemptFault } from "./attempt-fault.ts";
import type { BodyCapture } from "./body-capture.ts";
import type { McpFacts } from "./mcp-facts.ts";
import type { ShadowRun } from "./shadow-report.ts";
import type { PluginRun } from "../metrics/observed-plugin.ts";
import type { ObservedGateway, VirtualModelNames } from "../metrics/observed-gateway.ts";
import type { ObservedRule, ObservedTarget } from "../metrics/observed-route.ts";
import type { RequestSeries } from "../metrics/request-series.ts";
import type { RequestTrace } from "../traces/request-trace.ts";

/**
 * How a request ended. `complete`: a response of a provider with any status, or one of the gateway or a plugin below 400, was sent.
 * `refused`: the gateway or a plugin responded with 4xx. `failed`: the gateway or a plugin responded with 5xx. `incomplete`: the
 * response was cut off. `client_left`: the client disconnected.
 */
export const OUTCOMES = ["complete", "refused", "failed", "incomplete", "client_left"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** That of a request, its response, or both. */
export interface TranslationFacts {
  /** The format of the client. */
  readonly from: FormatName;
  /** The format of the target. */
  readonly to: FormatName;
  /** Fields of the request that the target's format cannot express. */
  readonly dropped: readonly string[];
}

/** `isPartial`: the response was cut off before it had reported everything. */
type UnusedUsage = ReportedTokens & { readonly isPartial: boolean };

/** Times are those of the gateway's clock, like all times in the facts. */
export class AttemptFacts {
  readonly target: ObservedTarget;
  readonly startedAt: number;
  /** The model sent to the target. */
  model: string | null = null;
  /** Null if nothing is translated. */
  translation: TranslationFacts | null = null;
  status: number | null = null;
  /** Why there was no response or an incomplete one. Named `fault` as in the request log API. */
  fault: AttemptFault | null = null;
  /** Whether the provider may have received the request. */
  wasSent = true;
  firstByteAt: number | null = null;
  endedAt: number | null = null;
  /** What its response reported, of which the client got nothing; null if it reported no input. */
  unusedUsage: UnusedUsage | null = null;
  /** Estimated output tokens of a body that was cut while it was received as a whole: the client got nothing of it. */
  cutOutputTokens = 0;
  /** A successful response that is no stream had begun when it was cut: the provider has generated all of it. */
  wasCutWhole = false;
  /** Nothing says how much the provider has generated: at least what was reserved is charged. */
  isChargedAsReserved = false;
  /** What its model has probably generated without showing it, if the client got nothing of the response. */
  hiddenTokens = 0;
  /** Those of them that are reasoning. */
  hiddenReasoning = 0;
  /** `hedge`: the attempt of a hedged request whose response was not used. `mirror`: that of a copy. */
  purpose: "request" | "hedge" | "mirror" = "request";
  /** The limit or budget that had not enough left for a further attempt; null if none was refused. */
  retryRefusedBy: string | null = null;
  /** Set if the request is traced. */
  spanId: string | null = null;
  /** The model that the response names; set if the request is traced. */
  responseModel: string | null = null;
  /** What else a successful response says; set if the request is traced. */
  details: ResponseDetails | null = null;

  constructor(target: ObservedTarget, startedAt: number) {
    this.target = target;
    this.startedAt = startedAt;
  }
}

/** `won`: the second attempt served the request. `lost`: the first one. `failed`: neither. */
export const HEDGE_RESULTS = ["won", "lost", "failed"] as const;
export type HedgeResult = (typeof HEDGE_RESULTS)[number];

export interface HedgeFacts {
  readonly result: HedgeResult;
  /** The milliseconds without content after which the second attempt was made. */
  readonly afterMs: number;
  /** That of the attempt that was not used, in US dollars; null if it is unknown, 0 if the provider did not run the model. */
  readonly cost: number | null;
}

/** The limits that a request sets for the model; null if it does not. */
export interface Sampling {
  readonly maxTokens: number | null;
  readonly temperature: number | null;
}

export interface TokenFacts {
  readonly input: number;
  readonly output: number;
  /** Parts of the input and of the output. */
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
  /** The response was cut off or the client disconnected, so that the real count may be higher. */
  readonly isPartial: boolean;
}

export interface RequestFacts {
  readonly requestId: string;
  /** The id of the request that this one is a copy of; null for requests of clients. */
  readonly mirrorOf: string | null;
  /** Revision of the configuration that served the request. */
  readonly revision: number;
  readonly method: string;
  readonly path: string;
  /** The path after plugins. */
  readonly sentPath: string;
  /** What the path names, if it was needed to route the request. Use `operationOf`. */
  readonly operation: Operation | null;
  /** The body is a JSON object with messages, or with a prompt. */
  readonly hasMessages: boolean;
  readonly hasPrompt: boolean;
  readonly gatewayId: string | null;
  readonly gatewayName: string | null;
  readonly gateway: ObservedGateway;
  readonly rule: ObservedRule | null;
  readonly apiKeyId: string | null;
  readonly apiKeyName: string | null;
  readonly status: number;
  readonly outcome: Outcome;
  readonly errorCode: string | null;
  /** The model that the client requested. */
  readonly requestedModel: string | null;
  /** Null if the requested model is not a virtual one. */
  readonly virtualModel: VirtualModelNames | null;
  /** Null unless the rule leads to MCP servers. */
  readonly mcp: McpFacts | null;
  /** The faults that a game day injected, separated by commas; null if none. */
  readonly fault: string | null;
  readonly isStream: boolean;
  /** The client has left, and the provider was read on for its usage. */
  readonly isDrained: boolean;
  /** When the first content of a stream was relayed; null if there was none, and for a response that is not streamed. */
  readonly firstTokenAt: number | null;
  /** The first content of a stream is reasoning. */
  readonly relaysReasoning: boolean;
  readonly attempts: readonly AttemptFacts[];
  /** Null if no second attempt was made because the first one had no content in time. */
  readonly hedge: HedgeFacts | null;
  /** The attempt whose response was sent to the client. */
  readonly finalAttempt: AttemptFacts | null;
  readonly tokens: TokenFacts | null;
  /** US dollars. */
  readonly cost: number | null;
  /** The request has usage, but its cost is unknown. */
  readonly isUnpriced: boolean;
  /** The metrics have the tokens and the cost already: those of a WebSocket are counted while it is open. */
  readonly isUsageCounted: boolean;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Milliseconds since the epoch, at `endedAt`. */
  readonly endedWallMs: number;
  readonly bodyMs: number;
  readonly plugins: readonly PluginRun[] | null;
  /** What plugins in shadow mode would have done; grows until they have ended. Null if none ran. */
  readonly shadow: readonly ShadowRun[] | null;
  readonly bodies: BodyCapture | null;
  readonly series: RequestSeries;
  /** Null if the request is not traced. */
  readonly trace: RequestTrace | null;
  /** Set if the request is traced and has a JSON body. */
  readonly sampling: Sampling | null;
}

/** Returns the milliseconds per output token after the first one; null if there is none or the count is uncertain. */
export function msPerOutputToken({
  firstTokenAt,
  relaysReasoning,
  endedAt,
  tokens,
}: RequestFacts): number | null {
  if (firstTokenAt === null || tokens === null || tokens.isPartial) return null;
  // Reasoning that is not relayed was generated before the first token.
  const relayedTokens = relaysReasoning ? tokens.output : tokens.output - tokens.reasoning;
  return relayedTokens > 1 ? (endedAt - firstTokenAt) / (relayedTokens - 1) : null;
}
