// Generated from the OpenAPI document by npm run docs; do not edit.

export interface Gateway {
  /** Gateway name. */
  name: string;
  /** DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`. */
  subdomain: string | null;
  /** Plugins attached to the gateway. */
  required_plugins: PluginConfig[];
  /** Rules require an API key unless they set require_api_key to false. */
  require_api_key: boolean;
  /** The request log keeps bodies, truncated after 16 KiB. */
  log_bodies: boolean;
  id: string;
  created_at: string;
  updated_at: string;
}

export interface PluginConfig {
  /** `rate_limiter`, `code_sanitation`, or the name of a registered custom plugin. */
  name: string;
  /** When it runs. */
  stage: "pre_request" | "post_request" | "pre_response" | "post_response";
  /** A disabled plugin costs nothing. */
  enabled: boolean;
  /** Lower runs first; then as listed. */
  priority: number;
  /** Judged by the plugin. */
  settings: Record<string, unknown>;
  /** What happens to the request when the plugin throws or takes longer than 5 s. */
  on_error: "fail" | "continue";
}

export interface GatewayList {
  gateways: Gateway[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface GatewayInput {
  /** Gateway name. */
  name: string;
  /** DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`. */
  subdomain?: string | null;
  /** Plugins attached to the gateway. */
  required_plugins?: PluginConfigInput[];
  /** Rules require an API key unless they set require_api_key to false. */
  require_api_key?: boolean;
  /** The request log keeps bodies, truncated after 16 KiB. */
  log_bodies?: boolean;
}

export interface PluginConfigInput {
  /** `rate_limiter`, `code_sanitation`, or the name of a registered custom plugin. */
  name: string;
  /** When it runs. */
  stage: "pre_request" | "post_request" | "pre_response" | "post_response";
  /** A disabled plugin costs nothing. */
  enabled?: boolean;
  /** Lower runs first; then as listed. */
  priority?: number;
  /** Judged by the plugin. */
  settings?: Record<string, unknown>;
  /** What happens to the request when the plugin throws or takes longer than 5 s. */
  on_error?: "fail" | "continue";
}

export interface Upstream {
  /** Upstream name. */
  name: string;
  /** Provider endpoints. */
  targets: Target[];
  /** Balancing algorithm. */
  algorithm:
    "round-robin" | "weighted-round-robin" | "random" | "least-connections" | "lowest-latency" | "ip-hash";
  health_checks: HealthChecks;
  /** Whether a target must serve the model that the request names. */
  model_routing: "prefer" | "any" | "require";
  timeouts: Timeouts;
  /** Attempts in all for one request. */
  max_attempts: number;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
}

export interface Target {
  /** Set by the server; send it back to keep the target's health state. */
  id?: string;
  /** A known provider (see GET /providers), or any name together with base_url. */
  provider: string;
  /** Provider endpoint path. Absent: the provider's chat endpoint; "": keep the request's path. */
  path: string | null;
  /** Share of requests; 0 drains the target. */
  weight: number;
  /** Tier; the lowest with a healthy target serves. */
  priority: number;
  /** Model used when the request names none. */
  default_model: string | null;
  /** Models the target serves; none means all. */
  models: string[];
  /** Extra headers sent to the provider. */
  headers: Record<string, string>;
  credentials: Credentials | null;
  /** Instead of the provider's own address. */
  base_url: string | null;
  /** Instead of the provider's wire format. */
  format: "openai" | "anthropic" | null;
}

export interface Credentials {
  /** The header that carries the credential. */
  header_name: string;
  /** The credential. Comes back masked; the masked value sent back unchanged keeps the stored one. */
  header_value: string;
}

export interface HealthChecks {
  /** Watch real requests and take failing targets out. */
  passive: boolean;
  /** Failures in a row that take a target out. */
  threshold: number;
  /** Seconds until one request tries it again. */
  interval: number;
}

export interface Timeouts {
  connect: number;
  /** Until the answer's headers are complete. */
  first_byte: number;
  /** Between two chunks of the answer. */
  idle: number;
  total: number | null;
}

export interface UpstreamList {
  upstreams: Upstream[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface UpstreamInput {
  /** Upstream name. */
  name: string;
  /** Provider endpoints. */
  targets: TargetInput[];
  /** Balancing algorithm. */
  algorithm?:
    "round-robin" | "weighted-round-robin" | "random" | "least-connections" | "lowest-latency" | "ip-hash";
  health_checks?: HealthChecksInput;
  /** Whether a target must serve the model that the request names. */
  model_routing?: "prefer" | "any" | "require";
  timeouts?: TimeoutsInput;
  /** Attempts in all for one request. */
  max_attempts?: number;
}

export interface TargetInput {
  /** Set by the server; send it back to keep the target's health state. */
  id?: string;
  /** A known provider (see GET /providers), or any name together with base_url. */
  provider: string;
  /** Provider endpoint path. Absent: the provider's chat endpoint; "": keep the request's path. */
  path?: string | null;
  /** Share of requests; 0 drains the target. */
  weight?: number;
  /** Tier; the lowest with a healthy target serves. */
  priority?: number;
  /** Model used when the request names none. */
  default_model?: string | null;
  /** Models the target serves; none means all. */
  models?: string[];
  /** Extra headers sent to the provider. */
  headers?: Record<string, string>;
  credentials?: CredentialsInput | null;
  /** Instead of the provider's own address. */
  base_url?: string | null;
  /** Instead of the provider's wire format. */
  format?: "openai" | "anthropic" | null;
}

export interface CredentialsInput {
  /** The header that carries the credential. */
  header_name: string;
  /** The credential. Comes back masked; the masked value sent back unchanged keeps the stored one. */
  header_value: string;
}

export interface HealthChecksInput {
  /** Watch real requests and take failing targets out. */
  passive?: boolean;
  /** Failures in a row that take a target out. */
  threshold?: number;
  /** Seconds until one request tries it again. */
  interval?: number;
}

export interface TimeoutsInput {
  connect?: number;
  /** Until the answer's headers are complete. */
  first_byte?: number;
  /** Between two chunks of the answer. */
  idle?: number;
  total?: number | null;
}

export interface Service {
  /** Service name. */
  name: string;
  /** An upstream of the same gateway. */
  upstream_id: string;
  type: "upstream";
  /** Free text. */
  description: string;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
}

export interface ServiceList {
  services: Service[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface ServiceInput {
  /** Service name. */
  name: string;
  /** An upstream of the same gateway. */
  upstream_id: string;
  type?: "upstream";
  /** Free text. */
  description?: string;
}

export interface Rule {
  name: string | null;
  /** A service of the same gateway. */
  service_id: string;
  /** Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`. */
  path: string;
  /** HTTP methods matched. */
  methods: ("GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS")[];
  /** Remove the matched path before forwarding. */
  strip_path: boolean;
  /** Send the client's Host to the target. */
  preserve_host: boolean;
  /** Among rules that match equally well, lower comes first. */
  priority: number;
  /** Headers a request must have, with this value; `*`: any value. */
  headers: Record<string, string>;
  /** Unset: the gateway decides. */
  require_api_key: boolean | null;
  /** Turns every answer into this shape, whatever the target speaks. */
  response_format: "openai" | null;
  /** An inactive rule matches nothing. */
  active: boolean;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
}

export interface RuleList {
  rules: Rule[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface RuleInput {
  name?: string | null;
  /** A service of the same gateway. */
  service_id: string;
  /** Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`. */
  path: string;
  /** HTTP methods matched. */
  methods: string[];
  /** Remove the matched path before forwarding. */
  strip_path?: boolean;
  /** Send the client's Host to the target. */
  preserve_host?: boolean;
  /** Among rules that match equally well, lower comes first. */
  priority?: number;
  /** Headers a request must have, with this value; `*`: any value. */
  headers?: Record<string, string>;
  /** Unset: the gateway decides. */
  require_api_key?: boolean | null;
  /** Turns every answer into this shape, whatever the target speaks. */
  response_format?: "openai" | null;
  /** An inactive rule matches nothing. */
  active?: boolean;
}

export interface ApiKey {
  /** Key name. */
  name: string;
  subject_type: "gateway";
  /** The gateway that the key belongs to. */
  subject: string;
  /** Rules the key is valid for; none means every rule. */
  policies: string[];
  /** ISO 8601; unset: never. */
  expires_at: string | null;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** The first nine characters of the key. */
  prefix: string;
  /** False: the key is revoked. */
  active: boolean;
  last_used_at: string | null;
}

export interface ApiKeyList {
  api_keys: ApiKey[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface ApiKeyInput {
  /** Key name. */
  name: string;
  subject_type?: "gateway";
  /** The gateway that the key belongs to. */
  subject: string;
  /** Rules the key is valid for; none means every rule. */
  policies?: string[];
  /** ISO 8601; unset: never. */
  expires_at?: string | null;
}

export interface Block {
  id: string;
  type: string;
  subject: string;
  created_at: string;
}

export interface BlockList {
  blocks: Block[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface Plugin {
  name: string;
  description: string;
  stages: ("pre_request" | "post_request" | "pre_response" | "post_response")[];
  settings_schema: Record<string, unknown>;
  builtin: boolean;
}

export interface PluginList {
  plugins: Plugin[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface Provider {
  name: string;
  base_url: string | null;
  format: "openai" | "anthropic";
  default_path: string;
}

export interface ProviderList {
  providers: Provider[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface Revision {
  revision: number;
  created_at: string;
  /** `sub` of the admin token that made the change. */
  subject: string | null;
  action: "create" | "update" | "delete" | "rollback" | "apply";
  /** `gateway`, `upstream`, …, `prices`, or `configuration` for a change of several records. */
  resource: string;
  resource_id: string | null;
  gateway_id: string | null;
  name: string | null;
}

export interface RevisionList {
  revisions: Revision[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface PricesInput {
  /** The first that matches a model is its price. */
  prices: PriceInput[];
}

export interface PriceInput {
  /** The model as it is sent to the provider; a `*` at the end stands for any rest. */
  model: string;
  /** US dollars for a million tokens of input. */
  input_per_million: number;
  /** US dollars for a million tokens of output. */
  output_per_million: number;
}

export interface ExplainInput {
  method?: string;
  /** With its query, if any. */
  path: string;
  /** As the client would send them. Without a Host the request is taken as meant for this gateway. */
  headers?: Record<string, string>;
  /** A string as it is; anything else as JSON, with that Content-Type unless `headers` name another. */
  body?: unknown;
  /** Where the connection would come from. */
  client_address?: string;
}

export interface DocumentInput {
  version?: 1;
  gateways: {
    /** Gateway name. */
    name: string;
    /** DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`. */
    subdomain?: string | null;
    /** Plugins attached to the gateway. */
    required_plugins?: PluginConfigInput[];
    /** Rules require an API key unless they set require_api_key to false. */
    require_api_key?: boolean;
    /** The request log keeps bodies, truncated after 16 KiB. */
    log_bodies?: boolean;
    upstreams?: {
      /** Upstream name. */
      name: string;
      /** Provider endpoints. */
      targets: {
        /** A known provider (see GET /providers), or any name together with base_url. */
        provider: string;
        /** Provider endpoint path. Absent: the provider's chat endpoint; "": keep the request's path. */
        path?: string | null;
        /** Share of requests; 0 drains the target. */
        weight?: number;
        /** Tier; the lowest with a healthy target serves. */
        priority?: number;
        /** Model used when the request names none. */
        default_model?: string | null;
        /** Models the target serves; none means all. */
        models?: string[];
        /** Extra headers sent to the provider. */
        headers?: Record<string, string>;
        credentials?: CredentialsInput | null;
        /** Instead of the provider's own address. */
        base_url?: string | null;
        /** Instead of the provider's wire format. */
        format?: "openai" | "anthropic" | null;
      }[];
      /** Balancing algorithm. */
      algorithm?:
        | "round-robin"
        | "weighted-round-robin"
        | "random"
        | "least-connections"
        | "lowest-latency"
        | "ip-hash";
      health_checks?: HealthChecksInput;
      /** Whether a target must serve the model that the request names. */
      model_routing?: "prefer" | "any" | "require";
      timeouts?: TimeoutsInput;
      /** Attempts in all for one request. */
      max_attempts?: number;
    }[];
    services?: {
      /** Service name. */
      name: string;
      type?: "upstream";
      /** Free text. */
      description?: string;
      /** The name of an upstream of the same gateway. */
      upstream: string;
    }[];
    rules?: {
      name?: string | null;
      /** Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`. */
      path: string;
      /** HTTP methods matched. */
      methods: string[];
      /** Remove the matched path before forwarding. */
      strip_path?: boolean;
      /** Send the client's Host to the target. */
      preserve_host?: boolean;
      /** Among rules that match equally well, lower comes first. */
      priority?: number;
      /** Headers a request must have, with this value; `*`: any value. */
      headers?: Record<string, string>;
      /** Unset: the gateway decides. */
      require_api_key?: boolean | null;
      /** Turns every answer into this shape, whatever the target speaks. */
      response_format?: "openai" | null;
      /** An inactive rule matches nothing. */
      active?: boolean;
      /** The name of a service of the same gateway. */
      service: string;
    }[];
    /** Absent: nothing is said about keys. */
    api_keys?: {
      /** Key name. */
      name: string;
      /** Rules of the gateway by name or path; none means every rule. */
      policies?: string[];
      /** ISO 8601; unset: never. */
      expires_at?: string | null;
      /** Hash of the key. Unset: the key that is there, or a new one, told once. */
      key_sha256?: string | null;
      /** The first nine characters of the key that key_sha256 stands for. */
      prefix?: string | null;
    }[];
  }[];
}

export interface ApiKeyWithKey {
  /** Key name. */
  name: string;
  subject_type: "gateway";
  /** The gateway that the key belongs to. */
  subject: string;
  /** Rules the key is valid for; none means every rule. */
  policies: string[];
  /** ISO 8601; unset: never. */
  expires_at: string | null;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** The first nine characters of the key. */
  prefix: string;
  /** False: the key is revoked. */
  active: boolean;
  last_used_at: string | null;
  key: string;
}

export interface UsageReport {
  usage: {
    day?: string;
    model?: string | null;
    api_key_id?: string | null;
    api_key?: string | null;
    /** Chat requests with a response, and other requests that used tokens. */
    requests: number;
    /** Requests among them whose token counts are incomplete. */
    partial_requests: number;
    input_tokens: number;
    output_tokens: number;
    /** US dollars. Models without a price are not included. */
    cost: number;
  }[];
  from: string;
  to: string;
  total: {
    /** Chat requests with a response, and other requests that used tokens. */
    requests: number;
    /** Requests among them whose token counts are incomplete. */
    partial_requests: number;
    input_tokens: number;
    output_tokens: number;
    /** US dollars. Models without a price are not included. */
    cost: number;
  };
}

export interface Prices {
  /** The first that matches a model is its price. */
  prices: Price[];
  /** Whether these are the built-in prices. */
  builtin: boolean;
  updated_at: string;
}

export interface Price {
  /** The model as it is sent to the provider; a `*` at the end stands for any rest. */
  model: string;
  /** US dollars for a million tokens of input. */
  input_per_million: number;
  /** US dollars for a million tokens of output. */
  output_per_million: number;
}

export interface Explanation {
  /** The gateway that the request is for. */
  gateway: {
    id: string;
    name: string;
  } | null;
  rule: {
    id: string;
    name: string | null;
    path: string;
  } | null;
  /** Those that fit best first, 200 at most. */
  rules: {
    id: string;
    path: string;
    matched: boolean;
    reason: string;
  }[];
  authentication: {
    required: boolean;
    api_key: {
      id: string;
      name: string;
    } | null;
    verdict: "allowed" | "denied";
    reason: string;
  };
  plugins: {
    name: string;
    stage: "pre_request" | "post_request" | "pre_response" | "post_response";
    verdict: "passed" | "changed" | "answered" | "failed" | "not_run";
    detail: string | null;
  }[];
  /** As the answer's headers would tell them: this request is taken off. */
  limits: {
    type: string;
    limit: number;
    remaining: number;
    reset: string;
    window: string;
  }[];
  targets: {
    id: string;
    provider: string;
    priority: number;
    weight: number;
    state: "healthy" | "out" | "trial" | "resting";
    eligible: boolean;
    /** It would be asked now. With chance in play no target says so. */
    next: boolean;
    reason: string;
    model: string | null;
  }[];
  /** What would be sent first, with credentials masked. */
  upstream_request: {
    target_id: string;
    method: string;
    url: string;
    headers: Record<string, string>;
    body: string | null;
  } | null;
  /** What the gateway itself would answer. */
  answer: {
    status: number;
    code: string | null;
    error: string | null;
  } | null;
}

export interface RevisionWithDiff {
  revision: number;
  created_at: string;
  /** `sub` of the admin token that made the change. */
  subject: string | null;
  action: "create" | "update" | "delete" | "rollback" | "apply";
  /** `gateway`, `upstream`, …, `prices`, or `configuration` for a change of several records. */
  resource: string;
  resource_id: string | null;
  gateway_id: string | null;
  name: string | null;
  diff: {
    path: string;
    before: unknown;
    after: unknown;
  }[];
  /** Number of changed fields that are missing in `diff` because there are too many. */
  diff_left_out?: number;
}

export interface Applied {
  changes: {
    action: "create" | "update" | "delete" | "none";
    resource: "gateway" | "upstream" | "service" | "rule" | "api_key";
    gateway: string;
    name: string;
    diff: {
      path: string;
      before: unknown;
      after: unknown;
    }[];
    /** The key of a new API key without key_sha256. It is not shown again. */
    key?: string;
  }[];
  revision: number;
}

export interface Rollback {
  revision: number;
  /** API keys that were revoked or rotated since then. They remain so. */
  not_undone: {
    api_key_id: string;
    name: string;
    reason: "revoked" | "rotated";
  }[];
}

export interface Error {
  /** A sentence for people. */
  error: string;
  /** A stable code for programs. */
  code:
    | "bad_request"
    | "invalid_json"
    | "invalid_yaml"
    | "validation_failed"
    | "ambiguous_gateway"
    | "untranslatable"
    | "unauthorized"
    | "api_key_required"
    | "invalid_api_key"
    | "rate_limit_blocked"
    | "code_injection_detected"
    | "rule_not_allowed"
    | "not_found"
    | "request_log_off"
    | "rule_not_found"
    | "model_not_found"
    | "method_not_allowed"
    | "request_timeout"
    | "duplicate"
    | "in_use"
    | "api_key_revoked"
    | "precondition_failed"
    | "body_too_large"
    | "unsupported_media_type"
    | "rate_limit_exceeded"
    | "too_many_listeners"
    | "plugin_failed"
    | "internal_error"
    | "upstream_unreachable"
    | "upstream_forbidden"
    | "upstream_bad_answer"
    | "not_ready"
    | "overloaded"
    | "no_healthy_target"
    | "counters_unavailable"
    | "store_unavailable"
    | "upstream_timeout";
  request_id: string;
  details?: {
    path: string;
    message: string;
  }[];
  retry_after?: string;
}

export interface RequestList {
  requests: {
    request_id: string;
    /** When the request arrived. */
    time: string;
    /** Revision of the configuration that the request used. */
    revision: number;
    gateway_id: string | null;
    gateway: string | null;
    method: string;
    path: string;
    rule: {
      id: string;
      name: string | null;
      path: string;
    } | null;
    api_key: {
      id: string;
      name: string;
    } | null;
    status: number;
    outcome: "complete" | "incomplete" | "client_left" | "failed";
    /** Code of the error, if the gateway or a plugin responded with one. */
    error_code: string | null;
    provider: string | null;
    target_id: string | null;
    /** The model that was sent to the provider. */
    model: string | null;
    requested_model: string | null;
    stream: boolean;
    attempts: {
      target_id: string;
      provider: string;
      model: string | null;
      status: number | null;
      /** Why there is no complete response. */
      fault: string | null;
      /** Since the start of the request. */
      start_ms: number;
      /** Since the start of the attempt. */
      first_byte_ms: number | null;
      ms: number;
    }[];
    tokens: {
      input: number;
      output: number;
      partial: boolean;
    } | null;
    /** US dollars. */
    cost: number | null;
    timings: {
      total_ms: number;
      first_byte_ms: number | null;
      /** Until the request body was read. */
      body_ms: number;
      plugins_ms: number;
      /** Sum of all attempts, each until its last byte. */
      upstream_ms: number;
    };
    plugins: {
      name: string;
      stage: string;
      ms: number;
      verdict: "passed" | "changed" | "answered" | "failed";
      detail: string | null;
    }[];
    /** Present if the gateway has `log_bodies`. Truncated after 16 KiB; known secrets are removed. */
    bodies?: {
      request: string;
      response: string;
    };
  }[];
  count: number;
  limit: number;
}

export interface TargetHealthList {
  targets: {
    target_id: string;
    provider: string;
    /** `out`: ejected by passive health checks; `trial`: one trial request is allowed; `resting`: the provider responded 429 with a pause. */
    state: "healthy" | "out" | "trial" | "resting";
    /** Consecutive failures. */
    failures: number;
    /** When the state `out` or `resting` ends. */
    until: string | null;
    in_flight: number;
    /** Moving average of the time to first byte. */
    latency_ms: number | null;
  }[];
}

export interface Traffic {
  points: {
    time: string;
    requests: number;
    /** Responses with status 400 or above, and incomplete responses. */
    errors: number;
    p50_ms: number | null;
    p99_ms: number | null;
    first_byte_p50_ms: number | null;
    input_tokens: number;
    output_tokens: number;
    /** US dollars. */
    cost: number;
    /** Requests that were not sent to any provider, by error code. */
    refused: Record<string, number>;
  }[];
}
