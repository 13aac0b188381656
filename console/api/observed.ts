// What the API tells about traffic, use and the past: request records, traffic points, health, usage, revisions, explanations.

export interface RequestAttempt {
  readonly target_id: string;
  readonly provider: string;
  readonly model: string | null;
  readonly status: number | null;
  readonly fault: string | null;
  readonly start_ms: number;
  readonly first_byte_ms: number | null;
  readonly ms: number;
}

export interface PluginRun {
  readonly name: string;
  readonly stage: string;
  readonly ms: number;
  readonly verdict: "passed" | "changed" | "answered" | "failed";
  readonly detail: string | null;
}

export interface RequestRecord {
  readonly request_id: string;
  readonly time: string;
  readonly revision: number;
  readonly gateway_id: string;
  readonly gateway: string;
  readonly method: string;
  readonly path: string;
  readonly rule: { readonly id: string; readonly name: string | null; readonly path: string } | null;
  readonly api_key: { readonly id: string; readonly name: string } | null;
  readonly status: number;
  readonly outcome: "complete" | "incomplete" | "client_left" | "failed";
  readonly error_code: string | null;
  readonly provider: string | null;
  readonly target_id: string | null;
  readonly model: string | null;
  readonly requested_model: string | null;
  readonly stream: boolean;
  readonly attempts: readonly RequestAttempt[];
  readonly tokens: { readonly input: number; readonly output: number; readonly partial: boolean } | null;
  /** US dollars. */
  readonly cost: number | null;
  readonly timings: {
    readonly total_ms: number;
    readonly first_byte_ms: number | null;
    readonly body_ms: number;
    readonly plugins_ms: number;
    readonly upstream_ms: number;
  };
  readonly plugins: readonly PluginRun[];
  readonly bodies?: { readonly request: string; readonly response: string };
}

export interface TrafficPoint {
  readonly time: string;
  readonly requests: number;
  readonly errors: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
  readonly first_byte_p50_ms: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
  readonly refused: Readonly<Record<string, number>>;
}

export interface TargetHealth {
  readonly target_id: string;
  readonly provider: string;
  readonly state: "healthy" | "out" | "trial" | "resting";
  readonly failures: number;
  readonly until: string | null;
  readonly in_flight: number;
  readonly latency_ms: number | null;
}

export interface UsageRow {
  readonly day?: string;
  readonly model?: string | null;
  readonly api_key_id?: string | null;
  readonly api_key?: string | null;
  readonly requests: number;
  readonly partial_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number | null;
}

export interface Usage {
  readonly usage: readonly UsageRow[];
  readonly from: string;
  readonly to: string;
  readonly total: UsageRow;
}

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
