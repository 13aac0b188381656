// Generated from the OpenAPI document by npm run docs; do not edit.

export interface Gateway {
  /** Name of the gateway. */
  name: string;
  /** DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`. */
  subdomain: string | null;
  /** Plugins that run for requests to the gateway. */
  required_plugins: PluginConfig[];
  /** Rules require an API key unless they set require_api_key to false. */
  require_api_key: boolean;
  /** The request log keeps bodies, truncated after 16 KiB. */
  log_bodies: boolean;
  /** The format of the gateway's own error responses. `auto`: the format of the request, which SDKs of providers expect. */
  error_format: "gatehouse" | "openai" | "anthropic" | "auto";
  /** Websites that may call the gateway from a browser. Null: none. */
  cors: Cors | null;
  /** X-User-ID alone identifies a user of budgets. Otherwise a user is the pair of API key and user id. */
  trust_user_header: boolean;
  /** Prices of models for this gateway. They come before the prices of the installation and the built-in ones. */
  prices: Price[];
  /** Issuers whose tokens the MCP endpoints of the gateway accept, besides API keys. */
  jwt_issuers: JwtIssuer[];
  id: string;
  created_at: string;
  updated_at: string;
}

export interface PluginConfig {
  /** `rate_limiter`, `code_sanitation`, or the name of a registered custom plugin. */
  name: string;
  /** When the plugin runs. */
  stage: "pre_request" | "post_request" | "pre_response" | "post_response";
  /** A disabled plugin does not run. */
  enabled: boolean;
  /** Plugins with a lower number run first; with equal numbers, in the order of the list. */
  priority: number;
  /** Settings of the plugin. The plugin validates them. */
  settings: Record<string, unknown>;
  /** What happens to the request if the plugin throws an error or takes longer than 5 seconds. A plugin that inspects texts, and whose worker or process does not run its hook to the end, fails the request in any case. */
  on_error: "fail" | "continue";
  /** `shadow`: the plugin runs on a copy of each request. What it would do is recorded and has no effect. The default of `prompt_guard` is `shadow`. */
  mode: "enforce" | "shadow";
  /** In shadow mode, the share of the requests on which the plugin runs: 0 to 1. */
  sample: number;
  /** Where the hooks run. `inline`: in the process of the gateway. `worker`: in a worker thread. `process`: in a process without environment variables and with a memory limit. An endless loop or a crash in a worker or process affects no other request. */
  isolation: "inline" | "worker" | "process";
}

export interface Cors {
  /** Websites that may call the gateway, such as `https://app.example.com`, or `"*"` for all. */
  origins: string[];
  /** Request headers that scripts may send. Null: every header they ask for. */
  headers: string[] | null;
  /** Seconds for which browsers remember the permission. */
  max_age: number;
}

export interface Price {
  /** The model that is sent to the provider. A `*` at the end matches any suffix. */
  model: string;
  /** US dollars per million input tokens. */
  input?: string;
  /** US dollars per million output tokens. */
  output?: string;
  /** Input that the provider read from its cache. Default: `input`. */
  cached_input?: string;
  /** Input that the provider cached for five minutes. Default: `input`. */
  cache_write_5m?: string;
  /** Input that the provider cached for an hour. Default: `input`. */
  cache_write_1h?: string;
  /** Output that is reasoning. Default: `output`. */
  reasoning?: string;
  /** Input that is audio. Default: `input`. */
  audio_input?: string;
  /** Output that is audio. Default: `output`. */
  audio_output?: string;
  /** US dollars per request, in addition to its tokens. */
  per_request?: string;
  /** Prices of the whole request if its input is larger. Absent ones are those of the price. */
  above?: {
    /** Applies to requests with more input tokens than this. */
    tokens: number;
    /** US dollars per million input tokens. */
    input?: string;
    /** US dollars per million output tokens. */
    output?: string;
    /** Input that the provider read from its cache. Default: `input`. */
    cached_input?: string;
    /** Input that the provider cached for five minutes. Default: `input`. */
    cache_write_5m?: string;
    /** Input that the provider cached for an hour. Default: `input`. */
    cache_write_1h?: string;
    /** Output that is reasoning. Default: `output`. */
    reasoning?: string;
    /** Input that is audio. Default: `input`. */
    audio_input?: string;
    /** Output that is audio. Default: `output`. */
    audio_output?: string;
    /** US dollars per request, in addition to its tokens. */
    per_request?: string;
  };
  /** Tokens that the model accepts at most. */
  context_window?: number;
  /** Tokens that the model returns at most. */
  max_output_tokens?: number;
  /** The same as `input`, as a number. */
  input_per_million?: number;
  /** The same as `output`, as a number. */
  output_per_million?: number;
}

export interface JwtIssuer {
  /** The claim `iss` of its tokens. */
  issuer: string;
  /** A value that the claim `aud` must contain, such as the address of the MCP endpoint. */
  audience: string;
  /** Where the public keys of the issuer are. https, except on a loopback address. */
  jwks_url: string;
  claims: JwtClaims;
}

export interface JwtClaims {
  /** Claim with the id of the user. */
  user: string;
  /** Claims whose values are labels, by the name of the label. Usage and budgets use them as those of API keys. */
  labels: Record<string, string>;
  /** Claim with the patterns of tools, prompts and resources that the user may use, as in the `tools` of an API key: an array, or a text with spaces between them. A token without it may use no tools. Null: all tools. */
  tools: string | null;
}

export interface GatewayList {
  gateways: Gateway[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface GatewayInput {
  /** Name of the gateway. */
  name: string;
  /** DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`. */
  subdomain?: string | null;
  /** Plugins that run for requests to the gateway. */
  required_plugins?: PluginConfigInput[];
  /** Rules require an API key unless they set require_api_key to false. */
  require_api_key?: boolean;
  /** The request log keeps bodies, truncated after 16 KiB. */
  log_bodies?: boolean;
  /** The format of the gateway's own error responses. `auto`: the format of the request, which SDKs of providers expect. */
  error_format?: "gatehouse" | "openai" | "anthropic" | "auto";
  /** Websites that may call the gateway from a browser. Null: none. */
  cors?: CorsInput | null;
  /** X-User-ID alone identifies a user of budgets. Otherwise a user is the pair of API key and user id. */
  trust_user_header?: boolean;
  /** Prices of models for this gateway. They come before the prices of the installation and the built-in ones. */
  prices?: PriceInput[];
  /** Issuers whose tokens the MCP endpoints of the gateway accept, besides API keys. */
  jwt_issuers?: JwtIssuerInput[];
}

export interface PluginConfigInput {
  /** `rate_limiter`, `code_sanitation`, or the name of a registered custom plugin. */
  name: string;
  /** When the plugin runs. */
  stage: "pre_request" | "post_request" | "pre_response" | "post_response";
  /** A disabled plugin does not run. */
  enabled?: boolean;
  /** Plugins with a lower number run first; with equal numbers, in the order of the list. */
  priority?: number;
  /** Settings of the plugin. The plugin validates them. */
  settings?: Record<string, unknown>;
  /** What happens to the request if the plugin throws an error or takes longer than 5 seconds. A plugin that inspects texts, and whose worker or process does not run its hook to the end, fails the request in any case. */
  on_error?: "fail" | "continue";
  /** `shadow`: the plugin runs on a copy of each request. What it would do is recorded and has no effect. The default of `prompt_guard` is `shadow`. */
  mode?: "enforce" | "shadow";
  /** In shadow mode, the share of the requests on which the plugin runs: 0 to 1. */
  sample?: number;
  /** Where the hooks run. `inline`: in the process of the gateway. `worker`: in a worker thread. `process`: in a process without environment variables and with a memory limit. An endless loop or a crash in a worker or process affects no other request. */
  isolation?: "inline" | "worker" | "process";
}

export interface CorsInput {
  /** Websites that may call the gateway, such as `https://app.example.com`, or `"*"` for all. */
  origins: string[];
  /** Request headers that scripts may send. Null: every header they ask for. */
  headers?: string[] | null;
  /** Seconds for which browsers remember the permission. */
  max_age?: number;
}

export interface PriceInput {
  /** The model that is sent to the provider. A `*` at the end matches any suffix. */
  model: string;
  /** US dollars per million input tokens. */
  input?: string;
  /** US dollars per million output tokens. */
  output?: string;
  /** Input that the provider read from its cache. Default: `input`. */
  cached_input?: string;
  /** Input that the provider cached for five minutes. Default: `input`. */
  cache_write_5m?: string;
  /** Input that the provider cached for an hour. Default: `input`. */
  cache_write_1h?: string;
  /** Output that is reasoning. Default: `output`. */
  reasoning?: string;
  /** Input that is audio. Default: `input`. */
  audio_input?: string;
  /** Output that is audio. Default: `output`. */
  audio_output?: string;
  /** US dollars per request, in addition to its tokens. */
  per_request?: string;
  /** Prices of the whole request if its input is larger. Absent ones are those of the price. */
  above?: {
    /** Applies to requests with more input tokens than this. */
    tokens: number;
    /** US dollars per million input tokens. */
    input?: string;
    /** US dollars per million output tokens. */
    output?: string;
    /** Input that the provider read from its cache. Default: `input`. */
    cached_input?: string;
    /** Input that the provider cached for five minutes. Default: `input`. */
    cache_write_5m?: string;
    /** Input that the provider cached for an hour. Default: `input`. */
    cache_write_1h?: string;
    /** Output that is reasoning. Default: `output`. */
    reasoning?: string;
    /** Input that is audio. Default: `input`. */
    audio_input?: string;
    /** Output that is audio. Default: `output`. */
    audio_output?: string;
    /** US dollars per request, in addition to its tokens. */
    per_request?: string;
  };
  /** Tokens that the model accepts at most. */
  context_window?: number;
  /** Tokens that the model returns at most. */
  max_output_tokens?: number;
  /** The same as `input`, as a number. */
  input_per_million?: number;
  /** The same as `output`, as a number. */
  output_per_million?: number;
}

export interface JwtIssuerInput {
  /** The claim `iss` of its tokens. */
  issuer: string;
  /** A value that the claim `aud` must contain, such as the address of the MCP endpoint. */
  audience: string;
  /** Where the public keys of the issuer are. https, except on a loopback address. */
  jwks_url: string;
  claims?: JwtClaimsInput;
}

export interface JwtClaimsInput {
  /** Claim with the id of the user. */
  user?: string;
  /** Claims whose values are labels, by the name of the label. Usage and budgets use them as those of API keys. */
  labels?: Record<string, string>;
  /** Claim with the patterns of tools, prompts and resources that the user may use, as in the `tools` of an API key: an array, or a text with spaces between them. A token without it may use no tools. Null: all tools. */
  tools?: string | null;
}

export interface Upstream {
  /** Name of the upstream. */
  name: string;
  /** Provider endpoints. */
  targets: Target[];
  /** Load balancing algorithm. */
  algorithm:
    "round-robin" | "weighted-round-robin" | "random" | "least-connections" | "lowest-latency" | "ip-hash";
  health_checks: HealthChecks;
  /** How the model of a request restricts the targets: `require` one that serves it, `prefer` one, or use `any`. With `require`, a request whose model cannot be determined is rejected. Null: a target without `path` gets only requests for models that it serves, or that name none; targets with a `path` are used as with `prefer`. */
  model_routing: "prefer" | "any" | "require" | null;
  timeouts: Timeouts;
  /** Hold the events of a stream that have no content until the first content. A stream that breaks, ends or reports an error before is tried at another target. Null: only where the response is translated, with the default limits. */
  commit: Commit | null;
  /** Send a request that has no content after some time to another target too. The first content is relayed, the other attempt is aborted. Null: requests are not hedged. */
  hedge: Hedge | null;
  /** What happens to a response whose client leaves. `settle`: the provider is stopped, and the tokens that it has generated are estimated. `drain`: the provider is read to its usage for at most 30 seconds, without a client, and the request is settled exactly; at most 100 at a time in each process. */
  on_cancel: "settle" | "drain";
  /** Maximum number of attempts for one request. */
  max_attempts: number;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
}

export interface Target {
  /** Set by the server. Send it back to keep the health state of the target. */
  id?: string;
  /** A known provider (see GET /providers), or any other name together with base_url. */
  provider: string;
  /** Path at the provider. Null: the provider's endpoint for what the path of the request names, else its chat endpoint; "": the path of the request. */
  path: string | null;
  /** Relative share of requests. 0: no new requests. */
  weight: number;
  /** Tier. The lowest number with a healthy target is used. */
  priority: number;
  /** Model for requests that do not name one. */
  default_model: string | null;
  /** Models that the target serves. Empty: all. */
  models: string[];
  /** Additional request headers for the provider. Values of headers that carry a credential by their name (`Authorization`, `X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`. */
  headers: Record<string, string>;
  /** Without them, the client's own provider credential is forwarded. */
  credentials: Credentials | null;
  /** Base URL that replaces the one of the provider. */
  base_url: string | null;
  /** Wire format that replaces the one of the provider. */
  format: "openai" | "anthropic" | "responses" | "gemini" | null;
}

export type Credentials =
  | {
      /** May be omitted. */
      type?: "header";
      /** Header that carries the credential. */
      header_name: string;
      /** The credential. Responses show it masked. Send the masked value back to keep the stored one, unless provider, base_url, header_name, or the header Host changes. */
      header_value: string;
    }
  | {
      type: "aws_sigv4";
      /** Region of the endpoint, such as `us-east-1`. */
      region: string;
      /** Signing name of the service, such as `sagemaker`. */
      service: string;
      /** Null, together with `secret_access_key`: the role of the gateway's environment, which `ALLOW_ENVIRONMENT_CREDENTIALS` must allow. */
      access_key_id: string | null;
      /** Responses show it masked. Send the masked value back to keep the stored one, unless provider, base_url, or the header Host changes. */
      secret_access_key: string | null;
      /** Of temporary keys. Responses show it masked. Send the masked value back to keep the stored one. */
      session_token: string | null;
    }
  | {
      type: "gcp_service_account";
      /** The text of the JSON key file of a service account. Its `token_uri` is not used: tokens are fetched from the own address of Google. Responses show it masked. Send the masked value back to keep the stored one, unless provider, base_url, or the header Host changes. */
      service_account: string;
      scopes: string[];
    }
  | {
      type: "azure_client";
      /** Id or domain of the Microsoft Entra tenant. */
      tenant_id: string;
      /** Application (client) id. */
      client_id: string;
      /** Responses show it masked. Send the masked value back to keep the stored one, unless tenant_id, provider, base_url, or the header Host changes. */
      client_secret: string;
      scope: string;
    }
  | {
      type: "oauth_client_credentials";
      /** Token endpoint of the authorization server. */
      token_url: string;
      client_id: string;
      /** Responses show it masked. Send the masked value back to keep the stored one, unless token_url, provider, base_url, or the header Host changes. */
      client_secret: string;
      scope: string | null;
    };

export interface HealthChecks {
  /** Eject targets whose requests fail. */
  passive: boolean;
  /** Consecutive failures after which a target is ejected. */
  threshold: number;
  /** Seconds until a trial request is sent to an ejected target. */
  interval: number;
}

export interface Timeouts {
  connect: number;
  /** Until the response headers are complete. */
  first_byte: number;
  /** Until the first content of a stream, from the start of the attempt. Null: there is no limit. */
  first_content: number | null;
  /** Between two chunks of the response body. */
  idle: number;
  total: number | null;
}

export interface Commit {
  /** For how many milliseconds at most, from the response headers on. 0: nothing is held. */
  max_ms: number;
  /** How many bytes at most. */
  max_bytes: number;
}

export interface Hedge {
  /** Milliseconds without content after which the request is also sent to another target, at most `timeouts.first_content`. `p95`: the 95th percentile of the latest times to first content. */
  after: "p95" | number;
  /** Share of the requests of the last 10 minutes that may be sent twice. */
  budget: number;
}

export interface UpstreamList {
  upstreams: Upstream[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface UpstreamInput {
  /** Name of the upstream. */
  name: string;
  /** Provider endpoints. */
  targets: TargetInput[];
  /** Load balancing algorithm. */
  algorithm?:
    "round-robin" | "weighted-round-robin" | "random" | "least-connections" | "lowest-latency" | "ip-hash";
  health_checks?: HealthChecksInput;
  /** How the model of a request restricts the targets: `require` one that serves it, `prefer` one, or use `any`. With `require`, a request whose model cannot be determined is rejected. Null: a target without `path` gets only requests for models that it serves, or that name none; targets with a `path` are used as with `prefer`. */
  model_routing?: "prefer" | "any" | "require" | null;
  timeouts?: TimeoutsInput;
  /** Hold the events of a stream that have no content until the first content. A stream that breaks, ends or reports an error before is tried at another target. Null: only where the response is translated, with the default limits. */
  commit?: CommitInput | null;
  /** Send a request that has no content after some time to another target too. The first content is relayed, the other attempt is aborted. Null: requests are not hedged. */
  hedge?: HedgeInput | null;
  /** What happens to a response whose client leaves. `settle`: the provider is stopped, and the tokens that it has generated are estimated. `drain`: the provider is read to its usage for at most 30 seconds, without a client, and the request is settled exactly; at most 100 at a time in each process. */
  on_cancel?: "settle" | "drain";
  /** Maximum number of attempts for one request. */
  max_attempts?: number;
}

export interface TargetInput {
  /** Set by the server. Send it back to keep the health state of the target. */
  id?: string;
  /** A known provider (see GET /providers), or any other name together with base_url. */
  provider: string;
  /** Path at the provider. Null: the provider's endpoint for what the path of the request names, else its chat endpoint; "": the path of the request. */
  path?: string | null;
  /** Relative share of requests. 0: no new requests. */
  weight?: number;
  /** Tier. The lowest number with a healthy target is used. */
  priority?: number;
  /** Model for requests that do not name one. */
  default_model?: string | null;
  /** Models that the target serves. Empty: all. */
  models?: string[];
  /** Additional request headers for the provider. Values of headers that carry a credential by their name (`Authorization`, `X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`. */
  headers?: Record<string, string>;
  /** Without them, the client's own provider credential is forwarded. */
  credentials?: CredentialsInput | null;
  /** Base URL that replaces the one of the provider. */
  base_url?: string | null;
  /** Wire format that replaces the one of the provider. */
  format?: "openai" | "anthropic" | "responses" | "gemini" | null;
}

export type CredentialsInput =
  | {
      /** May be omitted. */
      type?: "header";
      /** Header that carries the credential. */
      header_name: string;
      /** The credential. Responses show it masked. Send the masked value back to keep the stored one, unless provider, base_url, header_name, or the header Host changes. */
      header_value: string;
    }
  | {
      type: "aws_sigv4";
      /** Region of the endpoint, such as `us-east-1`. */
      region: string;
      /** Signing name of the service, such as `sagemaker`. */
      service: string;
      /** Null, together with `secret_access_key`: the role of the gateway's environment, which `ALLOW_ENVIRONMENT_CREDENTIALS` must allow. */
      access_key_id?: string | null;
      /** Responses show it masked. Send the masked value back to keep the stored one, unless provider, base_url, or the header Host changes. */
      secret_access_key?: string | null;
      /** Of temporary keys. Responses show it masked. Send the masked value back to keep the stored one. */
      session_token?: string | null;
    }
  | {
      type: "gcp_service_account";
      /** The text of the JSON key file of a service account. Its `token_uri` is not used: tokens are fetched from the own address of Google. Responses show it masked. Send the masked value back to keep the stored one, unless provider, base_url, or the header Host changes. */
      service_account: string;
      scopes?: string[];
    }
  | {
      type: "azure_client";
      /** Id or domain of the Microsoft Entra tenant. */
      tenant_id: string;
      /** Application (client) id. */
      client_id: string;
      /** Responses show it masked. Send the masked value back to keep the stored one, unless tenant_id, provider, base_url, or the header Host changes. */
      client_secret: string;
      scope?: string;
    }
  | {
      type: "oauth_client_credentials";
      /** Token endpoint of the authorization server. */
      token_url: string;
      client_id: string;
      /** Responses show it masked. Send the masked value back to keep the stored one, unless token_url, provider, base_url, or the header Host changes. */
      client_secret: string;
      scope?: string | null;
    };

export interface HealthChecksInput {
  /** Eject targets whose requests fail. */
  passive?: boolean;
  /** Consecutive failures after which a target is ejected. */
  threshold?: number;
  /** Seconds until a trial request is sent to an ejected target. */
  interval?: number;
}

export interface TimeoutsInput {
  connect?: number;
  /** Until the response headers are complete. */
  first_byte?: number;
  /** Until the first content of a stream, from the start of the attempt. Null: there is no limit. */
  first_content?: number | null;
  /** Between two chunks of the response body. */
  idle?: number;
  total?: number | null;
}

export interface CommitInput {
  /** For how many milliseconds at most, from the response headers on. 0: nothing is held. */
  max_ms?: number;
  /** How many bytes at most. */
  max_bytes?: number;
}

export interface HedgeInput {
  /** Milliseconds without content after which the request is also sent to another target, at most `timeouts.first_content`. `p95`: the 95th percentile of the latest times to first content. */
  after?: "p95" | number;
  /** Share of the requests of the last 10 minutes that may be sent twice. */
  budget?: number;
}

export interface McpServer {
  /** Name of the server, unique in its gateway. */
  name: string;
  /** Its Streamable HTTP endpoint. */
  url: string;
  /** Additional request headers. Values of headers that carry a credential by their name (`Authorization`, `X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`. */
  headers: Record<string, string>;
  /** Sent with each request. A credential of a client that the gateway accepted is never sent. */
  credentials: Credentials | null;
  /** A client may send a credential of the server in `X-MCP-<name>-Authorization`. It replaces the header `Authorization`. */
  forward_authorization: boolean;
  /** Which tools are offered. */
  tools: McpTools;
  /** Tools and prompts are named `prefix__name` where a service has several servers. Null: the name of the server. */
  prefix: string | null;
  /** What happens if the definition of a tool changes: nothing, it is reported, or the tool is withheld until it is approved. With `hold`, new tools are withheld, too. */
  pin: "off" | "warn" | "hold";
  timeouts: McpTimeouts;
  /** False: the server gets no requests. */
  enabled: boolean;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
}

export interface McpTools {
  /** Patterns of the tools that are offered; `*` matches any characters. Null: all tools. */
  allow: string[] | null;
  /** Patterns of tools that are not offered, also if `allow` matches them. */
  deny: string[];
}

export interface McpTimeouts {
  connect: number;
  /** For a list of tools, prompts, or resources. A server that takes longer is left out of it. */
  list: number;
  /** For any other request. A call that reports progress may take longer: this is the longest silence. */
  call: number;
}

export interface McpServerList {
  mcp_servers: McpServer[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface McpServerInput {
  /** Name of the server, unique in its gateway. */
  name: string;
  /** Its Streamable HTTP endpoint. */
  url: string;
  /** Additional request headers. Values of headers that carry a credential by their name (`Authorization`, `X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`. */
  headers?: Record<string, string>;
  /** Sent with each request. A credential of a client that the gateway accepted is never sent. */
  credentials?: CredentialsInput | null;
  /** A client may send a credential of the server in `X-MCP-<name>-Authorization`. It replaces the header `Authorization`. */
  forward_authorization?: boolean;
  /** Which tools are offered. */
  tools?: McpToolsInput;
  /** Tools and prompts are named `prefix__name` where a service has several servers. Null: the name of the server. */
  prefix?: string | null;
  /** What happens if the definition of a tool changes: nothing, it is reported, or the tool is withheld until it is approved. With `hold`, new tools are withheld, too. */
  pin?: "off" | "warn" | "hold";
  timeouts?: McpTimeoutsInput;
  /** False: the server gets no requests. */
  enabled?: boolean;
}

export interface McpToolsInput {
  /** Patterns of the tools that are offered; `*` matches any characters. Null: all tools. */
  allow?: string[] | null;
  /** Patterns of tools that are not offered, also if `allow` matches them. */
  deny?: string[];
}

export interface McpTimeoutsInput {
  connect?: number;
  /** For a list of tools, prompts, or resources. A server that takes longer is left out of it. */
  list?: number;
  /** For any other request. A call that reports progress may take longer: this is the longest silence. */
  call?: number;
}

export interface Service {
  /** Name of the service. */
  name: string;
  /** An upstream of the same gateway. Required, unless the type is `mcp`. */
  upstream_id: string | null;
  /** MCP servers of the same gateway, if the type is `mcp`. */
  mcp_server_ids: string[];
  /** What the rules of the service lead to: providers of models, or tools of MCP servers. */
  type: "upstream" | "mcp";
  /** Which targets of virtual models the rules of the service use: those at its own upstream, or those at any upstream of the gateway. */
  virtual_models: "own" | "any";
  /** Free text. */
  description: string;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
}

export interface ServiceList {
  services: Service[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface ServiceInput {
  /** Name of the service. */
  name: string;
  /** An upstream of the same gateway. Required, unless the type is `mcp`. */
  upstream_id?: string | null;
  /** MCP servers of the same gateway, if the type is `mcp`. */
  mcp_server_ids?: string[];
  /** What the rules of the service lead to: providers of models, or tools of MCP servers. */
  type?: "upstream" | "mcp";
  /** Which targets of virtual models the rules of the service use: those at its own upstream, or those at any upstream of the gateway. */
  virtual_models?: "own" | "any";
  /** Free text. */
  description?: string;
}

export interface Rule {
  name: string | null;
  /** A service of the same gateway. */
  service_id: string;
  /** Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`. */
  path: string;
  /** HTTP methods that the rule matches. `["*"]`: all. */
  methods: ("GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" | "*")[];
  /** What the rule allows in addition to inference, at targets without `path`: listing and deleting `files`, `batches` and stored `responses`; deleting `models`; `fine_tuning`; `other`, also other methods than POST for inference. All API keys share the provider's account. */
  operations: (
    | "chat"
    | "messages"
    | "responses"
    | "generate_content"
    | "completions"
    | "embeddings"
    | "models"
    | "count_tokens"
    | "images"
    | "audio_speech"
    | "audio_transcription"
    | "moderations"
    | "files"
    | "batches"
    | "rerank"
    | "fine_tuning"
    | "other"
  )[];
  /** Where texts may pass plugins that inspect texts but cannot do so there. Without it, such requests are rejected with `guard_not_applicable`. WebSockets need both `realtime_text` and `realtime_audio`. */
  unguarded: ("realtime_text" | "realtime_audio" | "files" | "batches" | "mcp")[];
  /** Remove the matched path before forwarding. */
  strip_path: boolean;
  /** Send the client's Host to the target. */
  preserve_host: boolean;
  /** Among rules that match equally well, the lowest number is used. */
  priority: number;
  /** Headers that a request must have. `*` matches any value. */
  headers: Record<string, string>;
  /** Whether an API key is required. Null: as the gateway. */
  require_api_key: boolean | null;
  /** Wire format of the response; `request`: that of the request. Responses of targets with another format are translated. Null: `request` for targets without `path`, otherwise the format of the target. */
  response_format: "request" | "openai" | "anthropic" | "responses" | null;
  /** The format of the gateway's own error responses. Null: as the gateway. */
  error_format: "gatehouse" | "openai" | "anthropic" | "auto" | null;
  /** An inactive rule matches nothing. */
  active: boolean;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
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
  /** HTTP methods that the rule matches. `["*"]`: all. */
  methods: string[];
  /** What the rule allows in addition to inference, at targets without `path`: listing and deleting `files`, `batches` and stored `responses`; deleting `models`; `fine_tuning`; `other`, also other methods than POST for inference. All API keys share the provider's account. */
  operations?: (
    | "chat"
    | "messages"
    | "responses"
    | "generate_content"
    | "completions"
    | "embeddings"
    | "models"
    | "count_tokens"
    | "images"
    | "audio_speech"
    | "audio_transcription"
    | "moderations"
    | "files"
    | "batches"
    | "rerank"
    | "fine_tuning"
    | "other"
  )[];
  /** Where texts may pass plugins that inspect texts but cannot do so there. Without it, such requests are rejected with `guard_not_applicable`. WebSockets need both `realtime_text` and `realtime_audio`. */
  unguarded?: ("realtime_text" | "realtime_audio" | "files" | "batches" | "mcp")[];
  /** Remove the matched path before forwarding. */
  strip_path?: boolean;
  /** Send the client's Host to the target. */
  preserve_host?: boolean;
  /** Among rules that match equally well, the lowest number is used. */
  priority?: number;
  /** Headers that a request must have. `*` matches any value. */
  headers?: Record<string, string>;
  /** Whether an API key is required. Null: as the gateway. */
  require_api_key?: boolean | null;
  /** Wire format of the response; `request`: that of the request. Responses of targets with another format are translated. Null: `request` for targets without `path`, otherwise the format of the target. */
  response_format?: "request" | "openai" | "anthropic" | "responses" | null;
  /** The format of the gateway's own error responses. Null: as the gateway. */
  error_format?: "gatehouse" | "openai" | "anthropic" | "auto" | null;
  /** An inactive rule matches nothing. */
  active?: boolean;
}

export interface VirtualModel {
  /** The name that clients request; exact, or a prefix that ends in `*`. */
  name: string;
  /** Further exact names. */
  aliases: string[];
  /** The upstreams and models that serve the name. */
  targets: {
    /** Id of an upstream of the same gateway. */
    upstream: string;
    /** The model that is sent. Null: the name that the client requested. */
    model: string | null;
    /** Relative share of requests. 0: no new requests. */
    weight: number;
  }[];
  /** How a target is chosen: by weight; in the order of the list; by the time to the first token; by the price; or so that conversations stay where the provider has cached their beginning. */
  strategy: "weighted" | "fallback" | "lowest-latency" | "lowest-cost" | "cache-affinity";
  /** Names of virtual models that are used instead, in this order. */
  fallback: string[];
  /** Why a virtual model of `fallback` is used: no target is available, all are rate limited, none can hold the input, the provider's content filter rejected the request, or a budget is used up. */
  fallback_on: ("unavailable" | "rate_limited" | "context" | "content_filter" | "budget")[];
  /** With the strategy `weighted`: the requests of a conversation go to the same target. */
  sticky: boolean;
  /** Whether GET /v1/models lists the name. */
  visible: boolean;
  /** Another target that serves a share of the users. */
  canary: {
    /** The upstream and the model that are tried. */
    target: {
      /** Id of an upstream of the same gateway. */
      upstream: string;
      /** The model that is sent. Null: the name that the client requested. */
      model: string | null;
    };
    /** Share of the subjects that the canary serves, from 0 (off) to 1. */
    share: number;
    /** What is assigned to the canary or to the other targets, and stays there: API keys, users of API keys, or conversations. */
    by: "api_key" | "user" | "conversation";
    /** When the gateway sets `share` to 0 by itself. Null: never. */
    rollback_if: {
      /** The canary is switched off if its share of failed requests is this many times that of the other targets. */
      error_ratio: number | null;
      /** The canary is switched off if its mean time to the first byte is this many times that of the other targets. */
      first_byte_ratio: number | null;
      /** Nothing is compared before the canary and the other targets had this many requests each. */
      min_requests: number;
    } | null;
    /** Set by the gateway when it sets `share` to 0. Null if the share is above 0. */
    rolled_back: {
      /** When the gateway has switched the canary off. */
      at: string;
      /** The share that it had. */
      share: number;
      reason: string;
    } | null;
  } | null;
  /** Another target that gets copies of requests after their responses have begun. Its responses are discarded. */
  mirror: {
    /** The upstream and the model that get the copies. */
    target: {
      /** Id of an upstream of the same gateway. */
      upstream: string;
      /** The model that is sent. Null: the name that the client requested. */
      model: string | null;
    };
    /** Share of the requests that are copied, from 0 (off) to 1. */
    share: number;
  } | null;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
}

export interface VirtualModelList {
  models: VirtualModel[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface VirtualModelInput {
  /** The name that clients request; exact, or a prefix that ends in `*`. */
  name: string;
  /** Further exact names. */
  aliases?: string[];
  /** The upstreams and models that serve the name. */
  targets: {
    /** Id of an upstream of the same gateway. */
    upstream: string;
    /** The model that is sent. Null: the name that the client requested. */
    model?: string | null;
    /** Relative share of requests. 0: no new requests. */
    weight?: number;
  }[];
  /** How a target is chosen: by weight; in the order of the list; by the time to the first token; by the price; or so that conversations stay where the provider has cached their beginning. */
  strategy?: "weighted" | "fallback" | "lowest-latency" | "lowest-cost" | "cache-affinity";
  /** Names of virtual models that are used instead, in this order. */
  fallback?: string[];
  /** Why a virtual model of `fallback` is used: no target is available, all are rate limited, none can hold the input, the provider's content filter rejected the request, or a budget is used up. */
  fallback_on?: ("unavailable" | "rate_limited" | "context" | "content_filter" | "budget")[];
  /** With the strategy `weighted`: the requests of a conversation go to the same target. */
  sticky?: boolean;
  /** Whether GET /v1/models lists the name. */
  visible?: boolean;
  /** Another target that serves a share of the users. */
  canary?: {
    /** The upstream and the model that are tried. */
    target: {
      /** Id of an upstream of the same gateway. */
      upstream: string;
      /** The model that is sent. Null: the name that the client requested. */
      model?: string | null;
    };
    /** Share of the subjects that the canary serves, from 0 (off) to 1. */
    share: number;
    /** What is assigned to the canary or to the other targets, and stays there: API keys, users of API keys, or conversations. */
    by?: "api_key" | "user" | "conversation";
    /** When the gateway sets `share` to 0 by itself. Null: never. */
    rollback_if?: {
      /** The canary is switched off if its share of failed requests is this many times that of the other targets. */
      error_ratio?: number | null;
      /** The canary is switched off if its mean time to the first byte is this many times that of the other targets. */
      first_byte_ratio?: number | null;
      /** Nothing is compared before the canary and the other targets had this many requests each. */
      min_requests?: number;
    } | null;
    /** Set by the gateway when it sets `share` to 0. Null if the share is above 0. */
    rolled_back?: {
      /** When the gateway has switched the canary off. */
      at: string;
      /** The share that it had. */
      share: number;
      reason: string;
    } | null;
  } | null;
  /** Another target that gets copies of requests after their responses have begun. Its responses are discarded. */
  mirror?: {
    /** The upstream and the model that get the copies. */
    target: {
      /** Id of an upstream of the same gateway. */
      upstream: string;
      /** The model that is sent. Null: the name that the client requested. */
      model?: string | null;
    };
    /** Share of the requests that are copied, from 0 (off) to 1. */
    share: number;
  } | null;
}

export interface Budget {
  /** Name of the budget, in responses and metrics. Unique in the gateway. */
  name: string;
  /** What is counted: US dollars or tokens. */
  unit: "usd" | "tokens";
  /** How much may be used in a period: US dollars as a decimal string such as "25.00", or a whole number of tokens. */
  amount: string | number;
  /** Calendar hour, day, week (from Monday) or month. `total`: never starts again unless it is reset. */
  period: "hour" | "day" | "week" | "month" | "total";
  /** IANA time zone in which periods start. */
  timezone: string;
  /** Whose requests count: those of the whole gateway, an API key, a label, a user or a model. */
  scope: "gateway" | "api_key" | "label" | "user" | "model";
  /** With the scope `label`: the name of the label. */
  label: string | null;
  /** Id or name of the API key, value of the label, id of the user, or name of the model. */
  value: string | null;
  /** Instead of `value`: every API key, value of the label, user or model has this amount. */
  each: boolean;
  /** Only requests that may use these models count: exact names, or prefixes that end in `*`. Null: all models. */
  models: string[] | null;
  /** enforce: requests that do not fit are rejected (402). warn: they are only reported. */
  mode: "enforce" | "warn";
  /** Shares of the amount that are reported, once per period each. */
  warn_at: number[];
  /** A request whose model has no price is rejected, or costs nothing. For the unit `usd`. */
  on_unknown_price: "refuse" | "free";
  /** If the shared ledger is unavailable: counted per node (local), not counted (open) or 503 (closed). Null: closed if mode is enforce, open if it is warn. */
  on_store_failure: "local" | "open" | "closed" | null;
  /** URL that receives a POST request for each of `warn_at`, once per period. Responses show its path and query masked; the masked URL keeps the stored one. */
  webhook: string | null;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
}

export interface BudgetList {
  budgets: Budget[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface BudgetInput {
  /** Name of the budget, in responses and metrics. Unique in the gateway. */
  name: string;
  /** What is counted: US dollars or tokens. */
  unit: "usd" | "tokens";
  /** How much may be used in a period: US dollars as a decimal string such as "25.00", or a whole number of tokens. */
  amount: string | number;
  /** Calendar hour, day, week (from Monday) or month. `total`: never starts again unless it is reset. */
  period?: "hour" | "day" | "week" | "month" | "total";
  /** IANA time zone in which periods start. */
  timezone?: string;
  /** Whose requests count: those of the whole gateway, an API key, a label, a user or a model. */
  scope?: "gateway" | "api_key" | "label" | "user" | "model";
  /** With the scope `label`: the name of the label. */
  label?: string | null;
  /** Id or name of the API key, value of the label, id of the user, or name of the model. */
  value?: string | null;
  /** Instead of `value`: every API key, value of the label, user or model has this amount. */
  each?: boolean;
  /** Only requests that may use these models count: exact names, or prefixes that end in `*`. Null: all models. */
  models?: string[] | null;
  /** enforce: requests that do not fit are rejected (402). warn: they are only reported. */
  mode?: "enforce" | "warn";
  /** Shares of the amount that are reported, once per period each. */
  warn_at?: number[];
  /** A request whose model has no price is rejected, or costs nothing. For the unit `usd`. */
  on_unknown_price?: "refuse" | "free";
  /** If the shared ledger is unavailable: counted per node (local), not counted (open) or 503 (closed). Null: closed if mode is enforce, open if it is warn. */
  on_store_failure?: "local" | "open" | "closed" | null;
  /** URL that receives a POST request for each of `warn_at`, once per period. Responses show its path and query masked; the masked URL keeps the stored one. */
  webhook?: string | null;
}

export interface GameDay {
  /** Name of the game day. */
  name: string;
  /** False: stopped. */
  enabled: boolean;
  /** ISO 8601 time. Null: when the record is created. */
  starts_at: string | null;
  /** ISO 8601 time, at most 24 hours ahead. Nothing is injected afterwards. */
  ends_at: string;
  /** Which requests are affected. All conditions must hold. */
  match: {
    /** Ids of rules. Empty: all rules. */
    rules: string[];
    /** Ids of API keys. Empty: all requests, also those without a key. */
    keys: string[];
    /** Labels that the API key must have, with these values. */
    labels: Record<string, string>;
    /** Models that clients request: exact names, or prefixes that end in `*`. Empty: all. */
    models: string[];
    /** Headers that the request must have. `*` matches any value. */
    headers: Record<string, string>;
    /** The share of these requests that is affected. */
    share: number;
  };
  /** At most this many requests are affected, on all nodes together. Null: no limit. */
  max_requests: number | null;
  /** Each attempt gets the first of these that applies to it. */
  faults: {
    /** refuse: no connection. delay: the response starts later. status: an error response. cut: the connection breaks. stall: nothing more arrives. slow: a pause before each event. error_event: the stream reports an error. empty: no body. truncated_json: half of the JSON. missing_usage: no token counts. redis_away: limits and budgets are decided as if Redis were unavailable. */
    type:
      | "refuse"
      | "delay"
      | "status"
      | "cut"
      | "stall"
      | "slow"
      | "error_event"
      | "empty"
      | "truncated_json"
      | "missing_usage"
      | "redis_away";
    /** delay: before the response. slow: before each event. In milliseconds. */
    ms: number | null;
    /** status: the status. */
    status: number | null;
    /** status: seconds in the Retry-After header. Null: no such header. */
    retry_after: number | null;
    /** cut, stall, error_event: how many events of a stream arrive before. A response that is no stream is one event. */
    after_events: number;
    /** Only attempts at these targets. Empty: at all targets. */
    target_ids: string[];
    /** Only the first attempts of each request, this many. Null: all attempts. */
    attempts: number | null;
    /** The share of these attempts that gets the fault. */
    share: number;
  }[];
  /** When the game day stops by itself. */
  abort_if: {
    /** The requests of the gateway that are observed: those that are not affected, those that are, or all. */
    requests: "others" | "affected" | "all";
    /** Stops if more than this share fails: status 5xx, or an incomplete response. Null: no limit. */
    error_ratio: number | null;
    /** Stops if the 99th percentile of the duration exceeds this many milliseconds. Null: no limit. */
    p99_ms: number | null;
    /** Decided only with this many requests in the last 10 seconds on one node. */
    min_requests: number;
  } | null;
  /** What the verdict checks. */
  expect: {
    /** At least this share of the affected requests gets a complete response below 400. */
    success_ratio: number | null;
    /** At least this share of the affected requests succeeds at another attempt than the first. */
    failover_ratio: number | null;
    /** The 99th percentile of the duration of affected requests is at most this many milliseconds. */
    p99_ms: number | null;
    /** At least this many requests are affected. */
    min_requests: number;
  };
  /** Affected requests use a copy of the health of targets and of the retry budget, so that faults do not change how other requests are served. */
  isolated: boolean;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
}

export interface GameDayList {
  game_days: GameDay[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface GameDayInput {
  /** Name of the game day. */
  name: string;
  /** False: stopped. */
  enabled?: boolean;
  /** ISO 8601 time. Null: when the record is created. */
  starts_at?: string | null;
  /** ISO 8601 time, at most 24 hours ahead. Nothing is injected afterwards. */
  ends_at: string;
  /** Which requests are affected. All conditions must hold. */
  match?: {
    /** Ids of rules. Empty: all rules. */
    rules?: string[];
    /** Ids of API keys. Empty: all requests, also those without a key. */
    keys?: string[];
    /** Labels that the API key must have, with these values. */
    labels?: Record<string, string>;
    /** Models that clients request: exact names, or prefixes that end in `*`. Empty: all. */
    models?: string[];
    /** Headers that the request must have. `*` matches any value. */
    headers?: Record<string, string>;
    /** The share of these requests that is affected. */
    share?: number;
  };
  /** At most this many requests are affected, on all nodes together. Null: no limit. */
  max_requests?: number | null;
  /** Each attempt gets the first of these that applies to it. */
  faults: {
    /** refuse: no connection. delay: the response starts later. status: an error response. cut: the connection breaks. stall: nothing more arrives. slow: a pause before each event. error_event: the stream reports an error. empty: no body. truncated_json: half of the JSON. missing_usage: no token counts. redis_away: limits and budgets are decided as if Redis were unavailable. */
    type:
      | "refuse"
      | "delay"
      | "status"
      | "cut"
      | "stall"
      | "slow"
      | "error_event"
      | "empty"
      | "truncated_json"
      | "missing_usage"
      | "redis_away";
    /** delay: before the response. slow: before each event. In milliseconds. */
    ms?: number | null;
    /** status: the status. */
    status?: number | null;
    /** status: seconds in the Retry-After header. Null: no such header. */
    retry_after?: number | null;
    /** cut, stall, error_event: how many events of a stream arrive before. A response that is no stream is one event. */
    after_events?: number;
    /** Only attempts at these targets. Empty: at all targets. */
    target_ids?: string[];
    /** Only the first attempts of each request, this many. Null: all attempts. */
    attempts?: number | null;
    /** The share of these attempts that gets the fault. */
    share?: number;
  }[];
  /** When the game day stops by itself. */
  abort_if?: {
    /** The requests of the gateway that are observed: those that are not affected, those that are, or all. */
    requests?: "others" | "affected" | "all";
    /** Stops if more than this share fails: status 5xx, or an incomplete response. Null: no limit. */
    error_ratio?: number | null;
    /** Stops if the 99th percentile of the duration exceeds this many milliseconds. Null: no limit. */
    p99_ms?: number | null;
    /** Decided only with this many requests in the last 10 seconds on one node. */
    min_requests?: number;
  } | null;
  /** What the verdict checks. */
  expect?: {
    /** At least this share of the affected requests gets a complete response below 400. */
    success_ratio?: number | null;
    /** At least this share of the affected requests succeeds at another attempt than the first. */
    failover_ratio?: number | null;
    /** The 99th percentile of the duration of affected requests is at most this many milliseconds. */
    p99_ms?: number | null;
    /** At least this many requests are affected. */
    min_requests?: number;
  };
  /** Affected requests use a copy of the health of targets and of the retry budget, so that faults do not change how other requests are served. */
  isolated?: boolean;
}

export interface ApiKey {
  /** Name of the key. */
  name: string;
  subject_type: "gateway";
  /** The gateway that the key belongs to. */
  subject: string;
  /** Ids of the rules that the key is valid for. Empty: all rules of the gateway. */
  policies: string[];
  /** ISO 8601 time. Null: the key does not expire. */
  expires_at: string | null;
  /** At most 8 labels, such as a team. Usage can be grouped by them. */
  labels: Record<string, string>;
  /** Models that the key may use: exact names, or prefixes that end in `*`. Null: all models. Checked against the requested model and against the model that is sent to a provider. */
  models: string[] | null;
  /** Tools, prompts and resources of MCP servers that the key may use: patterns of `prefix__name`, where `*` matches any characters; the name of a resource or template is its URI. The prefix is that of the server, also where a service with one server shows names without it. Null: everything. */
  tools: string[] | null;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
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
  /** Name of the key. */
  name: string;
  subject_type?: "gateway";
  /** The gateway that the key belongs to. */
  subject: string;
  /** Ids of the rules that the key is valid for. Empty: all rules of the gateway. */
  policies?: string[];
  /** ISO 8601 time. Null: the key does not expire. */
  expires_at?: string | null;
  /** At most 8 labels, such as a team. Usage can be grouped by them. */
  labels?: Record<string, string>;
  /** Models that the key may use: exact names, or prefixes that end in `*`. Null: all models. Checked against the requested model and against the model that is sent to a provider. */
  models?: string[] | null;
  /** Tools, prompts and resources of MCP servers that the key may use: patterns of `prefix__name`, where `*` matches any characters; the name of a resource or template is its URI. The prefix is that of the server, also where a service with one server shows names without it. Null: everything. */
  tools?: string[] | null;
}

export interface Block {
  id: string;
  type: string;
  subject: string;
  created_at: string;
  /** Null for a block that does not expire. */
  expires_at: string | null;
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
  /** The mode of entries that name none. */
  default_mode: "enforce" | "shadow";
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
  title: string;
  group: "model_maker" | "cloud" | "aggregator" | "self_hosted";
  base_url: string | null;
  /** For a provider without `base_url`. */
  base_url_example: string | null;
  format: "openai" | "anthropic" | "responses" | "gemini";
  default_path: string;
  formats: ("openai" | "anthropic" | "responses" | "gemini")[];
  operations: (
    | "chat"
    | "messages"
    | "responses"
    | "generate_content"
    | "completions"
    | "embeddings"
    | "models"
    | "count_tokens"
    | "images"
    | "audio_speech"
    | "audio_transcription"
    | "moderations"
    | "files"
    | "batches"
    | "rerank"
    | "fine_tuning"
    | "other"
  )[];
  /** The types of credentials that it accepts, the usual one first. Empty: usually none. */
  credential_types: ("header" | "aws_sigv4" | "azure_client")[];
  key_header: {
    name: string;
    /** The part of the value before the key. */
    prefix: string;
  };
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
  /** Name of the administrator; null for a token without `sub`. */
  subject: string | null;
  /** The administrator who made the change. Null for revisions of versions that did not record it. */
  actor: {
    /** `server_secret`: a token signed with SERVER_SECRET_KEY. `admin_token`: a stored token. `oidc`: a user who signed in. `gatehouse`: the gateway itself. */
    type: "server_secret" | "admin_token" | "oidc" | "gatehouse";
    /** Id of the stored token, or `sub` of the user. */
    id: string | null;
    name: string;
  } | null;
  action: "create" | "update" | "delete" | "rollback" | "apply";
  /** `gateway`, `upstream`, …, `prices`, or `configuration` for a change of several records. */
  resource: string;
  resource_id: string | null;
  gateway_id: string | null;
  name: string | null;
  /** Why the gateway itself made the change. Null for changes of administrators. */
  reason: string | null;
}

export interface RevisionList {
  revisions: Revision[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface AuditEntry {
  sequence: number;
  created_at: string;
  /** Null for requests that were rejected. */
  actor: {
    /** `server_secret`: a token signed with SERVER_SECRET_KEY. `admin_token`: a stored token. `oidc`: a user who signed in. `gatehouse`: the gateway itself. */
    type: "server_secret" | "admin_token" | "oidc" | "gatehouse";
    /** Id of the stored token, or `sub` of the user. */
    id: string | null;
    name: string;
  } | null;
  role: "viewer" | "operator" | "owner" | null;
  /** Address of the client. Null for rejected requests of further addresses, counted together. */
  address: string | null;
  request_id: string | null;
  action:
    | "create"
    | "update"
    | "delete"
    | "apply"
    | "rollback"
    | "revoke"
    | "read_secrets"
    | "sign_in"
    | "sign_out"
    | "refused";
  resource: string | null;
  resource_id: string | null;
  gateway_id: string | null;
  name: string | null;
  /** The revision that the action created. */
  revision: number | null;
  /** Of a change: `records` with their changed `fields`. Of rejected requests: `count`, `codes`, `actors`, `first_at`, `last_at`. */
  details: Record<string, unknown> | null;
  /** SHA-256 over the hash of the entry before, the sequence number, and the stored text of this entry. */
  hash: string;
}

export interface AuditEntryList {
  audit_entries: AuditEntry[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface AdminToken {
  /** Name of the token. Revisions and the audit log show it. */
  name: string;
  /** `viewer` reads. `operator` also changes everything but API keys, credentials, and administrators. `owner` does everything. */
  role: "viewer" | "operator" | "owner";
  /** Ids of the gateways that the token is limited to. Null: all gateways. */
  gateways: string[] | null;
  expires_at: string;
  id: string;
  created_at: string;
  updated_at: string;
  /** The first 15 characters of the token. */
  prefix: string;
  /** False: the token is revoked. */
  active: boolean;
  /** Accurate to about a minute. */
  last_used_at: string | null;
  /** Name of the administrator who created the token. */
  created_by: string;
}

export interface AdminTokenList {
  admin_tokens: AdminToken[];
  /** Number of all matching records, not only of those on this page. */
  count: number;
  limit: number;
  offset: number;
}

export interface AdminTokenInput {
  /** Name of the token. Revisions and the audit log show it. */
  name: string;
  /** `viewer` reads. `operator` also changes everything but API keys, credentials, and administrators. `owner` does everything. */
  role?: "viewer" | "operator" | "owner";
  /** Ids of the gateways that the token is limited to. Null: all gateways. */
  gateways?: string[] | null;
  /** ISO 8601 time. Default: 90 days after creation. */
  expires_at?: string;
}

export interface AdminTokenChange {
  /** Name of the token. Revisions and the audit log show it. */
  name?: string;
  /** ISO 8601 time. Default: 90 days after creation. */
  expires_at?: string;
}

export interface PricesInput {
  /** The first entry that matches a model is its price. */
  prices: PriceInput[];
}

export interface McpToolApprovalInput {
  /** The definition that is approved. If the server has changed it since, the response is 409. */
  hash?: string;
}

export interface BudgetReset {
  /** With `each` or the scope `user`: the subject, as in `top_spenders`, or the name of an API key. Absent: all subjects. */
  subject?: string;
}

export interface BudgetAdjustment {
  /** With `each` or the scope `user`: the subject, as in `top_spenders`, or the name of an API key. Required there. */
  subject?: string;
  /** Is added to what is spent; negative to subtract. Dollars as a decimal string. */
  amount: string | number;
}

export interface RuleMove {
  /** Another rule of the gateway. */
  before?: string;
  /** Another rule of the gateway. */
  after?: string;
}

export interface ExplainInput {
  method?: string;
  /** Path with query. */
  path: string;
  /** Request headers of the client. Without Host, the request is for this gateway. */
  headers?: Record<string, string>;
  /** Id or name of an API key of this gateway. The request is explained as if the client had sent this key. */
  api_key?: string;
  /** A string is sent as it is. Any other value is sent as JSON, with Content-Type application/json unless `headers` has another. */
  body?: unknown;
  /** An MCP request, instead of `body`: the JSON-RPC method and its params. The header fields and the `_meta` that the protocol needs are added. */
  mcp?: {
    method?: string;
    params?: Record<string, unknown>;
  };
  /** Address of the client. */
  client_address?: string;
}

export interface ConnectionTestInput {
  /** A stored upstream. Its timeouts apply, and masked secrets of `target` refer to it. */
  upstream_id?: string;
  /** A target of the upstream, instead of `target`. */
  target_id?: string;
  /** A target that need not be stored. */
  target?: TargetInput;
}

export interface DocumentInput {
  version?: 1;
  gateways: {
    /** Name of the gateway. */
    name: string;
    /** DNS label, unique: `acme` serves the Host `acme.<BASE_DOMAIN>`. */
    subdomain?: string | null;
    /** Plugins that run for requests to the gateway. */
    required_plugins?: PluginConfigInput[];
    /** Rules require an API key unless they set require_api_key to false. */
    require_api_key?: boolean;
    /** The request log keeps bodies, truncated after 16 KiB. */
    log_bodies?: boolean;
    /** The format of the gateway's own error responses. `auto`: the format of the request, which SDKs of providers expect. */
    error_format?: "gatehouse" | "openai" | "anthropic" | "auto";
    /** Websites that may call the gateway from a browser. Null: none. */
    cors?: CorsInput | null;
    /** X-User-ID alone identifies a user of budgets. Otherwise a user is the pair of API key and user id. */
    trust_user_header?: boolean;
    /** Prices of models for this gateway. They come before the prices of the installation and the built-in ones. */
    prices?: PriceInput[];
    /** Issuers whose tokens the MCP endpoints of the gateway accept, besides API keys. */
    jwt_issuers?: JwtIssuerInput[];
    upstreams?: {
      /** Name of the upstream. */
      name: string;
      /** Provider endpoints. */
      targets: {
        /** A known provider (see GET /providers), or any other name together with base_url. */
        provider: string;
        /** Path at the provider. Null: the provider's endpoint for what the path of the request names, else its chat endpoint; "": the path of the request. */
        path?: string | null;
        /** Relative share of requests. 0: no new requests. */
        weight?: number;
        /** Tier. The lowest number with a healthy target is used. */
        priority?: number;
        /** Model for requests that do not name one. */
        default_model?: string | null;
        /** Models that the target serves. Empty: all. */
        models?: string[];
        /** Additional request headers for the provider. Values of headers that carry a credential by their name (`Authorization`, `X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`. */
        headers?: Record<string, string>;
        /** Without them, the client's own provider credential is forwarded. */
        credentials?: CredentialsInput | null;
        /** Base URL that replaces the one of the provider. */
        base_url?: string | null;
        /** Wire format that replaces the one of the provider. */
        format?: "openai" | "anthropic" | "responses" | "gemini" | null;
      }[];
      /** Load balancing algorithm. */
      algorithm?:
        | "round-robin"
        | "weighted-round-robin"
        | "random"
        | "least-connections"
        | "lowest-latency"
        | "ip-hash";
      health_checks?: HealthChecksInput;
      /** How the model of a request restricts the targets: `require` one that serves it, `prefer` one, or use `any`. With `require`, a request whose model cannot be determined is rejected. Null: a target without `path` gets only requests for models that it serves, or that name none; targets with a `path` are used as with `prefer`. */
      model_routing?: "prefer" | "any" | "require" | null;
      timeouts?: TimeoutsInput;
      /** Hold the events of a stream that have no content until the first content. A stream that breaks, ends or reports an error before is tried at another target. Null: only where the response is translated, with the default limits. */
      commit?: CommitInput | null;
      /** Send a request that has no content after some time to another target too. The first content is relayed, the other attempt is aborted. Null: requests are not hedged. */
      hedge?: HedgeInput | null;
      /** What happens to a response whose client leaves. `settle`: the provider is stopped, and the tokens that it has generated are estimated. `drain`: the provider is read to its usage for at most 30 seconds, without a client, and the request is settled exactly; at most 100 at a time in each process. */
      on_cancel?: "settle" | "drain";
      /** Maximum number of attempts for one request. */
      max_attempts?: number;
    }[];
    mcp_servers?: McpServerInput[];
    services?: {
      /** Name of the service. */
      name: string;
      /** Name of an upstream of the same gateway. Required, unless the type is `mcp`. */
      upstream?: string | null;
      /** Names of MCP servers of the same gateway, if the type is `mcp`. */
      mcp_servers?: string[];
      /** What the rules of the service lead to: providers of models, or tools of MCP servers. */
      type?: "upstream" | "mcp";
      /** Which targets of virtual models the rules of the service use: those at its own upstream, or those at any upstream of the gateway. */
      virtual_models?: "own" | "any";
      /** Free text. */
      description?: string;
    }[];
    rules?: {
      name?: string | null;
      /** Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`. */
      path: string;
      /** HTTP methods that the rule matches. `["*"]`: all. */
      methods: string[];
      /** What the rule allows in addition to inference, at targets without `path`: listing and deleting `files`, `batches` and stored `responses`; deleting `models`; `fine_tuning`; `other`, also other methods than POST for inference. All API keys share the provider's account. */
      operations?: (
        | "chat"
        | "messages"
        | "responses"
        | "generate_content"
        | "completions"
        | "embeddings"
        | "models"
        | "count_tokens"
        | "images"
        | "audio_speech"
        | "audio_transcription"
        | "moderations"
        | "files"
        | "batches"
        | "rerank"
        | "fine_tuning"
        | "other"
      )[];
      /** Where texts may pass plugins that inspect texts but cannot do so there. Without it, such requests are rejected with `guard_not_applicable`. WebSockets need both `realtime_text` and `realtime_audio`. */
      unguarded?: ("realtime_text" | "realtime_audio" | "files" | "batches" | "mcp")[];
      /** Remove the matched path before forwarding. */
      strip_path?: boolean;
      /** Send the client's Host to the target. */
      preserve_host?: boolean;
      /** Among rules that match equally well, the lowest number is used. */
      priority?: number;
      /** Headers that a request must have. `*` matches any value. */
      headers?: Record<string, string>;
      /** Whether an API key is required. Null: as the gateway. */
      require_api_key?: boolean | null;
      /** Wire format of the response; `request`: that of the request. Responses of targets with another format are translated. Null: `request` for targets without `path`, otherwise the format of the target. */
      response_format?: "request" | "openai" | "anthropic" | "responses" | null;
      /** The format of the gateway's own error responses. Null: as the gateway. */
      error_format?: "gatehouse" | "openai" | "anthropic" | "auto" | null;
      /** An inactive rule matches nothing. */
      active?: boolean;
      /** Name of a service of the same gateway. */
      service: string;
    }[];
    models?: {
      /** The name that clients request; exact, or a prefix that ends in `*`. */
      name: string;
      /** Further exact names. */
      aliases?: string[];
      /** The upstreams and models that serve the name. */
      targets: {
        /** Name of an upstream of the same gateway. */
        upstream: string;
        /** The model that is sent. Null: the name that the client requested. */
        model?: string | null;
        /** Relative share of requests. 0: no new requests. */
        weight?: number;
      }[];
      /** How a target is chosen: by weight; in the order of the list; by the time to the first token; by the price; or so that conversations stay where the provider has cached their beginning. */
      strategy?: "weighted" | "fallback" | "lowest-latency" | "lowest-cost" | "cache-affinity";
      /** Names of virtual models that are used instead, in this order. */
      fallback?: string[];
      /** Why a virtual model of `fallback` is used: no target is available, all are rate limited, none can hold the input, the provider's content filter rejected the request, or a budget is used up. */
      fallback_on?: ("unavailable" | "rate_limited" | "context" | "content_filter" | "budget")[];
      /** With the strategy `weighted`: the requests of a conversation go to the same target. */
      sticky?: boolean;
      /** Whether GET /v1/models lists the name. */
      visible?: boolean;
      /** Another target that serves a share of the users. */
      canary?: {
        /** The upstream and the model that are tried. */
        target: {
          /** Name of an upstream of the same gateway. */
          upstream: string;
          /** The model that is sent. Null: the name that the client requested. */
          model?: string | null;
        };
        /** Share of the subjects that the canary serves, from 0 (off) to 1. */
        share: number;
        /** What is assigned to the canary or to the other targets, and stays there: API keys, users of API keys, or conversations. */
        by?: "api_key" | "user" | "conversation";
        /** When the gateway sets `share` to 0 by itself. Null: never. */
        rollback_if?: {
          /** The canary is switched off if its share of failed requests is this many times that of the other targets. */
          error_ratio?: number | null;
          /** The canary is switched off if its mean time to the first byte is this many times that of the other targets. */
          first_byte_ratio?: number | null;
          /** Nothing is compared before the canary and the other targets had this many requests each. */
          min_requests?: number;
        } | null;
        /** Set by the gateway when it sets `share` to 0. Null if the share is above 0. */
        rolled_back?: {
          /** When the gateway has switched the canary off. */
          at: string;
          /** The share that it had. */
          share: number;
          reason: string;
        } | null;
      } | null;
      /** Another target that gets copies of requests after their responses have begun. Its responses are discarded. */
      mirror?: {
        /** The upstream and the model that get the copies. */
        target: {
          /** Name of an upstream of the same gateway. */
          upstream: string;
          /** The model that is sent. Null: the name that the client requested. */
          model?: string | null;
        };
        /** Share of the requests that are copied, from 0 (off) to 1. */
        share: number;
      } | null;
    }[];
    budgets?: BudgetInput[];
    /** Absent: the stored keys do not change. */
    api_keys?: {
      /** Name of the key. */
      name: string;
      /** Names or paths of rules of the gateway. Empty: all rules. */
      policies?: string[];
      /** ISO 8601 time. Null: the key does not expire. */
      expires_at?: string | null;
      /** At most 8 labels, such as a team. Usage can be grouped by them. */
      labels?: Record<string, string>;
      /** Models that the key may use: exact names, or prefixes that end in `*`. Null: all models. Checked against the requested model and against the model that is sent to a provider. */
      models?: string[] | null;
      /** Tools, prompts and resources of MCP servers that the key may use: patterns of `prefix__name`, where `*` matches any characters; the name of a resource or template is its URI. The prefix is that of the server, also where a service with one server shows names without it. Null: everything. */
      tools?: string[] | null;
      /** SHA-256 of the key. Null: keep the stored key, or generate one and show it once. */
      key_sha256?: string | null;
      /** The first nine characters of the key whose hash is key_sha256. */
      prefix?: string | null;
    }[];
  }[];
  /** Prices of models for all gateways. Absent: they do not change. Null: only the built-in prices. */
  prices?: PriceInput[] | null;
}

export interface ApiKeyWithKey {
  /** Name of the key. */
  name: string;
  subject_type: "gateway";
  /** The gateway that the key belongs to. */
  subject: string;
  /** Ids of the rules that the key is valid for. Empty: all rules of the gateway. */
  policies: string[];
  /** ISO 8601 time. Null: the key does not expire. */
  expires_at: string | null;
  /** At most 8 labels, such as a team. Usage can be grouped by them. */
  labels: Record<string, string>;
  /** Models that the key may use: exact names, or prefixes that end in `*`. Null: all models. Checked against the requested model and against the model that is sent to a provider. */
  models: string[] | null;
  /** Tools, prompts and resources of MCP servers that the key may use: patterns of `prefix__name`, where `*` matches any characters; the name of a resource or template is its URI. The prefix is that of the server, also where a service with one server shows names without it. Null: everything. */
  tools: string[] | null;
  id: string;
  created_at: string;
  updated_at: string;
  gateway_id: string;
  /** Only in responses to writes, and only if there are any: what is legal in the record, but probably wrong. Read-only. */
  warnings?: {
    /** The field that the warning is about. */
    path: string;
    message: string;
  }[];
  /** The first nine characters of the key. */
  prefix: string;
  /** False: the key is revoked. */
  active: boolean;
  last_used_at: string | null;
  key: string;
}

export interface AdminTokenWithToken {
  /** Name of the token. Revisions and the audit log show it. */
  name: string;
  /** `viewer` reads. `operator` also changes everything but API keys, credentials, and administrators. `owner` does everything. */
  role: "viewer" | "operator" | "owner";
  /** Ids of the gateways that the token is limited to. Null: all gateways. */
  gateways: string[] | null;
  expires_at: string;
  id: string;
  created_at: string;
  updated_at: string;
  /** The first 15 characters of the token. */
  prefix: string;
  /** False: the token is revoked. */
  active: boolean;
  /** Accurate to about a minute. */
  last_used_at: string | null;
  /** Name of the administrator who created the token. */
  created_by: string;
  token: string;
}

export interface Me {
  actor: {
    /** `server_secret`: a token signed with SERVER_SECRET_KEY. `admin_token`: a stored token. `oidc`: a user who signed in. `gatehouse`: the gateway itself. */
    type: "server_secret" | "admin_token" | "oidc" | "gatehouse";
    /** Id of the stored token, or `sub` of the user. */
    id: string | null;
    name: string;
  };
  role: "viewer" | "operator" | "owner";
  /** Ids of the gateways that the administrator is limited to. Null: all. */
  gateways: string[] | null;
  /** When the token or the session expires. */
  expires_at: string | null;
}

export interface AuditVerification {
  valid: boolean;
  /** Number of verified entries. */
  entries: number;
  /** The last entry that AUDIT_KEPT has removed; 0: none. */
  removed: number;
  /** The newest entry. */
  sequence: number;
  /** Its hash, to compare with a log line. */
  hash: string;
  problem: {
    sequence: number;
    message: string;
  } | null;
}

export interface BudgetState {
  period: {
    name: "hour" | "day" | "week" | "month" | "total";
    starts_at: string | null;
    ends_at: string | null;
  };
  unit: "usd" | "tokens";
  amount: string | number;
  /** With `each` or the scope `user`: of all subjects together. */
  spent: string | number;
  /** By requests in progress. */
  reserved: string | number;
  /** Null with `each` or the scope `user`: every subject has its own. */
  remaining: string | number | null;
  /** With `each` or the scope `user`: who has used most. At most 10. */
  top_spenders: {
    /** Id of the API key, value of the label, user or model. */
    subject: string;
    /** Name of the API key; of a deleted one, its last name. */
    name: string | null;
    spent: string | number;
    reserved: string | number;
  }[];
}

export interface GameDayState {
  phase: "scheduled" | "running" | "ended" | "stopped" | "aborted";
  /** Requests that got a fault, on all nodes. */
  affected: {
    requests: number;
    /** Complete responses below 400. */
    succeeded: number;
    /** Status 5xx, or an incomplete response. */
    failed: number;
    /** Succeeded at another attempt than the first. */
    failed_over: number;
    /** 99th percentile of the duration, at most 5 % too high. */
    p99_ms: number | null;
  };
  /** The other requests of the gateway meanwhile. */
  others: {
    requests: number;
    /** Complete responses below 400. */
    succeeded: number;
    /** Status 5xx, or an incomplete response. */
    failed: number;
    /** Succeeded at another attempt than the first. */
    failed_over: number;
    /** 99th percentile of the duration, at most 5 % too high. */
    p99_ms: number | null;
  };
  /** Affected requests by the type of the fault. */
  by_fault: Record<string, number>;
  /** Why `abort_if` stopped the game day. */
  aborted: {
    at: string;
    reason: string;
  } | null;
  /** Pending until the game day is over. */
  verdict: "pending" | "passed" | "failed";
  checks: {
    check: "not_aborted" | "min_requests" | "success_ratio" | "failover_ratio" | "p99_ms";
    expected: number | null;
    actual: number | null;
    passed: boolean;
  }[];
}

export interface PluginShadow {
  name: string;
  stage: "pre_request" | "post_request" | "pre_response" | "post_response";
  /** Position of the entry in `required_plugins`, from 0. */
  position: number;
  mode: "enforce" | "shadow";
  sample: number;
  /** Why the next version cannot run with the settings of the entry, or which hooks of the entry do not run in shadow mode. Null otherwise. */
  problem: string | null;
  /** Time of the first result. Null: there is none. */
  since: string | null;
  counts: {
    /** Requests on which the plugin ran. */
    ran: number;
    passed: number;
    /** It would have changed the request or the response. */
    changed: number;
    /** It would have responded instead of a provider. */
    responded: number;
    failed: number;
    timed_out: number;
    /** It did not run: a limit of shadow mode was reached, or the body was not in memory. */
    skipped: number;
    /** Of the next version: requests with the same result. */
    agreed: number;
    disagreed: number;
  };
  /** How often the plugin would have responded with each status. */
  statuses: Record<string, number>;
  /** The last 100 requests on which the plugin would have had an effect; newest first. */
  samples: {
    request_id: string;
    time: string;
    outcome: "passed" | "changed" | "responded" | "failed" | "timed_out" | "skipped";
    status: number | null;
    /** What would have happened. Secrets are removed. */
    detail: string | null;
    agrees: boolean | null;
    ms: number;
  }[];
  /** The next version of the plugin (`NAME@next.ts` in PLUGINS_DIR). Null if there is none. */
  next: {
    /** Why the next version cannot run with the settings of the entry, or which hooks of the entry do not run in shadow mode. Null otherwise. */
    problem: string | null;
    /** Time of the first result. Null: there is none. */
    since: string | null;
    counts: {
      /** Requests on which the plugin ran. */
      ran: number;
      passed: number;
      /** It would have changed the request or the response. */
      changed: number;
      /** It would have responded instead of a provider. */
      responded: number;
      failed: number;
      timed_out: number;
      /** It did not run: a limit of shadow mode was reached, or the body was not in memory. */
      skipped: number;
      /** Of the next version: requests with the same result. */
      agreed: number;
      disagreed: number;
    };
    /** How often the plugin would have responded with each status. */
    statuses: Record<string, number>;
    /** The last 100 requests on which the plugin would have had an effect; newest first. */
    samples: {
      request_id: string;
      time: string;
      outcome: "passed" | "changed" | "responded" | "failed" | "timed_out" | "skipped";
      status: number | null;
      /** What would have happened. Secrets are removed. */
      detail: string | null;
      agrees: boolean | null;
      ms: number;
    }[];
  } | null;
}

export interface McpToolList {
  tools: {
    /** The name that the server uses. */
    name: string;
    /** `new`: the first definition, which is accepted without an approval. `changed`: it differs from the approved one. `withheld`: it is not the approved one, and the server has `pin: hold`. */
    status: "approved" | "new" | "changed" | "withheld";
    /** `changed`: the definition differs from the approved one. `new`: the tool was not in the first list of the server. `lookalike`: it is new, and its name looks like that of another tool, or has characters beyond ASCII. Null: it is not withheld. */
    withheld_because: "changed" | "new" | "lookalike" | null;
    /** Server and name of a tool that the name of this one looks like; null if there is none. */
    lookalike_of: string | null;
    /** Identifies the definition that was seen last. */
    hash: string;
    /** As it was seen last. Null if it is longer than 64 KiB. */
    definition: Record<string, unknown> | null;
    approved_at: string | null;
    first_seen_at: string;
    changed_at: string | null;
    /** What differs from the approved definition, at most 100 fields. */
    diff: {
      path: string;
      before: unknown;
      after: unknown;
    }[];
  }[];
  count: number;
  limit: number;
  offset: number;
}

export interface McpToolApproval {
  approved: string[];
}

export interface BudgetStateList {
  states: {
    period: {
      name: "hour" | "day" | "week" | "month" | "total";
      starts_at: string | null;
      ends_at: string | null;
    };
    unit: "usd" | "tokens";
    amount: string | number;
    /** With `each` or the scope `user`: of all subjects together. */
    spent: string | number;
    /** By requests in progress. */
    reserved: string | number;
    /** Null with `each` or the scope `user`: every subject has its own. */
    remaining: string | number | null;
    /** With `each` or the scope `user`: who has used most. At most 10. */
    top_spenders: {
      /** Id of the API key, value of the label, user or model. */
      subject: string;
      /** Name of the API key; of a deleted one, its last name. */
      name: string | null;
      spent: string | number;
      reserved: string | number;
    }[];
    /** Id of the budget. */
    budget_id: string;
  }[];
}

export interface UsageReport {
  usage: {
    day?: string;
    model?: string | null;
    api_key_id?: string | null;
    api_key?: string | null;
    rule_id?: string | null;
    /** Name of the rule, or its path if it has none. */
    rule?: string | null;
    provider?: string | null;
    /** `request`: calls for the responses to requests. `hedge`: calls of hedged requests whose responses were not used. `mirror`: copies. `cached`: requests that kept responses served. `plugin`: calls of plugins to services. */
    purpose?: string | null;
    gateway_id?: string;
    /** Name of the gateway; the last one if it was deleted. Null if it is not known. */
    gateway?: string | null;
    /** The gateway no longer exists. Its usage is kept, and continues if a rollback restores it. */
    gateway_deleted?: true;
    /** The labels that the sums are grouped by, as the API key had them at the time of the request. */
    labels?: Record<string, string | null>;
    /** Chat requests with a response, and other requests that used tokens. */
    requests: number;
    /** Requests among them whose token counts are incomplete. */
    partial_requests: number;
    input_tokens: number;
    output_tokens: number;
    /** Requests among them whose cost is unknown, because the model has no price or the provider reported no tokens. */
    unpriced_requests: number;
    /** US dollars, without the unpriced requests. Null if all requests are unpriced. */
    cost: number | null;
    /** Requests among them that kept responses served, at no cost. */
    cached_requests: number;
    /** Tokens that the kept responses had used. */
    saved_input_tokens: number;
    saved_output_tokens: number;
    /** US dollars. Null if no kept response has a cost. */
    saved_cost: number | null;
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
    /** Requests among them whose cost is unknown, because the model has no price or the provider reported no tokens. */
    unpriced_requests: number;
    /** US dollars, without the unpriced requests. Null if all requests are unpriced. */
    cost: number | null;
    /** Requests among them that kept responses served, at no cost. */
    cached_requests: number;
    /** Tokens that the kept responses had used. */
    saved_input_tokens: number;
    saved_output_tokens: number;
    /** US dollars. Null if no kept response has a cost. */
    saved_cost: number | null;
  };
}

export interface CacheState {
  store: "memory" | "redis";
  entries: number;
  bytes: number;
  /** 0 if the gateway has no plugin that keeps responses. */
  max_bytes: number;
  hits: number;
  /** Requests that waited for the response of an equal one. */
  coalesced: number;
  misses: number;
  kept: number;
  hit_ratio: number | null;
  saved_input_tokens: number;
  saved_output_tokens: number;
  /** US dollars. Null if none of the hits and coalesced requests has a known cost. */
  saved_cost: number | null;
  /** Hits and coalesced requests whose cost is unknown and not included in `saved_cost`. */
  unpriced_requests: number;
}

export interface Prices {
  /** The first entry that matches a model is its price. */
  prices: Price[];
  /** Whether these are the built-in prices. */
  builtin: boolean;
  updated_at: string;
}

export interface BuiltinPrices {
  /** The first entry that matches a model is its price. */
  prices: Price[];
  /** The day on which the prices were collected. */
  date: string;
  sources: string[];
}

export interface Explanation {
  /** The gateway that handles the request. */
  gateway: {
    id: string;
    name: string;
  } | null;
  rule: {
    id: string;
    name: string | null;
    path: string;
  } | null;
  /** `unguarded` of the rule: where texts pass plugins that cannot inspect them there. */
  unguarded: ("realtime_text" | "realtime_audio" | "files" | "batches" | "mcp")[];
  /** What the path asks for. Null if it names no operation, or if no target needs to know. */
  operation: string | null;
  /** Best matches first, at most 200. */
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
    /** Where the plugin runs; absent if that is inline. */
    isolation?: "inline" | "worker" | "process";
  }[];
  /** As in the rate limit headers of the response: this request is counted. */
  limits: {
    type: string;
    limit: number;
    remaining: number;
    reset: string;
    window: string;
  }[];
  /** The budgets that the request has to fit into. */
  budgets: {
    id: string;
    name: string;
    /** Whose amount it is, if every subject has its own. */
    subject: string | null;
    unit: "usd" | "tokens";
    /** The estimate that would be reserved. */
    requested: string;
    /** What would remain after this request. */
    remaining: string;
    resets_at: string | null;
    fits: boolean;
  }[];
  /** The game day that may affect the request. Null: none. */
  game_day: {
    id: string;
    name: string;
    /** The share of such requests that is affected. */
    share: number;
    faults: (
      | "refuse"
      | "delay"
      | "status"
      | "cut"
      | "stall"
      | "slow"
      | "error_event"
      | "empty"
      | "truncated_json"
      | "missing_usage"
      | "redis_away"
    )[];
  } | null;
  /** The virtual model with the requested name, with its targets and those of its fallbacks. Null if it is none. */
  virtual_model: {
    requested: string;
    name: string;
    strategy: "weighted" | "fallback" | "lowest-latency" | "lowest-cost" | "cache-affinity";
    /** The virtual model that would be used instead, and why. */
    fallback: {
      name: string;
      reason: "unavailable" | "rate_limited" | "context" | "content_filter" | "budget";
    } | null;
    /** Whether the canary or another target would serve. Null without a canary. */
    canary: "canary" | "stable" | null;
    /** The mirror of the virtual model. Budgets and copies in progress are not considered. Null without a mirror. */
    mirror: {
      upstream: string;
      model: string;
      share: number;
      /** Whether a copy would be sent. Null: the id of the request decides. */
      copied: boolean | null;
      reason: string;
    } | null;
    targets: {
      virtual_model: string;
      upstream: string;
      model: string;
      /** Whether it is the canary. */
      canary: boolean;
      weight: number;
      eligible: boolean;
      next: boolean;
      reason: string;
    }[];
  } | null;
  /** Null unless the rule leads to MCP servers. */
  mcp: {
    method: string;
    tool: string | null;
    /** The server that would serve the request, by its name. */
    server: {
      id: string;
      name: string;
    } | null;
    /** Whether the client may use what the request names. Null: not known, because no request is sent to a server. */
    allowed: boolean | null;
    reason: string;
    servers: {
      id: string;
      name: string;
      next: boolean;
      reason: string;
    }[];
  } | null;
  targets: {
    id: string;
    provider: string;
    priority: number;
    weight: number;
    state: "healthy" | "out" | "trial" | "resting";
    eligible: boolean;
    /** The first attempt would use this target. False for all targets if the choice is random. */
    next: boolean;
    reason: string;
    model: string | null;
    /** Type of the target's credentials. Null: the client's own provider credential is forwarded. */
    credentials: string | null;
  }[];
  /** The request of the first attempt, with credentials masked. */
  upstream_request: {
    target_id: string;
    method: string;
    url: string;
    headers: Record<string, string>;
    body: string | null;
    /** The formats that the request is translated from and to, the format of the response, and the fields of the request that the target's format lacks. Null: nothing is translated. */
    translation: {
      request_format: string;
      target_format: string;
      response_format: string;
      dropped: string[];
    } | null;
  } | null;
  /** Null: the upstream has no `hedge`. */
  hedge: {
    possible: boolean;
    /** Time without content after which a second target gets the request. Null: not known. */
    after_ms: number | null;
    /** Why the request would not be sent twice. */
    reason: string | null;
  } | null;
  /** `on_cancel` of the upstream, if a request would be sent: what happens if the client leaves. */
  on_cancel: "settle" | "drain" | null;
  /** The response, if the gateway itself would respond. */
  answer: {
    status: number;
    code: string | null;
    error: string | null;
  } | null;
}

export interface ConnectionTest {
  /** Whether no check failed. */
  ok: boolean;
  /** The address that was requested with GET. */
  url: string;
  /** Status of the response; null if there is none. */
  status: number | null;
  duration_ms: number;
  /** One per check, in this order. */
  checks: {
    /** `address`: the name resolves, and the server accepts a connection. `tls`: its certificate is valid. `response`: it returns a usable HTTP response. `credential`: it accepts the credential. */
    check: "address" | "tls" | "response" | "credential";
    /** `not_checked`: an earlier check failed, or the provider has no request that checks it at no cost. */
    result: "passed" | "failed" | "not_checked";
    message: string;
  }[];
}

export interface Replay {
  recorded: {
    request_id: string;
    time: string;
    status: number;
    error_code: string | null;
    rule: {
      id: string;
      name: string | null;
      path: string;
    } | null;
    revision: number;
  };
  /** The request that was explained: an input of `/explain`. */
  request: {
    method: string;
    path: string;
    headers: Record<string, string>;
    api_key?: string;
    body?: string;
    client_address: string;
  };
  /** What of the request was not recorded and is therefore assumed, and what was changed since. One sentence each. */
  not_recorded: string[];
  explanation: {
    /** The gateway that handles the request. */
    gateway: {
      id: string;
      name: string;
    } | null;
    rule: {
      id: string;
      name: string | null;
      path: string;
    } | null;
    /** `unguarded` of the rule: where texts pass plugins that cannot inspect them there. */
    unguarded: ("realtime_text" | "realtime_audio" | "files" | "batches" | "mcp")[];
    /** What the path asks for. Null if it names no operation, or if no target needs to know. */
    operation: string | null;
    /** Best matches first, at most 200. */
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
      /** Where the plugin runs; absent if that is inline. */
      isolation?: "inline" | "worker" | "process";
    }[];
    /** As in the rate limit headers of the response: this request is counted. */
    limits: {
      type: string;
      limit: number;
      remaining: number;
      reset: string;
      window: string;
    }[];
    /** The budgets that the request has to fit into. */
    budgets: {
      id: string;
      name: string;
      /** Whose amount it is, if every subject has its own. */
      subject: string | null;
      unit: "usd" | "tokens";
      /** The estimate that would be reserved. */
      requested: string;
      /** What would remain after this request. */
      remaining: string;
      resets_at: string | null;
      fits: boolean;
    }[];
    /** The game day that may affect the request. Null: none. */
    game_day: {
      id: string;
      name: string;
      /** The share of such requests that is affected. */
      share: number;
      faults: (
        | "refuse"
        | "delay"
        | "status"
        | "cut"
        | "stall"
        | "slow"
        | "error_event"
        | "empty"
        | "truncated_json"
        | "missing_usage"
        | "redis_away"
      )[];
    } | null;
    /** The virtual model with the requested name, with its targets and those of its fallbacks. Null if it is none. */
    virtual_model: {
      requested: string;
      name: string;
      strategy: "weighted" | "fallback" | "lowest-latency" | "lowest-cost" | "cache-affinity";
      /** The virtual model that would be used instead, and why. */
      fallback: {
        name: string;
        reason: "unavailable" | "rate_limited" | "context" | "content_filter" | "budget";
      } | null;
      /** Whether the canary or another target would serve. Null without a canary. */
      canary: "canary" | "stable" | null;
      /** The mirror of the virtual model. Budgets and copies in progress are not considered. Null without a mirror. */
      mirror: {
        upstream: string;
        model: string;
        share: number;
        /** Whether a copy would be sent. Null: the id of the request decides. */
        copied: boolean | null;
        reason: string;
      } | null;
      targets: {
        virtual_model: string;
        upstream: string;
        model: string;
        /** Whether it is the canary. */
        canary: boolean;
        weight: number;
        eligible: boolean;
        next: boolean;
        reason: string;
      }[];
    } | null;
    /** Null unless the rule leads to MCP servers. */
    mcp: {
      method: string;
      tool: string | null;
      /** The server that would serve the request, by its name. */
      server: {
        id: string;
        name: string;
      } | null;
      /** Whether the client may use what the request names. Null: not known, because no request is sent to a server. */
      allowed: boolean | null;
      reason: string;
      servers: {
        id: string;
        name: string;
        next: boolean;
        reason: string;
      }[];
    } | null;
    targets: {
      id: string;
      provider: string;
      priority: number;
      weight: number;
      state: "healthy" | "out" | "trial" | "resting";
      eligible: boolean;
      /** The first attempt would use this target. False for all targets if the choice is random. */
      next: boolean;
      reason: string;
      model: string | null;
      /** Type of the target's credentials. Null: the client's own provider credential is forwarded. */
      credentials: string | null;
    }[];
    /** The request of the first attempt, with credentials masked. */
    upstream_request: {
      target_id: string;
      method: string;
      url: string;
      headers: Record<string, string>;
      body: string | null;
      /** The formats that the request is translated from and to, the format of the response, and the fields of the request that the target's format lacks. Null: nothing is translated. */
      translation: {
        request_format: string;
        target_format: string;
        response_format: string;
        dropped: string[];
      } | null;
    } | null;
    /** Null: the upstream has no `hedge`. */
    hedge: {
      possible: boolean;
      /** Time without content after which a second target gets the request. Null: not known. */
      after_ms: number | null;
      /** Why the request would not be sent twice. */
      reason: string | null;
    } | null;
    /** `on_cancel` of the upstream, if a request would be sent: what happens if the client leaves. */
    on_cancel: "settle" | "drain" | null;
    /** The response, if the gateway itself would respond. */
    answer: {
      status: number;
      code: string | null;
      error: string | null;
    } | null;
  };
}

export interface RevisionWithDiff {
  revision: number;
  created_at: string;
  /** Name of the administrator; null for a token without `sub`. */
  subject: string | null;
  /** The administrator who made the change. Null for revisions of versions that did not record it. */
  actor: {
    /** `server_secret`: a token signed with SERVER_SECRET_KEY. `admin_token`: a stored token. `oidc`: a user who signed in. `gatehouse`: the gateway itself. */
    type: "server_secret" | "admin_token" | "oidc" | "gatehouse";
    /** Id of the stored token, or `sub` of the user. */
    id: string | null;
    name: string;
  } | null;
  action: "create" | "update" | "delete" | "rollback" | "apply";
  /** `gateway`, `upstream`, …, `prices`, or `configuration` for a change of several records. */
  resource: string;
  resource_id: string | null;
  gateway_id: string | null;
  name: string | null;
  /** Why the gateway itself made the change. Null for changes of administrators. */
  reason: string | null;
  diff: {
    path: string;
    before: unknown;
    after: unknown;
    /** The values are masks of a secret. They may be equal, although the secret changed. */
    secret?: true;
  }[];
  /** Number of changed fields that are missing in `diff` because there are too many. */
  diff_left_out?: number;
  /** The same changes by record. */
  records: {
    action: "create" | "update" | "delete";
    resource:
      | "gateway"
      | "upstream"
      | "mcp_server"
      | "service"
      | "rule"
      | "model"
      | "budget"
      | "game_day"
      | "api_key"
      | "prices";
    id: string;
    gateway_id: string | null;
    name: string | null;
    changes: {
      path: string;
      before: unknown;
      after: unknown;
      /** The values are masks of a secret. They may be equal, although the secret changed. */
      secret?: true;
    }[];
  }[];
}

export interface RevisionDiff {
  from: number;
  to: number;
  records: {
    action: "create" | "update" | "delete";
    resource:
      | "gateway"
      | "upstream"
      | "mcp_server"
      | "service"
      | "rule"
      | "model"
      | "budget"
      | "game_day"
      | "api_key"
      | "prices";
    id: string;
    gateway_id: string | null;
    name: string | null;
    changes: {
      path: string;
      before: unknown;
      after: unknown;
      /** The values are masks of a secret. They may be equal, although the secret changed. */
      secret?: true;
    }[];
  }[];
  /** Number of changed fields that are missing in `records` because there are too many. */
  left_out: number;
}

export interface Applied {
  changes: {
    action: "create" | "update" | "delete" | "none";
    resource:
      | "gateway"
      | "upstream"
      | "mcp_server"
      | "service"
      | "rule"
      | "model"
      | "budget"
      | "game_day"
      | "api_key"
      | "prices";
    /** Name of the gateway. Empty for prices. */
    gateway: string;
    name: string;
    diff: {
      path: string;
      before: unknown;
      after: unknown;
      /** The values are masks of a secret. They may be equal, although the secret changed. */
      secret?: true;
    }[];
    /** The key of a new API key without key_sha256. It is not shown again. */
    key?: string;
  }[];
  /** What is legal in the document, but probably wrong. */
  warnings: {
    /** The field that the warning is about. */
    path: string;
    message: string;
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
  /** With dry_run: what would change. */
  records?: {
    action: "create" | "update" | "delete";
    resource:
      | "gateway"
      | "upstream"
      | "mcp_server"
      | "service"
      | "rule"
      | "model"
      | "budget"
      | "game_day"
      | "api_key"
      | "prices";
    id: string;
    gateway_id: string | null;
    name: string | null;
    changes: {
      path: string;
      before: unknown;
      after: unknown;
      /** The values are masks of a secret. They may be equal, although the secret changed. */
      secret?: true;
    }[];
  }[];
  /** Number of changed fields that are missing in `records` because there are too many. */
  left_out?: number;
}

export interface LossPlan {
  /** Figures that the call would lose. Empty: it needs no confirmation. */
  losses: {
    /** US dollars that a budget has counted as spent in the current period. */
    budget_spent_usd?: string | number;
    /** Tokens that a budget has counted as spent in the current period. */
    budget_spent_tokens?: string | number;
  };
  /** Digest of the plan. Send it as `?confirm=`. */
  confirm: string;
}

export interface ConfirmationRequired {
  error: string;
  code: "confirmation_required";
  request_id: string;
  /** Figures that the call would lose. Empty: it needs no confirmation. */
  losses: {
    /** US dollars that a budget has counted as spent in the current period. */
    budget_spent_usd?: string | number;
    /** Tokens that a budget has counted as spent in the current period. */
    budget_spent_tokens?: string | number;
  };
  /** Digest of the plan. Send it as `?confirm=`. */
  confirm: string;
}

export interface Error {
  /** A sentence for people. */
  error: string;
  /** A stable code for programs. */
  code:
    | "bad_request"
    | "invalid_path"
    | "invalid_json"
    | "invalid_yaml"
    | "validation_failed"
    | "credential_required"
    | "ambiguous_gateway"
    | "stateless_responses"
    | "thread_unsupported_request"
    | "context_length_exceeded"
    | "untranslatable"
    | "unauthorized"
    | "sign_in_failed"
    | "api_key_required"
    | "budget_exceeded"
    | "price_unknown"
    | "invalid_token"
    | "invalid_api_key"
    | "token_limit_unsatisfiable"
    | "rate_limit_blocked"
    | "code_injection_detected"
    | "pii_detected"
    | "conversation_not_maskable"
    | "tool_denied"
    | "judge_failed"
    | "prompt_rejected"
    | "inspection_incomplete"
    | "cross_site_request"
    | "sign_in_not_allowed"
    | "forbidden"
    | "guard_not_applicable"
    | "rule_not_allowed"
    | "model_not_allowed"
    | "operation_not_allowed"
    | "operation_not_supported"
    | "not_found"
    | "request_log_off"
    | "rule_not_found"
    | "model_not_found"
    | "method_not_allowed"
    | "not_acceptable"
    | "request_timeout"
    | "duplicate"
    | "in_use"
    | "confirmation_required"
    | "game_day_active"
    | "not_in_shadow_mode"
    | "tool_changed"
    | "api_key_revoked"
    | "admin_token_revoked"
    | "precondition_failed"
    | "body_too_large"
    | "headers_too_large"
    | "unsupported_media_type"
    | "websocket_not_supported"
    | "concurrency_limit_exceeded"
    | "token_limit_exceeded"
    | "rate_limit_exceeded"
    | "too_many_listeners"
    | "too_many_connection_tests"
    | "plugin_failed"
    | "plugin_quarantined"
    | "internal_error"
    | "sign_in_unavailable"
    | "upstream_unreachable"
    | "upstream_forbidden"
    | "upstream_credentials"
    | "upstream_bad_answer"
    | "not_cached"
    | "not_ready"
    | "overloaded"
    | "no_healthy_target"
    | "counters_unavailable"
    | "token_keys_unavailable"
    | "store_unavailable"
    | "upstream_timeout";
  request_id: string;
  details?: {
    path: string;
    message: string;
    /** In a YAML document, for a key that is given twice. */
    line?: number;
    column?: number;
  }[];
  retry_after?: string;
}

export interface Server {
  /** Address at which clients reach the data plane: the setting PUBLIC_URL. */
  public_url: string | null;
  /** Port of the data plane; null if this process serves only the Admin API. */
  proxy_port: number | null;
  /** Domain of the subdomains of gateways: the setting BASE_DOMAIN. */
  base_domain: string | null;
}

export interface LogLineList {
  logs: {
    level: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
    time: string;
    msg: string;
  }[];
  limit: number;
}

export interface RequestList {
  requests: {
    request_id: string;
    /** Id of the request that this one is a copy of, for the mirror of a virtual model. Null: a client sent it. */
    mirror_of: string | null;
    /** Name of the node that served the request (NODE_NAME). Present if nodes share REDIS_URL. */
    node?: string;
    /** When the request arrived. */
    time: string;
    /** Revision of the configuration that the request used. */
    revision: number;
    gateway_id: string | null;
    gateway: string | null;
    method: string;
    path: string;
    /** What the request asks for, by its path, its target's path or its body. Null if unknown. */
    operation:
      | "chat"
      | "messages"
      | "responses"
      | "generate_content"
      | "completions"
      | "embeddings"
      | "models"
      | "count_tokens"
      | "images"
      | "audio_speech"
      | "audio_transcription"
      | "moderations"
      | "files"
      | "batches"
      | "rerank"
      | "fine_tuning"
      | "other"
      | null;
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
    outcome: "complete" | "refused" | "failed" | "incomplete" | "client_left";
    /** Code of the error, if the gateway or a plugin responded with one. */
    error_code: string | null;
    provider: string | null;
    target_id: string | null;
    /** The model that was sent to the provider. */
    model: string | null;
    requested_model: string | null;
    /** The virtual model with the requested name. Null if it is none. */
    virtual_model: {
      name: string;
      /** The virtual model that served instead. */
      fallback: string | null;
      /** Why it was used. */
      reason: "unavailable" | "rate_limited" | "context" | "content_filter" | "budget" | null;
      /** Whether the canary or another target served. Null without a canary. */
      canary: "canary" | "stable" | null;
    } | null;
    /** Null unless the rule leads to MCP servers. */
    mcp: {
      /** The JSON-RPC method; in a batch that of the tool call, else of its first message. Null if the request has no message. */
      method: string | null;
      /** The called tool, by the name that the client uses. */
      tool: string | null;
      /** The server that the request was forwarded to. Null if it concerns all servers, or none. */
      server: {
        id: string;
        name: string;
      } | null;
      /** That of the client. */
      protocol_version: string | null;
      /** `tool_error`: the result has `isError`. `error`: the server responded with a JSON-RPC error. `unknown`: no server offers the tool, prompt or resource to the client. `refused`: by the gateway or a plugin. `failed`: the server did not respond as expected. */
      outcome: "ok" | "tool_error" | "error" | "unknown" | "refused" | "failed" | "canceled";
      /** Code of the JSON-RPC error. Null: none. */
      error: number | null;
      /** What was sent to servers. Lists that are in the cache send nothing. */
      calls: {
        server_id: string;
        server: string;
        method: string;
        status: number | null;
        /** Why there is no complete response. */
        fault: string | null;
        /** Code of the JSON-RPC error. Null: none. */
        error: number | null;
        /** Since the start of the request. */
        start_ms: number;
        ms: number;
      }[];
      /** Messages of servers, and their parts of merged lists and instructions, that a plugin refused while the rest of the request was served. The first 20 kinds. */
      refusals: {
        server_id: string;
        server: string;
        /** Of the message, or that it responds to. */
        method: string;
        code: string;
        count: number;
      }[];
    } | null;
    /** The faults that a game day injected, separated by commas. Null: none. */
    fault: string | null;
    /** Null if neither the request nor its response was translated. */
    translation: {
      /** The format of the client. */
      from: "openai" | "anthropic" | "responses" | "gemini";
      /** The format of the target. */
      to: "openai" | "anthropic" | "responses" | "gemini";
      /** Fields of the request that the target's format lacks, as in the header X-GW-Translated. The last one is `...` if there are more. */
      dropped: string[];
    } | null;
    stream: boolean;
    /** The client left, and the provider was read on for its usage (`on_cancel` of the upstream). */
    drained: boolean;
    attempts: {
      target_id: string;
      provider: string;
      model: string | null;
      status: number | null;
      /** Why there is no complete response. */
      fault: string | null;
      /** `hedge`: the attempt of a hedged request whose response was not used. `mirror`: that of a copy for a mirror. */
      purpose: "request" | "hedge" | "mirror";
      /** The limit or budget that had not enough left for a further attempt, which was not made. Null if none was refused. */
      retry_refused_by: string | null;
      /** Since the start of the request. */
      start_ms: number;
      /** Since the start of the attempt. */
      first_byte_ms: number | null;
      ms: number;
    }[];
    /** Null if the request was not hedged. */
    hedge: {
      /** `won`: the second attempt served. `lost`: the first one. `failed`: neither. */
      result: "won" | "lost" | "failed";
      /** Time without content until the second attempt. */
      after_ms: number;
      /** Of the attempt that was not used, in US dollars; not part of `cost`. Null: unknown. */
      cost: number | null;
    } | null;
    tokens: {
      /** All input, cached input included. */
      input: number;
      /** All output, reasoning included. */
      output: number;
      /** Part of the input that the provider read from its cache. */
      cached_input: number;
      /** Part of the input that the provider wrote to its cache. */
      cache_write: number;
      /** Part of the output that is reasoning. */
      reasoning: number;
      /** The provider did not report all of its usage: the rest is estimated from what was relayed and, for models that reason, from the time. */
      partial: boolean;
    } | null;
    /** US dollars. Null if the model has no price or the tokens are unknown. */
    cost: number | null;
    timings: {
      total_ms: number;
      first_byte_ms: number | null;
      /** Until the first event of a streamed response with text, reasoning or tool arguments. Null if the response was not streamed. */
      first_token_ms: number | null;
      /** From the first token to the end, divided by the number of output tokens after the first, without reasoning that is not relayed. Null if the response was not streamed or not complete, or has fewer than two output tokens. */
      ms_per_output_token: number | null;
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
    /** What plugins in shadow mode would have done. They may end after the request. */
    shadow: {
      /** Name of the plugin with `@shadow` or `@next`. */
      name: string;
      stage: string;
      ms: number;
      outcome: "passed" | "changed" | "responded" | "failed" | "timed_out" | "skipped";
      status: number | null;
      detail: string | null;
      agrees: boolean | null;
    }[];
    /** Present if the gateway has `log_bodies`. Decoded, and truncated after 16 KiB; known secrets are removed. */
    bodies?: {
      request: string;
      response: string;
    };
  }[];
  count: number;
  limit: number;
}

export interface Overview {
  gateway_count: number;
  target_count: number;
  /** Number of targets by state. `failing`: healthy, but its last request failed; `drained`: its weight is 0. */
  target_states: {
    out: number;
    trial: number;
    resting: number;
    failing: number;
    healthy: number;
    drained: number;
  };
  targets: {
    target_id: string;
    provider: string;
    /** `out`: ejected by passive health checks; `trial`: one trial request is allowed; `resting`: the provider responded 429 with a pause. */
    state: "healthy" | "out" | "trial" | "resting";
    /** Consecutive failures that passive health checks count. */
    failures: number;
    /** Consecutive failures, also if passive health checks are off. An ejection does not reset the count. Null if no request to the target has succeeded or failed since the process started. */
    recent_failures: number | null;
    /** When the state `out` or `resting` ends. */
    until: string | null;
    in_flight: number;
    /** Moving average of the time to first byte. */
    latency_ms: number | null;
    gateway_id: string;
    /** Name of the gateway. */
    gateway: string;
    upstream_id: string;
    /** Name of the upstream. */
    upstream: string;
    /** 0: the target gets no requests. */
    weight: number;
  }[];
  gateways: {
    gateway_id: string;
    gateway: string;
    requests: number;
    errors: number;
  }[];
  limit: number;
}

export interface SearchResultList {
  results: {
    kind:
      "gateway" | "upstream" | "mcp_server" | "service" | "rule" | "model" | "budget" | "api_key" | "request";
    id: string;
    name: string | null;
    /** Subdomain of a gateway, path of a rule, prefix of an API key, method and path of a request. */
    detail: string | null;
    /** Null for a request that reached no gateway. */
    gateway_id: string | null;
    /** Name of the gateway. */
    gateway: string | null;
  }[];
  limit: number;
}

export interface TargetHealthList {
  targets: {
    target_id: string;
    provider: string;
    /** `out`: ejected by passive health checks; `trial`: one trial request is allowed; `resting`: the provider responded 429 with a pause. */
    state: "healthy" | "out" | "trial" | "resting";
    /** Consecutive failures that passive health checks count. */
    failures: number;
    /** Consecutive failures, also if passive health checks are off. An ejection does not reset the count. Null if no request to the target has succeeded or failed since the process started. */
    recent_failures: number | null;
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
    /** Of streamed responses. */
    first_token_p50_ms: number | null;
    input_tokens: number;
    output_tokens: number;
    /** US dollars. */
    cost: number;
    /** Requests whose cost is unknown and not included. */
    unpriced_requests: number;
    /** Requests that were not sent to any provider, by error code. */
    refused: Record<string, number>;
    /** Other errors, by error code or, if the response of the provider was passed on, by status, such as `status_503`. */
    failed: Record<string, number>;
  }[];
  /** Length of a point. */
  step_seconds: number;
  /** All points together. Percentiles are those of the whole period. */
  total: {
    requests: number;
    /** Responses with status 400 or above, and incomplete responses. */
    errors: number;
    p50_ms: number | null;
    p99_ms: number | null;
    first_byte_p50_ms: number | null;
    /** Of streamed responses. */
    first_token_p50_ms: number | null;
    input_tokens: number;
    output_tokens: number;
    /** US dollars. */
    cost: number;
    /** Requests whose cost is unknown and not included. */
    unpriced_requests: number;
    /** Requests that were not sent to any provider, by error code. */
    refused: Record<string, number>;
    /** Other errors, by error code or, if the response of the provider was passed on, by status, such as `status_503`. */
    failed: Record<string, number>;
  };
}
