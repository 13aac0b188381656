// Names for parts of what the API tells about traffic, use and the past.
import type { RequestList, TargetHealthList, Traffic, UsageReport } from "./types.ts";

export type RequestRecord = RequestList["requests"][number];
export type RequestAttempt = RequestRecord["attempts"][number];
export type PluginRun = RequestRecord["plugins"][number];
export type TrafficPoint = Traffic["points"][number];
export type TargetHealth = TargetHealthList["targets"][number];
export type UsageRow = UsageReport["usage"][number];

export interface Revision {
  readonly revision: number;
  readonly created_at: string;
  /** Of the token that wrote. */
  readonly subject: string | null;
  readonly action: "create" | "update" | "delete" | "rollback" | "apply";
  readonly resource: string;
  readonly resource_id: string | null;
  readonly gateway_id: string | null;
  readonly name: string | null;
}

export interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface RevisionWithDifferences extends Revision {
  readonly diff: readonly Difference[];
  /** How many more there are. */
  readonly diff_left_out?: number;
}

export interface Explanation {
  readonly rule: { readonly id: string; readonly name: string | null; readonly path: string } | null;
  readonly rules: readonly {
    readonly id: string;
    readonly path: string;
    readonly matched: boolean;
    readonly reason: string;
  }[];
  readonly authentication: {
    readonly required: boolean;
    readonly api_key: { readonly id: string; readonly name: string } | null;
    readonly verdict: "allowed" | "denied";
    readonly reason: string;
  } | null;
  readonly plugins: readonly {
    readonly name: string;
    readonly stage: string;
    readonly verdict: "passed" | "changed" | "answered" | "failed" | "not_run";
    readonly detail: string | null;
  }[];
  readonly limits: readonly {
    readonly type: string;
    readonly limit: number;
    readonly remaining: number;
    readonly reset: number | string;
    readonly window: string;
  }[];
  readonly targets: readonly {
    readonly id: string;
    readonly provider: string;
    readonly priority: number;
    readonly weight: number;
    readonly state: string;
    readonly eligible: boolean;
    readonly reason: string;
    readonly model: string | null;
  }[];
  readonly upstream_request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  } | null;
  readonly answer: { readonly status: number; readonly code: string; readonly error: string } | null;
}
