// All that is remembered of one request when it is over: the access line, the metrics and whoever else observes take what
// they need from here. It holds no part of the configuration, no credential, and no body unless the gateway asks for it.
import type { BodyCapture } from "./body-capture.ts";
import type { PluginRun } from "../metrics/observed-plugin.ts";
import type { ObservedGateway, ObservedRule, ObservedTarget } from "../metrics/observed-route.ts";
import type { RequestSeries } from "../metrics/request-series.ts";
import type { RequestTrace } from "../traces/request-trace.ts";

/** Times are those of `performance.now()`. */
export class AttemptFacts {
  readonly target: ObservedTarget;
  readonly startedAt: number;
  /** What was sent to the target. */
  model: string | null = null;
  status: number | null = null;
  /** Why there was no answer, or no whole one. */
  fault: string | null = null;
  firstByteAt: number | null = null;
  endedAt: number | null = null;
  /** Where the request is traced. */
  spanId: string | null = null;
  /** The model that the answer names, where the request is traced. */
  responseModel: string | null = null;

  constructor(target: ObservedTarget, startedAt: number) {
    this.target = target;
    this.startedAt = startedAt;
  }
}

export interface TokenFacts {
  readonly input: number;
  readonly output: number;
  /** The answer broke off or the client left: there may have been more. */
  readonly isPartial: boolean;
}

export interface RequestFacts {
  readonly requestId: string;
  /** Revision of the configuration that the request saw. */
  readonly revision: number;
  readonly method: string;
  readonly path: string;
  readonly gatewayId: string | null;
  readonly gatewayName: string | null;
  readonly gateway: ObservedGateway;
  readonly rule: ObservedRule | null;
  readonly apiKeyId: string | null;
  readonly apiKeyName: string | null;
  readonly status: number;
  readonly outcome: "complete" | "incomplete" | "client_left" | "failed";
  readonly errorCode: string | null;
  /** What the client asked for. */
  readonly requestedModel: string | null;
  readonly isStream: boolean;
  readonly attempts: readonly AttemptFacts[];
  /** The attempt whose answer the client got. */
  readonly answeredBy: AttemptFacts | null;
  readonly tokens: TokenFacts | null;
  /** US dollars. */
  readonly cost: number | null;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Milliseconds since the epoch, at `endedAt`. */
  readonly endedWallMs: number;
  readonly bodyMs: number;
  readonly plugins: readonly PluginRun[] | null;
  readonly bodies: BodyCapture | null;
  readonly series: RequestSeries;
  /** Null: it is not traced. */
  readonly trace: RequestTrace | null;
  /** What it asks for, in the words of the GenAI conventions, where it is traced: `chat`. */
  readonly operation: string | null;
}
