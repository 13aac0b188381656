// The error table of both planes: every stable code, its status, and its meaning for the reader of the docs.
// All error responses have the shape { error, code, request_id, details?, retry_after? }.

export const ERRORS = {
  bad_request: { status: 400, meaning: "The request is malformed or ambiguous and is not forwarded." },
  invalid_path: {
    status: 400,
    meaning: "The path contains a backslash, or a server could read a dot segment in it (`..%2f`, `..;`).",
  },
  invalid_json: {
    status: 400,
    meaning: "The body is not valid JSON in UTF-8, or servers could read different fields in it.",
  },
  invalid_yaml: { status: 400, meaning: "The document is not valid YAML, or not valid UTF-8." },
  validation_failed: {
    status: 400,
    meaning: "A field, parameter, or reference is invalid; `details` lists each problem.",
  },
  credential_required: {
    status: 400,
    meaning:
      "The change would send a stored secret to another place. Send the secret itself; `details` names the field.",
  },
  ambiguous_gateway: {
    status: 400,
    meaning: "Several gateways match. Send the Host of one gateway, or one of its API keys.",
  },
  stateless_responses: {
    status: 400,
    meaning:
      "The request refers to a stored response by its id, and the target's format has none. Send the items of the conversation.",
  },
  thread_unsupported_request: {
    status: 400,
    meaning:
      "The request creates or continues a message thread, which Anthropic stores, and the target has another format. Send the whole conversation.",
  },
  context_length_exceeded: {
    status: 400,
    meaning:
      "The input is estimated to be longer than the context window of every target of the virtual model. `input_tokens` and `context_window` have both.",
  },
  untranslatable: {
    status: 400,
    meaning: "The body cannot be translated to the wire format of the selected provider.",
  },
  unauthorized: { status: 401, meaning: "The admin token is missing or invalid." },
  sign_in_failed: {
    status: 401,
    meaning:
      "The sign-in with the OpenID provider failed, has expired, or was started in another browser. Start again.",
  },
  api_key_required: { status: 401, meaning: "The rule requires an API key, and the request has none." },
  budget_exceeded: {
    status: 402,
    meaning:
      "A budget has not enough left for the request. `budget` names it, and `resets_at` says when its next period starts.",
  },
  price_unknown: {
    status: 402,
    meaning:
      "A budget in US dollars applies, and a model that the request may use has no price. Add a price, or set `on_unknown_price` of the budget to `free`.",
  },
  invalid_token: { status: 401, meaning: "The token is not valid for the MCP endpoint. Sign in again." },
  invalid_api_key: { status: 401, meaning: "The API key is unknown, expired, or revoked." },
  token_limit_unsatisfiable: {
    status: 400,
    meaning:
      "The request may use more tokens than a token limit allows in its window, so that no waiting helps.",
  },
  rate_limit_blocked: {
    status: 403,
    meaning:
      "A rate limit was exceeded, and its subject is blocked until the block expires (if it does) or an operator removes it.",
  },
  code_injection_detected: {
    status: 400,
    meaning:
      "code_sanitation found code in the request; `details` names pattern, role and path. The settings of the plugin determine the status.",
  },
  pii_detected: { status: 400, meaning: "pii_mask found personal data or a secret in the request." },
  conversation_not_maskable: {
    status: 400,
    meaning:
      "pii_mask masks values, and the request continues a conversation that the provider keeps (`previous_response_id`, `conversation`). Send the items of the conversation in `input` instead.",
  },
  tool_denied: { status: 403, meaning: "tool_policy denies a tool that was offered, called, or used." },
  judge_failed: { status: 503, meaning: "The judge of prompt_guard gave no verdict in time." },
  prompt_rejected: { status: 403, meaning: "prompt_guard found a prompt injection; `details` names rules." },
  inspection_incomplete: {
    status: 400,
    meaning:
      "The request takes too much work to inspect. The settings of code_sanitation determine the status, or let such requests continue.",
  },
  cross_site_request: {
    status: 403,
    meaning:
      "A browser sent the request for another site, or to show or run a provider's response in the console's origin. Or an MCP endpoint on a loopback HOST got a Host that is not one of its names.",
  },
  sign_in_not_allowed: { status: 403, meaning: "The user is in no group that has a role (OIDC_ROLES)." },
  forbidden: {
    status: 403,
    meaning:
      "The role of the administrator, or the gateways that the token is limited to, do not allow this.",
  },
  guard_not_applicable: {
    status: 403,
    meaning:
      "A plugin of the gateway inspects texts, and cannot inspect those of this request: messages of a WebSocket, text in a file or a form, what an MCP server " +
      "sends, a batch, or a body that cannot be read for sure. The message names the plugin and the transport. Add the transport to `unguarded` of the rule to let its texts pass.",
  },
  rule_not_allowed: { status: 403, meaning: "The API key is valid, but not for this rule." },
  model_not_allowed: {
    status: 403,
    meaning:
      "The API key may use only some `models`, and the requested model, or the one that would be sent to a provider, is not among them or cannot be determined.",
  },
  operation_not_allowed: {
    status: 403,
    meaning:
      "The request lists or deletes what is stored in the provider's account, is for fine-tuning, or its endpoint is not known, and the rule's `operations` do not list that.",
  },
  operation_not_supported: {
    status: 404,
    meaning: "No provider of the upstream has the operation that the path names.",
  },
  not_found: {
    status: 404,
    meaning:
      "There is nothing at this path, or no record with this id; or the id of a stored object (file, batch, response) is not one that " +
      "this gateway returned to this API key.",
  },
  request_log_off: { status: 404, meaning: "The request log is off because REQUEST_LOG_SIZE is 0." },
  rule_not_found: { status: 404, meaning: "No rule matches the request." },
  model_not_found: {
    status: 404,
    meaning:
      "No target of the upstream serves the model; the message suggests similar names that the client may use. Or there is no such model to describe.",
  },
  method_not_allowed: { status: 405, meaning: "The path does not support this method; see `Allow`." },
  not_acceptable: { status: 406, meaning: "The Accept header lacks the content types of MCP responses." },
  request_timeout: { status: 408, meaning: "Less than 64 KiB of the body arrived within 60 seconds." },
  duplicate: { status: 409, meaning: "The value must be unique and is already used." },
  in_use: { status: 409, meaning: "Other records refer to this record; the error names them." },
  confirmation_required: {
    status: 409,
    meaning:
      "The call would lose something that is recorded. `losses` has the figures by kind; repeat the call with `?confirm=` and the value of `confirm`. Also if the plan has changed since.",
  },
  game_day_active: { status: 409, meaning: "Another game day of the gateway has not ended." },
  not_in_shadow_mode: {
    status: 409,
    meaning: "Only a plugin in shadow mode can be promoted, and this one takes effect already.",
  },
  tool_changed: { status: 409, meaning: "The definition of the tool is not the one that is to be approved." },
  api_key_revoked: { status: 409, meaning: "A revoked API key cannot be changed or rotated." },
  admin_token_revoked: { status: 409, meaning: "A revoked admin token cannot be changed." },
  precondition_failed: {
    status: 412,
    meaning: "The record is not the version in If-Match. Read it again and retry.",
  },
  body_too_large: {
    status: 413,
    meaning: "The body is larger than MAX_BODY_BYTES, or MAX_UPLOAD_BYTES for uploads.",
  },
  headers_too_large: {
    status: 431,
    meaning: "The request line and headers are larger than 64 KiB.",
  },
  unsupported_media_type: {
    status: 415,
    meaning: "The content type or content encoding of the body is not supported.",
  },
  websocket_not_supported: {
    status: 426,
    meaning: "The path does not serve WebSockets. Send an HTTP request without `Upgrade`.",
  },
  concurrency_limit_exceeded: {
    status: 429,
    meaning:
      "The client or the gateway has too many requests in flight (MAX_IN_FLIGHT_PER_CLIENT, MAX_IN_FLIGHT_PER_GATEWAY).",
  },
  token_limit_exceeded: {
    status: 429,
    meaning: "A token limit has not enough left for the request; see `retry_after`.",
  },
  rate_limit_exceeded: { status: 429, meaning: "A rate limit is exceeded; see `retry_after`." },
  too_many_listeners: {
    status: 429,
    meaning: "Too many clients are following the request log. Close one and retry.",
  },
  too_many_connection_tests: {
    status: 429,
    meaning: "Too many connection tests are in progress. Retry when one of them has ended.",
  },
  plugin_failed: {
    status: 500,
    meaning: "A plugin threw an error, took longer than 5 seconds, or returned an invalid value.",
  },
  plugin_quarantined: { status: 503, meaning: "The request crashed an isolated plugin twice. Retry later." },
  internal_error: { status: 500, meaning: "An internal error. Search the gateway log for the request_id." },
  sign_in_unavailable: {
    status: 502,
    meaning: "The OpenID provider cannot be reached, or its response cannot be used.",
  },
  upstream_unreachable: { status: 502, meaning: "No provider could be reached, or none sent a response." },
  upstream_forbidden: {
    status: 502,
    meaning: "The provider's host name resolves to a link-local or metadata address.",
  },
  upstream_credentials: {
    status: 502,
    meaning:
      "The token or the keys of a target's `credentials` could not be obtained; the error names the target.",
  },
  upstream_bad_answer: { status: 502, meaning: "The provider's response does not follow its wire format." },
  not_cached: { status: 504, meaning: "The request is `only-if-cached`, and no response is kept for it." },
  not_ready: { status: 503, meaning: "The gateway has not loaded a configuration yet." },
  overloaded: {
    status: 503,
    meaning:
      "The process already handles MAX_IN_FLIGHT requests, MAX_BUFFERED_BYTES of bodies, or too many large bodies. Retry, or use another process.",
  },
  no_healthy_target: { status: 503, meaning: "No target is available; see `Retry-After`." },
  counters_unavailable: {
    status: 503,
    meaning: "The shared counters are unavailable, and a rate limit or a budget must not be skipped.",
  },
  token_keys_unavailable: { status: 503, meaning: "The `jwks_url` of the issuer of a token is unavailable." },
  store_unavailable: { status: 503, meaning: "The database is unavailable; the error says why." },
  upstream_timeout: {
    status: 504,
    meaning: "The provider did not accept the connection or respond in time.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One problem in a request. `path` is the field, for example `targets[0].weight`. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
  /** The position in a YAML document, where it is known. Both count from 1. */
  readonly line?: number;
  readonly column?: number;
}

type ErrorField = string | number | null;
type ErrorFields = Readonly<Record<string, ErrorField | Readonly<Record<string, ErrorField>>>>;

interface ErrorExtras {
  /** Further fields of the body. */
  readonly fields?: ErrorFields;
  readonly details?: readonly ErrorDetail[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class GatehouseError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: ErrorFields | undefined;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = "GatehouseError";
    this.code = code;
    this.details = extras.details;
    this.headers = extras.headers ?? {};
    this.fields = extras.fields;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** A validation error. Its message contains the first problem, so that logs and terminals show it without `details`. */
export function validationError(details: readonly ErrorDetail[]): GatehouseError {
  return errorWithDetails("validation_failed", details);
}

/** The error for changes that would send a stored secret to another place. */
export function credentialRequiredError(details: readonly ErrorDetail[]): GatehouseError {
  return errorWithDetails("credential_required", details);
}

function errorWithDetails(code: ErrorCode, details: readonly ErrorDetail[]): GatehouseError {
  const [first] = details;
  if (first === undefined) throw new Error("an error with details needs at least one");
  const place = first.path === "" ? "" : `${first.path}: `;
  const others = details.length === 1 ? "" : ` (and ${details.length - 1} more, see details)`;
  return new GatehouseError(code, `${place}${first.message}${others}`, { details });
}
