// The one error table of both planes: every stable code, its status and what it tells the reader.
// An error leaves the gateway in one shape only: { error, code, request_id, details?, retry_after? }.

export const ERRORS = {
  invalid_json: { status: 400, meaning: "The body is not valid JSON, or not valid UTF-8." },
  validation_failed: {
    status: 400,
    meaning: "A field, parameter or reference is wrong; `details` names each.",
  },
  unauthorized: { status: 401, meaning: "The admin token is missing or was not accepted." },
  not_found: { status: 404, meaning: "There is nothing at this path or under this id." },
  rule_not_found: { status: 404, meaning: "No rule of a gateway matches the path." },
  method_not_allowed: { status: 405, meaning: "The path exists, but not with this method; see `Allow`." },
  request_timeout: { status: 408, meaning: "The body stopped coming for 60 seconds." },
  duplicate: { status: 409, meaning: "The value must be unique and is taken." },
  in_use: { status: 409, meaning: "Others refer to this record; the answer names them." },
  api_key_revoked: { status: 409, meaning: "A revoked API key cannot be changed or rotated." },
  body_too_large: { status: 413, meaning: "The body is larger than MAX_BODY_BYTES." },
  unsupported_media_type: { status: 415, meaning: "The body must be JSON and say so in Content-Type." },
  internal_error: {
    status: 500,
    meaning: "A fault of the gateway; its log has the cause under the request id.",
  },
  store_unavailable: { status: 503, meaning: "The database cannot be used right now; nothing was changed." },
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
