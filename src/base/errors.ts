// The one error table of both planes: every stable code, its status and what it tells the reader.
// An error leaves the gateway in one shape only: { error, code, request_id, details?, retry_after? }.

export const ERRORS = {
  bad_request: { status: 400, meaning: "The request is not one that a careful proxy forwards." },
  invalid_json: { status: 400, meaning: "The body is not valid JSON, or not valid UTF-8." },
  invalid_yaml: { status: 400, meaning: "The document is not valid YAML, or not valid UTF-8." },
  validation_failed: {
    status: 400,
    meaning: "A field, parameter or reference is wrong; `details` names each.",
  },
  ambiguous_gateway: { status: 400, meaning: "Several gateways match: send the Host or an API key of one." },
  untranslatable: {
    status: 400,
    meaning: "The body cannot be put into the wire format of the chosen provider.",
  },
  unauthorized: { status: 401, meaning: "The admin token is missing or was not accepted." },
  api_key_required: { status: 401, meaning: "The rule asks for an API key and none was sent." },
  invalid_api_key: { status: 401, meaning: "The API key is unknown, expired or revoked." },
  rate_limit_blocked: {
    status: 403,
    meaning: "A rate limit of this subject was exceeded, and it is blocked for good.",
  },
  code_injection_detected: {
    status: 400,
    meaning: "code_sanitation found code; its settings choose the status.",
  },
  rule_not_allowed: { status: 403, meaning: "The API key is valid, but not for this rule." },
  not_found: { status: 404, meaning: "There is nothing at this path or under this id." },
  request_log_off: { status: 404, meaning: "REQUEST_LOG_SIZE is 0: no requests are kept." },
  rule_not_found: { status: 404, meaning: "No rule matches the request." },
  model_not_found: {
    status: 404,
    meaning: "No target of the upstream serves the model, and `model_routing` is `require`.",
  },
  method_not_allowed: { status: 405, meaning: "The path exists, but not with this method; see `Allow`." },
  request_timeout: { status: 408, meaning: "Of the body less than 64 KiB came in 60 seconds." },
  duplicate: { status: 409, meaning: "The value must be unique and is taken." },
  in_use: { status: 409, meaning: "Others refer to this record; the answer names them." },
  api_key_revoked: { status: 409, meaning: "A revoked API key cannot be changed or rotated." },
  precondition_failed: {
    status: 412,
    meaning: "The record is not the version that If-Match names; read it again.",
  },
  body_too_large: { status: 413, meaning: "The body is larger than MAX_BODY_BYTES." },
  unsupported_media_type: {
    status: 415,
    meaning: "The body is not of a type or encoding that can be read here.",
  },
  rate_limit_exceeded: { status: 429, meaning: "A rate limit is full; see `retry_after`." },
  too_many_listeners: { status: 429, meaning: "As many as may do so follow the requests already." },
  plugin_failed: {
    status: 500,
    meaning: "A plugin threw, took longer than 5 seconds or gave something unusable.",
  },
  internal_error: {
    status: 500,
    meaning: "A fault of the gateway; its log has the cause under the request id.",
  },
  upstream_unreachable: { status: 502, meaning: "No provider could be reached, or none sent an answer." },
  upstream_forbidden: {
    status: 502,
    meaning: "The provider's name leads to a link-local or metadata address.",
  },
  upstream_bad_answer: {
    status: 502,
    meaning: "The provider's answer is not what its wire format promises.",
  },
  not_ready: { status: 503, meaning: "The gateway has not loaded a configuration yet." },
  overloaded: {
    status: 503,
    meaning: "The process has MAX_IN_FLIGHT requests under way; another one, or a moment later, will do.",
  },
  no_healthy_target: { status: 503, meaning: "Every target is out for now; see `Retry-After`." },
  counters_unavailable: {
    status: 503,
    meaning: "The shared counters are away, and a limit may not go unchecked.",
  },
  store_unavailable: {
    status: 503,
    meaning: "The database cannot be used right now; the sentence says why.",
  },
  upstream_timeout: { status: 504, meaning: "The provider did not connect or answer in time." },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One fault of a request, at the place where it stands: `targets[0].weight`. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

export interface ErrorExtras {
  readonly details?: readonly ErrorDetail[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class GatehouseError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, sentence: string, extras: ErrorExtras = {}) {
    super(sentence, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = "GatehouseError";
    this.code = code;
    this.details = extras.details;
    this.headers = extras.headers ?? {};
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** A validation failure whose sentence is its first fault, so that a log line or a terminal already tells. */
export function validationError(details: readonly ErrorDetail[]): GatehouseError {
  const [first] = details;
  if (first === undefined) throw new Error("a validation error needs at least one detail");
  const place = first.path === "" ? "" : `${first.path}: `;
  const others = details.length === 1 ? "" : ` (and ${details.length - 1} more, see details)`;
  return new GatehouseError("validation_failed", `${place}${first.message}${others}`, { details });
}

export function errorResponse(error: GatehouseError, requestId: string): Response {
  const body: Record<string, unknown> = { error: error.message, code: error.code, request_id: requestId };
  if (error.details !== undefined) body["details"] = error.details;
  return Response.json(body, {
    status: error.status,
    headers: { ...error.headers, "X-Request-Id": requestId },
  });
}
