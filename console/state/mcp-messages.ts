// Messages of the Model Context Protocol: what they say about a request, and header values that repeat parts of them.

export type Json = Readonly<Record<string, unknown>>;

export interface McpOutcome {
  readonly status: number | null;
  readonly requestId: string | null;
  /** The result of the request; null if it failed. */
  readonly result: Json | null;
  /** Why there is no result; null if there is one, and if the request was stopped. */
  readonly error: string | null;
  /** The last progress that the server has reported. */
  readonly progress: string | null;
  /** The messages as received, one per line. */
  readonly raw: string;
  /** Measured in the browser. */
  readonly totalMs: number | null;
  readonly isStopped: boolean;
}

export const NO_OUTCOME: McpOutcome = {
  status: null,
  requestId: null,
  result: null,
  error: null,
  progress: null,
  raw: "",
  totalMs: null,
  isStopped: false,
};

/** Returns what a JSON-RPC message, or an error in the gateway's own format, says about the request. */
export function readMessage(message: unknown): Partial<McpOutcome> {
  if (!isRecord(message)) return {};
  const { result, error, method, params } = message;
  if (isRecord(result)) return { result, error: null };
  if (isRecord(error)) return { error: textOf(error["message"], "The server reported an error.") };
  if (typeof error === "string") return { error };
  if (method !== "notifications/progress" || !isRecord(params)) return {};
  const { progress, total, message: text } = params;
  const parts = [`${textOf(progress)}${total === undefined ? "" : ` of ${textOf(total)}`}`, textOf(text)];
  return { progress: parts.filter((part) => part !== "").join(": ") };
}

/** Returns texts and numbers as text, and `other` for anything else. */
export function textOf(value: unknown, other = ""): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : other;
}

export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const MARKED = /^=\?base64\?.*\?=$/s;
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Text that a header field cannot carry as it is travels in Base64, with a marker. */
export function headerText(text: string): string {
  if (PLAIN.test(text) && !MARKED.test(text)) return text;
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return `=?base64?${btoa(bytes.join(""))}?=`;
}
