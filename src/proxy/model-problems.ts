// Why the model of a request, or the size of its output, is not known: providers may read another one in it
// than the gateway.

import type { MemberProblem } from "./generation-fields.ts";

/** Why the model that a server would read in the body is not known. */
export interface ModelProblem {
  readonly code: "invalid_json" | "bad_request";
  readonly message: string;
  /** Whether a server may read a model in the body all the same: limits and prices of models must not be avoided with it. */
  readonly mayNameModel: boolean;
}

const NO_OBJECT: ModelProblem = {
  code: "bad_request",
  message: "The body is not a JSON object or a multipart form, so its model cannot be checked.",
  mayNameModel: false,
};
const UNREADABLE_JSON: ModelProblem = {
  code: "bad_request",
  message:
    "The body looks like JSON, but is not a JSON object in UTF-8 and nothing else, so its model cannot be checked.",
  mayNameModel: true,
};
export const OTHER_FORM: ModelProblem = {
  code: "bad_request",
  message:
    "The body is a form with Content-Type application/x-www-form-urlencoded, so its model cannot be checked. Send a JSON object or a multipart form.",
  mayNameModel: true,
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
export const TOO_MANY_PARTS: ModelProblem = {
  code: "bad_request",
  message: "The multipart form has more than 2000 parts, so that its model is not read. Send fewer parts.",
  mayNameModel: true,
};
export const MODEL_NOT_TEXT: ModelProblem = {
  code: "invalid_json",
  message: "The field model must be a string.",
  mayNameModel: true,
};
export const SEVERAL_IN_QUERY: ModelProblem = {
  code: "bad_request",
  message: "The query names several models. Send one parameter model.",
  mayNameModel: true,
};

export function repeatedPart(name: string): ModelProblem {
  return {
    code: "bad_request",
    message: `The multipart form contains the part "${name}" twice. Send it once: servers may read either value.`,
    mayNameModel: true,
  };
}

export function ambiguousField({ kind, member }: MemberProblem): ModelProblem {
  const message =
    kind === "twice"
      ? `The body contains the field "${member}" twice. Send it once: servers may read either value.`
      : `The body contains a field that differs from "${member}" only in upper and lower case. Send it as "${member}": servers that ignore case read it.`;
  return { code: "invalid_json", message, mayNameModel: true };
}

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
/** White space, and in UTF-8, UTF-16 and UTF-32 the byte order mark and the other bytes of an ASCII character. */
const BEFORE_JSON: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf, 0xfe, 0xff, 0]);

/** Longer white space is that of JSON: no file starts with it. */
const MAX_BEFORE_JSON = 4096;

/**
 * Returns the problem of a body that is neither a JSON object nor a form. Many servers read JSON that is not declared as such, also JSON that
 * the gateway does not read: in UTF-16, with text after it, with bytes that are no UTF-8, nested too deeply. Files do not start like it.
 */
export function problemOfOther(bytes: Uint8Array): ModelProblem {
  let at = 0;
  while (at < MAX_BEFORE_JSON && BEFORE_JSON.has(bytes[at] ?? -1)) at++;
  const first = bytes[at];
  const mayBeJson = first === OPEN_BRACE || first === OPEN_BRACKET || at === MAX_BEFORE_JSON;
  return mayBeJson ? UNREADABLE_JSON : NO_OBJECT;
}
