// Why the model of a request is not known: what providers would read in it may differ from what the gateway reads.

/** Why the model that a server would read in the body is not known. */
export interface ModelProblem {
  readonly code: "invalid_json" | "bad_request";
  readonly message: string;
  /** Whether a server may read a model in the body all the same: limits and prices of models must not be avoided with it. */
  readonly mayNameModel: boolean;
}

export const NO_OBJECT: ModelProblem = {
  code: "bad_request",
  message: "The body is not a JSON object or a multipart form, so its model cannot be checked.",
  mayNameModel: false,
};
export const JSON_AS_FORM: ModelProblem = {
  code: "bad_request",
  message:
    "The body is a JSON object, but its Content-Type is application/x-www-form-urlencoded, so its model cannot be checked. Send it with Content-Type: application/json.",
  mayNameModel: true,
};
export const AMBIGUOUS_FORM: ModelProblem = {
  code: "bad_request",
  message:
    "The model in the multipart form is ambiguous. Send exactly one part named model, with plain text.",
  mayNameModel: true,
};
export const DUPLICATE_FIELDS: ModelProblem = {
  code: "invalid_json",
  message: "The body contains one of the fields model, stream, messages, prompt, or stream_options twice.",
  mayNameModel: true,
};
export const SPELLED_DIFFERENTLY: ModelProblem = {
  code: "invalid_json",
  message:
    "The body contains a field that differs from model, stream, messages, prompt, or stream_options only in upper and lower case.",
  mayNameModel: true,
};
export const MODEL_NOT_TEXT: ModelProblem = {
  code: "invalid_json",
  message: "The field model must be a string.",
  mayNameModel: true,
};
export const SEVERAL_IN_BODY: ModelProblem = {
  code: "bad_request",
  message: "The fields models and fallbacks name further models. Send one model in the field model.",
  mayNameModel: true,
};
export const SEVERAL_IN_QUERY: ModelProblem = {
  code: "bad_request",
  message: "The query names several models. Send one parameter model.",
  mayNameModel: true,
};
