// Errors as providers of each format send them: the body of an error response, and the event of a stream.
import type { JsonObject } from "../base/json.ts";
import type { FormatName } from "./format-names.ts";

interface ProviderErrors {
  /** The status that a stream reports. */
  readonly eventStatus: number;
  readonly body: (status: number) => JsonObject;
  /** Name and data of the event. `sentEvents` is the number of events before it. */
  readonly event: (body: JsonObject, sentEvents: number) => readonly [name: string | null, data: JsonObject];
}

const UNAVAILABLE = 503;

/** Texts by status; 400 and 500 are those of all other statuses. */
type Messages = Readonly<Record<number, string>>;

const messageIn = (messages: Messages, status: number): string =>
  messages[status] ?? messages[status < 500 ? 400 : 500] ?? "";

const OPENAI_MESSAGES: Messages = {
  400: "The request is invalid.",
  429: "Rate limit reached for requests.",
  500: "The server had an error processing your request.",
  503: "The engine is currently overloaded.",
};

const ANTHROPIC_MESSAGES: Messages = {
  400: "The request is invalid.",
  429: "This request would exceed your organization's rate limit.",
  500: "Internal server error",
  504: "The request timed out.",
  529: "Overloaded",
};

const GEMINI_MESSAGES: Messages = {
  400: "Request contains an invalid argument.",
  429: "Resource has been exhausted (e.g. check quota).",
  500: "An internal error has occurred.",
  503: "The model is overloaded. Please try again later.",
  504: "The request timed out.",
};

const openAiBody = (status: number): JsonObject => ({
  error: {
    message: messageIn(OPENAI_MESSAGES, status),
    type: status === 429 ? "requests" : status < 500 ? "invalid_request_error" : "server_error",
    param: null,
    code: status === 429 ? "rate_limit_exceeded" : null,
  },
});

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

const GEMINI_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const ERRORS: Readonly<Record<FormatName, ProviderErrors>> = {
  openai: { eventStatus: UNAVAILABLE, body: openAiBody, event: (body) => [null, body] },
  responses: {
    eventStatus: UNAVAILABLE,
    body: openAiBody,
    event: (_, sentEvents) => [
      "error",
      {
        type: "error",
        code: null,
        message: messageIn(OPENAI_MESSAGES, UNAVAILABLE),
        param: null,
        sequence_number: sentEvents,
      },
    ],
  },
  anthropic: {
    eventStatus: 529,
    body: (status) => ({
      type: "error",
      error: {
        type: ANTHROPIC_TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
        message: messageIn(ANTHROPIC_MESSAGES, status),
      },
    }),
    event: (body) => ["error", body],
  },
  gemini: {
    eventStatus: UNAVAILABLE,
    body: (status) => ({
      error: {
        code: status,
        message: messageIn(GEMINI_MESSAGES, status),
        status: GEMINI_STATUSES[status] ?? (status < 500 ? "FAILED_PRECONDITION" : "INTERNAL"),
      },
    }),
    event: (body) => [null, body],
  },
};

export function providerErrorBody(format: FormatName, status: number): string {
  return JSON.stringify(ERRORS[format].body(status));
}

export function providerErrorEvent(format: FormatName, sentEvents: number): string {
  const { eventStatus, body, event } = ERRORS[format];
  const [name, data] = event(body(eventStatus), sentEvents);
  return `${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}
